"""Ports on the loopback: the usual ones where they are free, the next free ones where not.

Chosen under a lock that all labs of a user share, and kept in `lab.json`: a stopped lab keeps
its ports. One that somebody else took meanwhile moves, and we say who has it.
"""

import socket
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from trimtab.errors import ConfigError

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
