"""What the threads and warnings of joblib say when a study ends."""

import threading
import warnings

import pytest

from trimtab.study.execution.workers import workers_end_quietly


def fail_in_a_thread(name: str) -> None:
    def fail() -> None:
        raise OSError("its workers are gone")

    thread = threading.Thread(target=fail, name=name)
    thread.start()
    thread.join()


def be_interrupted() -> None:
    with workers_end_quietly():
        fail_in_a_thread("ExecutorManagerThread")
        fail_in_a_thread("of somebody else")
        warnings.warn("4 tasks which were still being processed", UserWarning, stacklevel=1)
        raise KeyboardInterrupt


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of threads whose failure was told."""
    told: list[str] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: told.append(args.thread.name))
    return told


def test_after_ctrl_c_nothing_is_said_of_the_workers(heard: list[str]) -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with pytest.raises(KeyboardInterrupt):
            be_interrupted()
    assert heard == ["of somebody else"]
    assert not said


def test_without_it_a_failure_of_loky_is_told_in_the_end(heard: list[str]) -> None:
    with workers_end_quietly():
        fail_in_a_thread("ExecutorManagerThread")
        assert not heard
    assert heard == ["ExecutorManagerThread"]
