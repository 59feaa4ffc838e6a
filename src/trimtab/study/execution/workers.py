"""The worker processes of a study on this computer: how they begin, and how they end.

Ctrl-C in a terminal reaches every process of the command. The study's process answers it and
ends the workers; a worker that answered too would print a traceback above the message.
"""

import os
import signal
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker

# What loky's tracker says when a study was killed: it removes what was left, so nobody has
# anything to do.
_NO_NEWS = "ignore:resource_tracker:UserWarning"
_MANAGER = "ExecutorManagerThread"  # loky's, which keeps the workers busy


@contextmanager
def workers_begin() -> Iterator[None]:
    """Processes that begin within this block never hear SIGINT, from their first instruction.

    They inherit the signal mask of the thread that makes them, and so do threads: loky's own
    thread, which replaces workers later, passes the mask on. This process hears a SIGINT of
    these moments when the block ends.
    """
    with _quiet_trackers():
        # Python's own tracker first: up to 3.12 its start ends with SIGINT unblocked.
        resource_tracker.ensure_running()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def workers_end_quietly() -> Iterator[None]:
    """Ctrl-C within this block ends the workers without a word of joblib's.

    It takes them from under its own thread, which may fail over that, and warns of results
    that nobody has fetched. Without a Ctrl-C everything is said as before.
    """
    said = threading.excepthook
    kept: list[threading.ExceptHookArgs] = []

    def keep(failure: threading.ExceptHookArgs) -> None:
        ours = failure.thread is not None and failure.thread.name.startswith(_MANAGER)
        (kept.append if ours else said)(failure)

    threading.excepthook = keep
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "[0-9]+ tasks ", UserWarning)
            yield
    except KeyboardInterrupt:
        kept.clear()
        raise
    finally:
        threading.excepthook = said
        for failure in kept:
            said(failure)


@contextmanager
def _quiet_trackers() -> Iterator[None]:
    """The processes that clean up after a killed study do it without a warning."""
    before = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = ",".join(filter(None, (before, _NO_NEWS)))
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONWARNINGS"]
        else:
            os.environ["PYTHONWARNINGS"] = before


def end_with(parent: int) -> None:
    """In a worker: end when the study's process is gone, even if it was killed."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
