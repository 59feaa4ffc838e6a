"""Rooms side by side: the tests that share a lab stay on one worker."""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders.scheduling import put_first, scheduler, shared_directory

LONGEST_FIRST = (
    *("levelling", "faults", "conformance", "vm", "player", "parts", "qos", "test_random"),
    *("fidelity", "balancer", "advisor", "install", "lab"),
)
SHOWN_ONLY = pytest.mark.filterwarnings("default::pytest.PytestUnraisableExceptionWarning")
"""A connection to a server that a test killed is collected some tests later: not their fault."""

pytest_xdist_make_scheduler = scheduler
pytest_collect_directory = shared_directory


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    put_first(items, here, LONGEST_FIRST)
    for item in items:
        if here in item.path.parents:
            item.add_marker(SHOWN_ONLY)


@pytest.fixture(autouse=True, scope="module")
def remains_of_killed_servers_are_collected() -> Iterator[None]:
    """Before the worker goes on with a file of another tier, where they would be a fault."""
    yield
    gc.collect()
