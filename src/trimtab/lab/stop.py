"""Stopping a lab, and removing it."""

import shutil
import signal

from trimtab.errors import NotReady, TrimtabError, Unavailable
from trimtab.lab import control
from trimtab.lab.files.layout import LabDir
from trimtab.lab.inspection import is_running, read_run
from trimtab.lab.process import SupervisorRun, await_end, end
from trimtab.lab.spec import name_option

STOP_LIMIT_S = 60.0
END_LIMIT_S = 10.0


def down(lab: LabDir) -> bool:
    """Stop everything in order; the data stay. False if nothing was running."""
    if not is_running(lab):
        return False
    run = read_run(lab)
    try:
        control.ask(lab, control.Stop(), STOP_LIMIT_S)
    except (NotReady, Unavailable):
        _end_supervisor(lab, run)
    if run is not None and not await_end(run.supervisor, END_LIMIT_S):
        _end_supervisor(lab, run)
    return True


def wipe(lab: LabDir) -> None:
    """Remove a stopped lab with all its data."""
    check_stopped(lab)
    shutil.rmtree(lab.path)


def check_stopped(lab: LabDir) -> None:
    """An error that says how to stop it, if it runs."""
    if is_running(lab):
        raise TrimtabError(
            f'lab "{lab.name}" is running; stop it first: trimtab lab down{name_option(lab.name)}'
        )


def end_leftovers(lab: LabDir) -> None:
    """Make sure that nothing of a killed supervisor is left: its children end after it does."""
    run = read_run(lab)
    for child in run.children.values() if run else ():
        end(child, signal.SIGKILL, END_LIMIT_S)


def _end_supervisor(lab: LabDir, run: SupervisorRun | None) -> None:
    """It does not listen: signal the recorded process, if it still is the one that was recorded.

    SIGTERM lets it stop its children in order; after SIGKILL the kernel ends them.
    """
    if run is None:
        raise Unavailable(
            f'lab "{lab.name}" has a supervisor that does not answer and left no record; '
            f"see {lab.log('supervisor')}"
        )
    if not end(run.supervisor, signal.SIGTERM, STOP_LIMIT_S):
        end(run.supervisor, signal.SIGKILL, END_LIMIT_S)
