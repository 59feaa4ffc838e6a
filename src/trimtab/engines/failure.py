"""Why go failed, in one line: read from what it printed.

go's own output runs to hundreds of lines. The user needs the one that decides what to do next,
and the path of the log with the rest.
"""

import re
from collections.abc import Sequence
from typing import Literal

from trimtab.errors import TrimtabError, Unavailable

Phase = Literal["download", "compile"]

_DISK = re.compile(r"no space left on device|disk quota exceeded", re.IGNORECASE)
_NETWORK = re.compile(
    r"dial tcp|no such host|i/o timeout|connection refused|connection reset|network is unreachable"
    r"|TLS handshake|certificate|proxyconnect|unexpected EOF|Client\.Timeout|module lookup disabled"
    r"|\b(403|404|407|410|429|5\d\d) ",
    re.IGNORECASE,
)
_CHECKSUM = re.compile(r"checksum mismatch|SECURITY ERROR|missing go\.sum entry")
_MEMORY = re.compile(r"signal: killed|out of memory|cannot allocate memory")
_SOURCE = re.compile(r"^\S+\.go:\d+(:\d+)?: ")
_NOISE = re.compile(r"^(go: (downloading|finding|extracting)|#|\s*$|[\w.\-]+(/[\w.\-~]+)*$)")


class BuildFailed(TrimtabError):
    """An engine could not be built; what was in the cache before is still there."""


def explain(name: str, phase: Phase, output: Sequence[str], log: str) -> TrimtabError:
    """The error for a failed run of go, from its last lines; the most specific cause first."""
    if line := _first(_DISK, output):
        return disk_full(name, line, log)
    if line := _first(_CHECKSUM, output):
        return BuildFailed(f"{name}: a module is not the pinned one ({line}); log: {log}")
    if phase == "download" and (line := _first(_NETWORK, output)):
        return Unavailable(
            f"{name}: its modules could not be downloaded ({line}); check the network and GOPROXY, "
            f"or import engines built elsewhere: trimtab engines import FILE; log: {log}"
        )
    if line := _first(_MEMORY, output):
        return BuildFailed(
            f"{name}: the compiler was killed ({line}), probably for want of memory; "
            f"free some, or build with GOMAXPROCS=1; log: {log}"
        )
    line = _first(_SOURCE, output) or last_words(output)
    what = "did not compile" if phase == "compile" else "has a module that go cannot load"
    return BuildFailed(f"{name} {what}: {line}; log: {log}")


def disk_full(name: str, detail: str, log: str) -> BuildFailed:
    return BuildFailed(
        f"{name}: the disk is full ({detail}); free 6 GB, or point XDG_CACHE_HOME and GOCACHE "
        f"to a larger disk; log: {log}"
    )


def silent(name: str, phase: Phase, seconds: float, log: str) -> TrimtabError:
    """go said nothing for so long that nothing will come any more."""
    doing = "downloading modules" if phase == "download" else "compiling"
    return Unavailable(
        f"{name}: go said nothing for {seconds:g} s while {doing} and was stopped; "
        f"run it again (what is there is kept), or check the network and GOPROXY; log: {log}"
    )


def _first(pattern: re.Pattern[str], output: Sequence[str]) -> str | None:
    return next((_shorten(line) for line in output if pattern.search(line)), None)


def last_words(output: Sequence[str]) -> str:
    """The last line that says something."""
    said = (line for line in reversed(output) if not _NOISE.match(line))
    return _shorten(next(said, "no reason was given"))


def _shorten(line: str, limit: int = 240) -> str:
    text = " ".join(line.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
