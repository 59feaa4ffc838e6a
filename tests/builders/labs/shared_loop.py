"""Fixtures of directories whose tests share one loop; a conftest that imports them has its own."""

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
