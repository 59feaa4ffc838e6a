"""The tests that share an API server stay on one worker."""

from pathlib import Path

import pytest

from builders.scheduling import put_first, scheduler, shared_directory

LONGEST_FIRST = (
    *("kube", "advisor", "qos", "test_record", "test_behaviour", "test_scheduler"),
    *("test_both_back_ends", "study"),
)

pytest_xdist_make_scheduler = scheduler
pytest_collect_directory = shared_directory


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    put_first(items, Path(__file__).parent, LONGEST_FIRST)
