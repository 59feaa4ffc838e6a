"""What the descheduler says about its cycles: the only place where its decisions can be seen.

Its text log at -v=4. A cycle is everything up to the line that counts its evictions; a plugin
that failed says so in between, and the descheduler goes on as if nothing had happened.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

_LINE = re.compile(r"([IWEF])(\d{4}) ([\d:.]+)\s+(\d+) \S+\] (.*)")
_FIELD = re.compile(r'(\w+)=(?:"((?:[^"\\]|\\.)*)"|(\S+))')
_MESSAGE = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ENDED = "Number of evictions/requests"
_FAILED = ("running balance extension point failed", "running deschedule extension point failed")
_SKIPPED = "Skipping descheduling cycle"
_CLASSIFIED = "Node has been classified"
_APPROPRIATE = "Node is appropriately utilized"
_REQUESTED = ("Eviction in background assumed", "Evicted pod")
TAIL = 4 * 1024 * 1024


class Line(Struct, frozen=True):
    """One structured line: who wrote it, when (of the day), what, with which fields."""

    level: str
    time: str
    pid: int
    message: str
    fields: dict[str, str]


class Request(Struct, frozen=True):
    """A pod that was asked to go."""

    time: str
    pod: str
    background: bool


class Cycle(Struct, frozen=True, kw_only=True):
    """One descheduling cycle, as told."""

    pid: int
    ended: str
    """The time of the day at which it ended."""
    errors: tuple[str, ...] = ()
    classes: dict[str, str] = {}
    """What it called each node: underutilized, overutilized, appropriate."""
    requests: tuple[Request, ...] = ()
    evicted: int = 0

    @property
    def worked(self) -> bool:
        """Whether it could decide at all; it may have decided to do nothing."""
        return not self.errors


def read_cycles(log: Path, pid: int | None = None) -> list[Cycle]:
    """The whole cycles at the end of a log; with `pid` only those of that process."""
    if not log.exists():
        return []
    with log.open("rb") as file:
        file.seek(max(0, file.seek(0, 2) - TAIL))
        text = file.read().decode(errors="replace")
    return [c for c in cycles(lines(text.splitlines())) if pid is None or c.pid == pid]


def lines(texts: Iterable[str]) -> Iterator[Line]:
    """Those lines that the descheduler itself wrote in klog's form."""
    for text in texts:
        match = _LINE.match(text)
        if match is None:
            continue
        level, _, time, pid, rest = match.groups()
        quoted = _MESSAGE.match(rest)
        message = quoted[1] if quoted else rest
        fields = {key: _plain(text) or bare for key, text, bare in _FIELD.findall(rest)}
        yield Line(level, time, int(pid), message, fields)


def _plain(quoted: str) -> str:
    return quoted.replace('\\"', '"')


def cycles(told: Iterable[Line]) -> Iterator[Cycle]:
    """Cut what was told into cycles; an unfinished one at the end is left out."""
    held: list[Line] = []
    for line in told:
        if held and held[-1].pid != line.pid:
            held = []  # another process began
        held.append(line)
        if line.message == _ENDED:
            yield _cycle(held)
            held = []


def _cycle(held: list[Line]) -> Cycle:
    last = held[-1]
    return Cycle(
        pid=last.pid,
        ended=last.time,
        errors=tuple(_problem(line) for line in held if _is_problem(line)),
        classes=_classes(held),
        requests=tuple(_requests(held)),
        evicted=int(last.fields.get("totalEvicted", "0")),
    )


def _is_problem(line: Line) -> bool:
    return line.message.startswith((*_FAILED, _SKIPPED))


def _problem(line: Line) -> str:
    return line.fields.get("err") or line.message


def _classes(held: list[Line]) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in held:
        node = line.fields.get("node", "")
        if line.message == _CLASSIFIED:
            found[node] = line.fields.get("category", "")
        elif line.message == _APPROPRIATE:
            found[node] = "appropriate"
    return found


def _requests(held: list[Line]) -> Iterator[Request]:
    for line in held:
        if line.message in _REQUESTED:
            yield Request(line.time, line.fields.get("pod", ""), line.message != "Evicted pod")
