"""The facts that `trimtab doctor` judges, read from this computer; nothing is left behind."""

import fcntl
import os
import resource
import shutil
import socket
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from trimtab.cli.doctor.checks import (
    BUILD_BYTES,
    LAB_BYTES,
    PORTS,
    Finding,
    check_browser,
    check_disk,
    check_engines,
    check_go,
    check_limits,
    check_memory,
    check_ports,
    check_python,
    check_state,
    check_system,
)
from trimtab.cli.lab.context import home
from trimtab.engines import REQUIRED, cache_dir
from trimtab.engines.cache import find
from trimtab.engines.toolchain.golang import find_go
from trimtab.lab.ports.ports import holder, is_free

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def findings() -> list[Finding]:
    """Every check in the order in which a newcomer meets its subject."""
    ground = [check_system(sys.platform), check_python(sys.version_info[:3])]
    if any(each.state == "FAIL" for each in ground):
        return ground  # the other facts are read from where only Linux has them
    return [*ground, *_engines(), *_state(), *_machine(), check_browser(find_browser())]


def _engines() -> list[Finding]:
    cache = cache_dir(os.environ)
    missing = sum(find(name, cache) is None for name in REQUIRED)
    go = find_go(os.environ, cache)
    using = f"{go.go.version} at {go.go.path}" if go.go else None
    return [
        check_go(using, go.rejected, find_spec("pip") is not None, missing),
        check_engines(len(REQUIRED) - missing, len(REQUIRED)),
        check_disk("cache disk", cache, _free(cache), BUILD_BYTES if missing else LAB_BYTES),
    ]


def _state() -> list[Finding]:
    state = home().path
    longest = len(os.fsencode(home().lab("default").path / "control.sock"))
    return [
        check_disk("state disk", state, _free(state), LAB_BYTES),
        check_state(state, state_fault(state), longest),
    ]


def _machine() -> list[Finding]:
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
