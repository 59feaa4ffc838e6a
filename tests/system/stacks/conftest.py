"""One lab for all tests of the loop that can share it: they begin by loading the scenario anew."""

from collections.abc import Iterator

import pytest

from builders.labs.loops import LoopLab, running_loop


@pytest.fixture(scope="package")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoopLab]:
    with running_loop(tmp_path_factory) as loop:
        yield loop


@pytest.fixture
def loop(shared: LoopLab) -> LoopLab:
    """The shared lab, whole."""
    shared.lab.await_ready()
    return shared
