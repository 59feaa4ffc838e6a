"""The descheduler's text log at -v=4 as records: what it read, decided and asked, cycle by cycle.

It is the only place where its decisions can be seen. Pure: lines in, records out. A cycle is
what stands between "Resetting pod evictor counters" and "Number of evictions/requests"; what
informers say in between about pods in flight belongs to no decision and is left out. In JSON
form the thresholds lose their values, so only `--logging-format=text` is understood.

A full disk, a kill or a rotation leaves lines that end in the middle. A line without the
fields that its message always has is passed over, as if it had not been written.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec
from msgspec import Struct

from trimtab.policy.cycle import PodOutcome

_LINE = re.compile(r"([IWEF])(\d{4} [\d:.]+)\s+(\d{1,10}) (\S+?):\d+\] (.*)")
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_MESSAGE = re.compile(_QUOTED)
_FIELD = re.compile(rf"([^\s=]+)=({_QUOTED}|\{{[^}}]*\}}|\S+)")
_PERCENT = re.compile(r"-?[0-9]+(\.[0-9]+)?|[-+]?Inf|NaN")
_WHOLE = re.compile(r"-?[0-9]{1,19}")
_BEGAN = "Resetting pod evictor counters"
_ENDED = "Number of evictions/requests"
_RUN_ENDED = "Total number of evictions/requests"
_FAILED = "extension point failed with error"
_CAPACITY_NAMES = {"CPU": "cpu", "Mem": "memory", "Pods": "pods"}


class LogEntry(Struct, frozen=True):
    """One line in klog's form; `fields` hold plain texts, and `usage={…}` as it was written."""

    level: str
    time: str
    """MMDD HH:MM:SS.micro, local time."""
    pid: int
    file: str
    message: str
    fields: dict[str, str]


class LoggedNode(Struct, frozen=True):
    """A node as the plugin saw it."""

    node: str
    category: str
    """underutilized, overutilized or appropriate."""
    usage: dict[str, str]
    """By resource, as Kubernetes writes quantities: 1500m, 10Mi."""
    percent: dict[str, float]
    """Of capacity, rounded to whole percents by the log."""


class LoggedPod(Struct, frozen=True):
    """One pod that was looked at; the total and the node limit do not name it."""

    outcome: PodOutcome
    pod: str = ""
    """namespace/name."""
    text: str = ""
    """The error, where there was one."""


class LoggedSource(Struct, frozen=True, kw_only=True):
    """One source node, in the order of the visits."""

    node: str
    usage: dict[str, str]
    all_pods: int = 0
    removable: int = 0
    kept: dict[str, str] = {}
    """Pods that DefaultEvictor's filter keeps, with its reasons (not those kept by Mandatory)."""
    notes: tuple[LoggedPod, ...] = ()
    left: tuple[dict[str, int], ...] = ()
    """Usage of the node after each eviction whose size is known; cpu in milli-units."""
    ended: str = ""
    """"plugin limit", "one pod", "no removable pods", or empty where the log gives no reason."""


class LoggedRun(Struct, frozen=True, kw_only=True):
    """One balance plugin of one profile in one cycle."""

    plugin: str = ""
    readings: dict[str, LoggedNode] = {}
    average: dict[str, float] | None = None
    """Percent, two places; None without deviation thresholds, as the two after it."""
    low: dict[str, float] | None = None
    high: dict[str, float] | None = None
    exit: str = ""
    """Why there was nothing to do."""
    headroom: dict[str, int] | None = None
    """"Total capacity to be moved"; None if it did not come to that."""
    sources: tuple[LoggedSource, ...] = ()
    evicted: int = 0
    requested: int = 0


class LoggedCycle(Struct, frozen=True, kw_only=True):
    """One whole cycle."""

    pid: int
    began: str
    ended: str
    skipped: str = ""
    """Fewer than two nodes."""
    errors: tuple[str, ...] = ()
    """Plugins that failed, one text for each profile."""
    runs: tuple[LoggedRun, ...] = ()
    evicted: int = 0
    """Evictions of this cycle that happened at once."""
    in_flight: int = 0
    """Everything in background that is under way at the end, from any cycle."""

    @property
    def notes(self) -> Iterator[LoggedPod]:
        for run in self.runs:
            for source in run.sources:
                yield from source.notes


def parse_cycles(texts: Iterable[str]) -> Iterator[LoggedCycle]:
    """The whole cycles of a log, of one process after the other."""
    held: list[LogEntry] = []
    for line in filter(_is_complete, parse_lines(texts)):
        if line.message == _BEGAN or (held and held[0].pid != line.pid):
            held = []
        held.append(line)
        if line.message == _ENDED and held[0].message == _BEGAN:
            yield _cycle(held)
            held = []


def parse_lines(texts: Iterable[str]) -> Iterator[LogEntry]:
    """Lines in klog's form; everything else is passed over."""
    for text in texts:
        if match := _LINE.match(text):
            level, time, pid, file, rest = match.groups()
            quoted = _MESSAGE.match(rest)
            message = _plain(quoted[0]) if quoted else rest
            fields = rest[quoted.end() :] if quoted else ""
            found = {key: _plain(value) for key, value in _FIELD.findall(fields)}
            yield LogEntry(level, time, int(pid), file, message, found)


def _plain(value: str) -> str:
    if not value.startswith('"'):
        return value
    return value[1:-1].replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")


def _cycle(lines: list[LogEntry]) -> LoggedCycle:
    last = lines[-1]
    return LoggedCycle(
        pid=last.pid,
        began=lines[0].time,
        ended=last.time,
        skipped=next((_shown(x) for x in lines if x.message.startswith("Skipping desch")), ""),
        errors=tuple(x.fields.get("err", "") for x in lines if _FAILED in x.message),
        runs=tuple(_run(of_run) for of_run in _runs(lines)),
        evicted=int(last.fields["totalEvicted"]),
        in_flight=int(last.fields["evictionRequests"]),
    )


def _shown(line: LogEntry) -> str:
    return ", ".join([line.message, *(f"{key} {value}" for key, value in line.fields.items())])


def _runs(lines: list[LogEntry]) -> Iterator[list[LogEntry]]:
    """Each plugin's run ends with a line that counts its evictions."""
    held: list[LogEntry] = []
    for line in lines[1:]:
        held.append(line)
        if line.message == _RUN_ENDED:
            if line.fields.get("point") == "Balance":
                yield held
            held = []


def _run(lines: list[LogEntry]) -> LoggedRun:
    by_message = {line.message: line for line in lines}
    capacity = by_message.get("Total capacity to be moved")
    return LoggedRun(
        plugin=next((x.fields["plugin"] for x in lines if _is_about_nodes(x)), ""),
        readings={r.node: r for r in map(_reading, lines) if r is not None},
        average=_percents(by_message.get("Assessed average usage")),
        low=_percents(by_message.get("Assessed thresholds for underutilized nodes")),
        high=_percents(by_message.get("Assessed thresholds for overutilized nodes")),
        exit=next((_shown_exit(x) for x in lines if "nothing to do here" in x.message), ""),
        headroom=None if capacity is None else _whole(capacity.fields),
        sources=tuple(_source(of_source) for of_source in _sources(lines)),
        evicted=int(lines[-1].fields["evictedPods"]),
        requested=int(lines[-1].fields["evictionRequests"]),
    )


def _is_about_nodes(line: LogEntry) -> bool:
    return line.fields.get("plugin", "").endswith("NodeUtilization")


def _reading(line: LogEntry) -> LoggedNode | None:
    if line.message == "Node has been classified":
        category = line.fields["category"]
    elif line.message == "Node is appropriately utilized":
        category = "appropriate"
    else:
        return None
    usage, percent = line.fields["usage"], line.fields["usagePercentage"]
    return LoggedNode(line.fields["node"], category, _QUANTITIES(usage), _PERCENTS(percent))


def _percents(line: LogEntry | None) -> dict[str, float] | None:
    if line is None:
        return None
    found = {key: _PERCENT.match(value) for key, value in line.fields.items()}
    return {key: float(match[0]) for key, match in found.items() if match}


def _shown_exit(line: LogEntry) -> str:
    """With the two numbers that one of them gives."""
    under, wanted = line.fields.get("underutilizedNodes"), line.fields.get("numberOfNodes")
    return line.message if under is None else f"{line.message} ({under}, {wanted})"


def _whole(fields: Mapping[str, str]) -> dict[str, int]:
    return {
        _CAPACITY_NAMES.get(key, key): int(value) for key, value in fields.items() if key != "node"
    }


def _sources(lines: list[LogEntry]) -> Iterator[list[LogEntry]]:
    held: list[LogEntry] = []
    for line in lines:
        if line.message == "Evicting pods from node":
            if held:
                yield held
            held = [line]
        elif held:
            held.append(line)
    if held:
        yield held


def _source(lines: list[LogEntry]) -> LoggedSource:
    first = lines[0].fields
    counts = next((x.fields for x in lines if x.message == "Pods on node"), {})
    return LoggedSource(
        node=first["node"],
        usage=_QUANTITIES(first["usage"]),
        all_pods=int(counts.get("allPods", "0")),
        removable=int(counts.get("removablePods", "0")),
        kept={
            x.fields["pod"]: x.fields["checks"]
            for x in lines
            if x.message == "Pod fails the following checks"
        },
        notes=tuple(note for note in map(_note, lines) if note is not None),
        left=tuple(_whole(x.fields) for x in lines if x.message == "Updated node usage"),
        ended=next((_ENDS[x.message] for x in lines if x.message in _ENDS), ""),
    )


_ENDS = {
    "Max number of evictions per node per plugin reached": "plugin limit",
    "Currently, only a single pod eviction is allowed": "one pod",
    "No removable pods on node, try next node": "no removable pods",
}
_NOTES = {
    "Skipping eviction for pod, doesn't tolerate node taint": PodOutcome.NOT_TOLERATED,
    "unable to list ready nodes": PodOutcome.PRE_EVICTION_FILTER,
    "unable to get pod usage": PodOutcome.NO_USAGE,
    "Eviction in background already requested (ignoring)": PodOutcome.IN_FLIGHT,
    "Eviction in background assumed": PodOutcome.BACKGROUND,
    "Evicted pod": PodOutcome.EVICTED,
}


def _note(line: LogEntry) -> LoggedPod | None:
    pod, error = line.fields.get("pod", ""), line.fields.get("err", "")
    if line.message in _NOTES:
        return LoggedPod(_NOTES[line.message], pod, error)
    if line.message.startswith(("pod does not fit on any other node", "pod namespace do not")):
        return LoggedPod(PodOutcome.PRE_EVICTION_FILTER, pod, line.message)
    if line.message == "Error evicting pod":
        return LoggedPod(_refusal(line), pod, error)
    return None


def _refusal(line: LogEntry) -> PodOutcome:
    if "limit" not in line.fields:
        return PodOutcome.REFUSED
    if "namespace" in line.fields:
        return PodOutcome.NAMESPACE_LIMIT
    return PodOutcome.NODE_LIMIT if "node" in line.fields else PodOutcome.TOTAL_LIMIT


_QUANTITIES = msgspec.json.Decoder(dict[str, str]).decode
_PERCENTS = msgspec.json.Decoder(dict[str, float]).decode


def _any(_text: str) -> bool:
    return True


def _is_whole(text: str) -> bool:
    return _WHOLE.fullmatch(text) is not None


def _decodes(decode: Callable[[str], object]) -> Callable[[str], bool]:
    def holds(text: str) -> bool:
        try:
            decode(text)
        except (msgspec.DecodeError, ValueError, RecursionError):
            return False
        return True

    return holds


_Fields = dict[str, Callable[[str], bool]]
_NODE: _Fields = {"node": _any, "usage": _decodes(_QUANTITIES)}
_CLASSED: _Fields = {**_NODE, "usagePercentage": _decodes(_PERCENTS)}
_COMPLETE: dict[str, _Fields] = {
    _ENDED: {"totalEvicted": _is_whole, "evictionRequests": _is_whole},
    _RUN_ENDED: {"evictedPods": _is_whole, "evictionRequests": _is_whole},
    "Node has been classified": {**_CLASSED, "category": _any},
    "Node is appropriately utilized": _CLASSED,
    "Evicting pods from node": _NODE,
    "Pods on node": {"allPods": _is_whole, "removablePods": _is_whole},
    "Pod fails the following checks": {"pod": _any, "checks": _any},
}
"""What is read from a message, and how each value must look."""
_ONLY_NUMBERS = ("Total capacity to be moved", "Updated node usage")


def _is_complete(line: LogEntry) -> bool:
    """Whether everything that is read from such a line is in it."""
    if line.message in _ONLY_NUMBERS:
        return all(_is_whole(value) for key, value in line.fields.items() if key != "node")
    wanted = _COMPLETE.get(line.message, {})
    return all(key in line.fields and holds(line.fields[key]) for key, holds in wanted.items())
