"""Two rooms at a time: the tests of one directory share its labs and stay on one worker.

The longest directory goes first, so that it is not what everybody waits for at the end.
"""

from pathlib import Path

import pytest

LONGEST_FIRST = ("loop", "conformance", "vm", "lab", "advisor", "qos")


@pytest.hookimpl(tryfirst=True)  # before the groups are read
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    ours = [item for item in items if here in item.path.parents]
    for item in ours:
        item.add_marker(pytest.mark.xdist_group(item.path.parent.name))
    turns = iter(sorted(ours, key=_turn))
    items[:] = [next(turns) if here in item.path.parents else item for item in items]


def _turn(item: pytest.Item) -> int:
    room = item.path.parent.name
    return LONGEST_FIRST.index(room) if room in LONGEST_FIRST else len(LONGEST_FIRST)
