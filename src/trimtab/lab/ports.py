"""Ports on the loopback: the usual ones where they are free, the next free ones where not.

Chosen under a lock that all labs of a user share, and kept in `lab.json`: a stopped lab keeps
its ports. One that somebody else took meanwhile moves, and we say who has it.
"""

import os
import re
import socket
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from trimtab.errors import ConfigError
from trimtab.files.lock import held, is_held
from trimtab.files.writing import make_private_dir, write_private
from trimtab.lab.control import UnitEvent
from trimtab.lab.files.layout import Home, LabDir
from trimtab.lab.inspection import is_running

SEARCH = 500


class MovedPort(Struct, frozen=True):
    """A port that could not be had: who has it, and where we are instead."""

    name: str
    wanted: int
    got: int
    holder: str

    def __str__(self) -> str:
        return f"port {self.wanted} ({self.name}) is taken by {self.holder}; using {self.got}"


def choose_ports(
    wanted: Mapping[str, int],
    reserved: Mapping[int, str],
    is_free: Callable[[int], bool],
    who: Callable[[int], str],
) -> tuple[dict[str, int], list[MovedPort]]:
    """For each name the wanted port or the next one up that is neither reserved nor in use."""
    ports: dict[str, int] = {}
    moved: list[MovedPort] = []
    for name, first in wanted.items():
        taken = {**reserved, **dict.fromkeys(ports.values(), "this lab")}
        port = _first_free(first, taken, is_free)
        ports[name] = port
        if port != first:
            moved.append(MovedPort(name, first, port, taken.get(first) or who(first)))
    return ports, moved


def _first_free(first: int, taken: Mapping[int, str], is_free: Callable[[int], bool]) -> int:
    for port in range(first, min(first + SEARCH, 65536)):
        if port not in taken and is_free(port):
            return port
    raise ConfigError(f"no free port from {first} to {first + SEARCH - 1}; stop what uses them")


def check_address(address: str) -> None:
    """An error unless a server on this computer can listen on `address`."""
    if not is_free(address, 0):
        raise ConfigError(f"--listen {address}: not an address of this computer")


def is_free(address: str, port: int) -> bool:
    """Could a server listen there now (0: on any port)? Lingering connections do not count."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
            probe.listen(1)
        except OSError:
            return False
    return True


def holder(port: int) -> str:
    """The process that listens on `port`, as far as this user may know."""
    inodes = _listening_inodes(port)
    if not inodes:
        return "another program"
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and _has_socket(process, inodes):
            return f"{_command(process)} (pid {process.name})"
    return "a program of another user"


def _command(process: Path) -> str:
    try:
        return (process / "comm").read_text().strip()
    except OSError:  # gone meanwhile
        return "a program that has ended"


def _listening_inodes(port: int) -> set[str]:
    inodes: set[str] = set()
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        if not table.exists():
            continue
        for line in table.read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and int(fields[1].rsplit(":", 1)[1], 16) == port:
                inodes.add(fields[9])
    return inodes


def _has_socket(process: Path, inodes: set[str]) -> bool:
    try:
        entries = list((process / "fd").iterdir())
    except OSError:  # gone meanwhile, or not ours to look at
        return False
    return any(_socket_inode(entry) in inodes for entry in entries)


def _socket_inode(entry: Path) -> str:
    try:
        target = str(entry.readlink())
    except OSError:  # closed meanwhile
        return ""
    return target.removeprefix("socket:[").removesuffix("]")


# The register: the ports of all labs that one user runs, whatever their state directories.
#
# A lab binds its ports seconds after it has chosen them, so a look at what is free now does not
# see a lab that is just starting. Labs therefore write their choice into a register that all
# state directories of a user share. An entry counts while its lab starts or runs.
#
# Labs of other users are not in it: `PortMover` moves a port that is lost to one of them.
SHARED = Path("/tmp")  # not $TMPDIR and not $HOME: those differ between shells of one user
WAIT_S = 120.0

_Entries = dict[str, dict[str, int]]


class PortRegister:
    """What the labs of a user have chosen, by directory; to be used while `choosing`."""

    def __init__(self, directory: Path) -> None:
        self._file = directory / "ports.json"

    def others(self, lab: LabDir) -> dict[int, str]:
        """Ports of the other labs that start or run, with whom they belong to."""
        return {
            port: f'lab "{Path(path).name}"'
            for path, ports in self._live().items()
            if path != str(lab.path)
            for port in ports.values()
        }

    def enter(self, lab: LabDir, ports: Mapping[str, int]) -> None:
        """Write down what `lab` has chosen; entries of labs that are gone are dropped."""
        entries = self._live() | {str(lab.path): dict(ports)}
        write_private(self._file, msgspec.json.encode(entries))

    def _live(self) -> _Entries:
        return {path: ports for path, ports in self._read().items() if _is_live(path)}

    def _read(self) -> _Entries:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=_Entries)
        except (FileNotFoundError, ValueError):  # torn by a crash: as good as none
            return {}


@contextmanager
def choosing(home: Home, shared: Path = SHARED) -> Iterator[PortRegister]:
    """While inside, no other lab of this user chooses ports."""
    directory = _private(shared / f"trimtab-{os.getuid()}") or home.path
    with held(directory / "ports.lock", wait_s=WAIT_S):
        yield PortRegister(directory)


def _private(directory: Path) -> Path | None:
    """The directory, unless it cannot be made or somebody else put something there."""
    try:
        if directory.is_symlink():
            return None
        if directory.exists() and directory.stat().st_uid != os.getuid():
            return None
        make_private_dir(directory)
    except OSError:
        return None
    return directory


def _is_live(path: str) -> bool:
    lab = LabDir(Path(path))
    home = Home(lab.path.parent.parent)
    return is_running(lab) or is_held(home.turn_lock(lab))


# Moving ports that a component could not bind because somebody took them after our choice.
#
# A component on another port must be described again from the lab's stacks, which `up` has and
# the supervisor has not. So `up` follows the start, chooses other ports, and lets the supervisor
# restart the components that use them.
TRIES = 5
"""How often the ports of one component move in one `up`: then it is given up, and said."""

_TAKEN = re.compile("address already in use", re.IGNORECASE)


def lost_ports(ports: Mapping[str, int], lines: Iterable[str]) -> list[str]:
    """Names of the ports that could not be bound, as the last lines of a component's log say."""
    numbers = {
        int(number)
        for line in lines
        if _TAKEN.search(line)
        for number in re.findall(r"(?<![\w.])\d{2,5}(?![\w.])", line)
    }
    return [name for name, port in ports.items() if port in numbers]


class PortMover:
    """Looks at events and moves what was lost, each component's ports a few times at most.

    `move` gives the lab other ports for those that the lines name; False if there were none.
    """

    def __init__(self, move: Callable[[tuple[str, ...]], bool]) -> None:
        self._move = move
        self._moved: Counter[str] = Counter()

    def mend(self, event: UnitEvent) -> bool:
        """True if the event is about a lost port and the port has moved."""
        died = event.state in ("backing-off", "gave-up")
        if not died or self._moved[event.unit] >= TRIES or not self._move(event.last_lines):
            return False
        self._moved[event.unit] += 1
        return True
