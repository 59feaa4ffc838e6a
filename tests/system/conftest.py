"""Two rooms at a time: the tests of one directory share its labs and stay on one worker.

The longest directory goes first, so that it is not what everybody waits for at the end.
"""

from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

LONGEST_FIRST = ("loop", "conformance", "vm", "lab", "advisor", "qos")


class ByDirectory(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Hands out whole directories, in the order of collection."""

    def _split_scope(self, nodeid: str) -> str:
        return str(PurePosixPath(nodeid.partition("::")[0]).parent)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByDirectory:
    return ByDirectory(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    ours = iter(sorted((item for item in items if here in item.path.parents), key=_turn))
    items[:] = [next(ours) if here in item.path.parents else item for item in items]


def _turn(item: pytest.Item) -> int:
    room = item.path.parent.name
    return LONGEST_FIRST.index(room) if room in LONGEST_FIRST else len(LONGEST_FIRST)
