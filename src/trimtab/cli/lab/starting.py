"""What `lab up`, experiments and fidelity need to start a lab: programs, stacks, interruptions."""

import signal
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn

from trimtab import __version__
from trimtab.cli.common.option_files import read_option_file
from trimtab.cli.lab.context import locate
from trimtab.engines import PROGRAMS
from trimtab.lab.components.scheduler import parse_config
from trimtab.lab.components.stack import Stack
from trimtab.lab.starting.start import Means
from trimtab.view.lab import StartDisplay
from trimtab.view.terminal import err

EVERYWHERE = ("0.0.0.0", "::")


def means(display: StartDisplay, stacks: Mapping[str, Stack]) -> Means:
    """What `up` needs from the layers around it."""
    versions = {program.name: program.version for program in PROGRAMS.values()}
    return Means(
        stacks=stacks,
        locate=locate,
        versions={"trimtab": __version__, **versions},
        report=display.say,
        progress=display.show,
    )


def read_scheduler_config(file: Path) -> str:
    """The text of a scheduler configuration, if it looks like one."""
    text = read_option_file("--scheduler-config", file)
    parse_config(text, file)
    return text


def own_addresses(listen: str | None) -> tuple[str, ...]:
    """Listening everywhere means being called by this computer's name or main address."""
    if listen not in EVERYWHERE:
        return ()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing, only chooses the way out
        except OSError:
            return (socket.gethostname(),)
        return socket.gethostname(), str(probe.getsockname()[0])


def warn_of(listen: str | None) -> None:
    """Leaving the loopback is said aloud."""
    if listen is not None and not listen.startswith("127.") and listen != "::1":
        text = f"warning: the API server will listen on {listen}, where others can reach it"
        err.print(text, markup=False)


@contextmanager
def interruptible() -> Iterator[None]:
    """Let `kill` and a closed terminal end a start as Ctrl-C does: with nothing left behind.

    A signal that whoever started us has us ignore (`nohup`, `&` in a script) stays ignored.
    """

    def leave(number: int, frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    heeded = [n for n in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) != signal.SIG_IGN]
    before = {number: signal.signal(number, leave) for number in heeded}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
