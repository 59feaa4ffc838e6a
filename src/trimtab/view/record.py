"""A recording for the reader: how far it is, what is in it, and what is missing."""

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from msgspec import Struct

from trimtab.model.duration import format_duration
from trimtab.model.quantity import parse_quantity
from trimtab.model.recorded.cleaning import recorded_moves
from trimtab.model.recorded.recording import (
    ClusterRecording,
    Finding,
    Loads,
    LoadSource,
    Manifest,
    RequestedBy,
)
from trimtab.observe.record.chunks import pieces_of
from trimtab.observe.record.prometheus_queries import SOURCE_NAMES, Sources
from trimtab.observe.record.recorder import Begun, Told
from trimtab.view.tables.pictures import Spark
from trimtab.view.terminal import ProgressSteps, err, out, say, show_table

LINES = 40
"""Nodes that are shown; the busiest of more."""
_DAY_S = 86_400.0
_REQUESTERS: dict[RequestedBy, str] = {
    "eviction": "after evictions",
    "balancer": "by the balancer",
    "update": "by updates of KubeVirt",
    "": "by others",
}


class Display:
    """What `trimtab record` says while it works."""

    def __init__(self, steps: ProgressSteps, *, resumed: bool) -> None:
        self._steps, self._done, self._said = steps, 0, -1
        steps.note("going on with an unfinished recording" if resumed else "looking at the cluster")

    def sources(self, found: Sources, pace_s: float) -> None:
        say(f"loads of VMs from {SOURCE_NAMES[found.vms]}")
        say(f"loads of nodes from {found.node_source or 'nowhere: no metric tells them'}")
        if pace_s:
            say(f"one query every {format_duration(pace_s)}; --pace changes that")

    def total(self, begun: Begun) -> int:
        """The number of queries."""
        scrape_s = begun.sources.scrape_s
        return sum(len(pieces_of(t, begun.grid, scrape_s)) for t in begun.sources.tables)

    def into(self, steps: ProgressSteps) -> "Display":
        self._steps = steps
        return self

    def __call__(self, told: Told) -> None:
        self._steps.advance(told.done - self._done)
        self._done = told.done
        tenth = 10 * told.done // max(told.total, 1)
        if tenth != self._said or err.is_terminal:  # a log needs no line for each of them
            self._said = tenth
            left = f", about {_rough(told.left_s)} left" if told.left_s else ""
            self._steps.note(f"{told.done} of {told.total} answers{left}")


def _rough(seconds: float) -> str:
    return format_duration(float(round(seconds)) if seconds < 90 else round(seconds / 60) * 60.0)


class MigrationCounts(Struct, frozen=True, rename="camel"):
    """`migrations` of `trimtab record show --json`."""

    total: int
    succeeded: int
    failed: int
    """Cancelled ones among them."""
    under_way: int
    per_day: dict[str, int]
    """By the day, in UTC, on which they were asked for; days without any are left out."""
    by: dict[RequestedBy, int]


def counts_of(manifest: Manifest) -> MigrationCounts:
    moves = manifest.migrations
    finished = sum(each.finished for each in moves)
    succeeded = sum(each.phase == "Succeeded" for each in moves)
    days = (datetime.fromtimestamp(each.asked, UTC).date().isoformat() for each in moves)
    return MigrationCounts(
        total=len(moves),
        succeeded=succeeded,
        failed=finished - succeeded,
        under_way=len(moves) - finished,
        per_day=dict(sorted(Counter(days).items())),
        by=dict(sorted(Counter(each.by for each in moves).items())),
    )


class RecordingSummary(Struct, frozen=True, rename="camel"):
    """`trimtab record show --json`."""

    start: datetime
    end: datetime
    step_s: float
    moments: int
    nodes: int
    vms: int
    moves: int
    """Between two moments, by the metrics of places."""
    migrations: MigrationCounts
    anonymous: bool
    jitter: float
    versions: dict[str, str]
    sources: tuple[LoadSource, ...]
    findings: tuple[Finding, ...]


def summary_of(recording: ClusterRecording) -> RecordingSummary:
    manifest = recording.manifest
    return RecordingSummary(
        datetime.fromtimestamp(manifest.start, UTC),
        datetime.fromtimestamp(manifest.start + (manifest.moments - 1) * manifest.step_s, UTC),
        manifest.step_s,
        manifest.moments,
        len(manifest.nodes),
        len(manifest.vms),
        len(recorded_moves(recording.placement)),
        counts_of(manifest),
        manifest.anonymous,
        manifest.jitter,
        manifest.versions,
        manifest.sources,
        manifest.findings,
    )


def show_recorded(recording: ClusterRecording, file: Path, queries: int) -> None:
    """What was written, what is not in it, and what to do next; on stderr, as after a snapshot."""
    said = summary_of(recording)
    name = "anonymous recording" if said.anonymous else "recording"
    asked = f" by {queries} queries" if queries else ""
    say(
        f"{name} written to {file}: {said.nodes} nodes, {said.vms} VMs, "
        f"{said.moments} moments of {format_duration(said.step_s)}{asked}"
    )
    for finding in said.findings:
        say(f"note: {finding_text(finding)}")
    if not said.anonymous:
        say("it holds names of nodes, VMs, pods and labels; --anonymise replaces them")
    say(f"next: trimtab record show {file}")


def show_interrupted(directory: Path) -> None:
    """After Ctrl-C."""
    say(f"interrupted; what was read is kept in {directory}: the same command goes on")


def finding_text(finding: Finding) -> str:
    """One line: how many of what, and what it means."""
    is_note = not finding.meaning or finding.what.startswith("no ")
    count = "" if finding.count == 1 and is_note else f"{finding.count:,} "
    meaning = f": {finding.meaning}" if finding.meaning else ""
    return f"{count}{finding.what}{meaning}"


def show_recording(recording: ClusterRecording) -> None:
    """Period, loads of nodes as pictures, sources and findings."""
    said = summary_of(recording)
    out.print(
        f"{said.start:%Y-%m-%d %H:%M} to {said.end:%Y-%m-%d %H:%M} UTC, every "
        f"{format_duration(said.step_s)} ({said.moments} moments)",
        markup=False,
    )
    versions = ", ".join(f"{name} {text}" for name, text in sorted(said.versions.items()))
    out.print(f"{said.nodes} nodes, {said.vms} VMs, {said.moves} moves; {versions}", markup=False)
    period_s = said.moments * said.step_s
    out.print(migrations_text(said.migrations, period_s), markup=False)
    out.print()
    _show_nodes(recording)
    out.print()
    show_table(
        ["table", "source", "query"],
        [[each.table, each.source, each.query] for each in said.sources],
        title="Where the loads come from",
        drop=["query"],
    )
    out.print()
    if not said.findings:
        out.print("Nothing was repaired, nothing is missing.")
    for finding in said.findings:
        out.print(f"- {finding_text(finding)}", markup=False)


def migrations_text(counts: MigrationCounts, duration_s: float) -> str:
    """One line; a rate only of a day or more, because less says nothing about a day."""
    if not counts.total:
        return "no migration objects of the period"
    rate = ""
    if duration_s >= _DAY_S:
        busiest, most = max(counts.per_day.items(), key=lambda day: day[1])
        rate = f" ({counts.total / (duration_s / _DAY_S):.1f} a day, most {most} on {busiest})"
    said = [f"{counts.total} {'migration' if counts.total == 1 else 'migrations'}{rate}"]
    said.append(f"{counts.failed} failed")
    if counts.under_way:
        said.append(f"{counts.under_way} under way")
    who = (f"{counts.by[by]} {words}" for by, words in _REQUESTERS.items() if by in counts.by)
    return f"{', '.join(said)}: {', '.join(who)}"


def _show_nodes(recording: ClusterRecording) -> None:
    nodes = recording.manifest.nodes
    cpu, memory = node_shares(recording)
    busiest = np.argsort(-np.nan_to_num(np.nanmean(_with_a_value(cpu), axis=0)), kind="stable")
    rows = []
    for at in busiest[:LINES].tolist():
        own = _with_a_value(cpu)[:, at].astype(np.float64)  # else a mean may exceed the largest
        rows.append(
            [
                nodes[at],
                f"{100 * np.mean(own):.0f} %",
                f"{100 * np.max(own):.0f} %",
                f"{100 * np.mean(_with_a_value(memory)[:, at]):.0f} %",
                Spark(own, 1.0),
            ]
        )
    more = f" (the busiest {LINES} of {len(nodes)})" if len(nodes) > LINES else ""
    show_table(
        ["node", "CPU", "most", "memory", "CPU over time"],
        rows,
        title=f"Nodes{more}",
        right=["CPU", "most", "memory"],
        drop=["CPU over time"],
    )


def _with_a_value(values: Loads) -> Loads:
    return np.nan_to_num(values)


def node_shares(recording: ClusterRecording) -> tuple[Loads, Loads]:
    """(moments, nodes) shares of what nodes have; the sums of VMs where nodes were not measured."""
    found = []
    for measured, load, resource in (
        (recording.node_cpu, recording.vm_cpu, "cpu"),
        (recording.node_memory, recording.vm_memory, "memory"),
    ):
        values = measured
        if not np.isfinite(measured).any():
            values = recording.vms_on_nodes(load)
        whole = _whole(recording, resource)
        found.append(np.asarray(values / whole, dtype=np.float32))
    return found[0], found[1]


def _whole(recording: ClusterRecording, resource: str) -> Loads:
    nodes = {node.name: node.capacity or node.allocatable for node in recording.snapshot.nodes}
    amounts = [
        float(parse_quantity(nodes.get(name, {}).get(resource, "0"), name))
        for name in recording.manifest.nodes
    ]
    return np.maximum(np.array(amounts, dtype=np.float32), 1e-9)
