"""Is the simulator right about this cluster? The recorded moves in it, beside the recorded loads.

Every VM is where it was at each moment and nothing is evicted, so node loads must come out as
they were measured. What is left is what no what-if on this recording can know: load that no VM
explains and that changes, VMs without metrics, gaps.
"""

from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from trimtab.model.duration import format_duration
from trimtab.model.recorded.cleaning import recorded_moves
from trimtab.model.recorded.recording import ClusterRecording
from trimtab.sim import simulate_one
from trimtab.sim.spec import RunSpec, Timing
from trimtab.study.recorded.certainty import FEWEST
from trimtab.study.recorded.scenario import recorded_scenario

MOST_MEAN, MOST_NODE = 5.0, 15.0
"""Points of a node's CPU or memory: above it for all nodes, or for one, an answer is not to be
trusted."""


class NodeError(Struct, frozen=True, rename="camel"):
    """How far the replay is from what was measured on a node, in points of its capacity."""

    node: str
    cpu_mean: float
    cpu_p95: float
    memory_mean: float


class Replay(Struct, frozen=True, rename="camel"):
    """The verdict on a recording."""

    trusted: bool
    why: tuple[str, ...]
    cpu_mean: float
    cpu_p95: float
    memory_mean: float
    nodes: tuple[NodeError, ...] = ()
    over_time: tuple[float, ...] = ()
    """The mean error of all nodes' CPU, in points, at each moment."""
    claims: tuple[str, ...] = ()
    """What a what-if on this recording can claim, and what it cannot."""


def verdict(found: Replay) -> str:
    """One sentence on top of every answer."""
    if np.isnan(found.cpu_mean):
        return "Do not trust this: the replay cannot be checked."
    off = (
        f"replayed, the nodes' CPU is {found.cpu_mean:.1f} points off on average "
        f"(95 % of the time below {found.cpu_p95:.1f}), "
        f"their memory {points_text(found.memory_mean)}"
    )
    return (
        f"This recording can be trusted: {off}." if found.trusted else f"Do not trust this: {off}."
    )


def points_text(value: float) -> str:
    """An error in percentage points, where there was something to compare."""
    return "not known" if np.isnan(value) else f"{value:.1f}"


def replay(recording: ClusterRecording) -> Replay:
    """Run it and compare."""
    scenario = recorded_scenario(recording, follow_moves=True, demand=False)
    step_s = recording.own_step_s
    timing = Timing(
        scrape_s=min(15.0, step_s), rules_s=min(15.0, step_s), descheduling_s=step_s,
        random_phases=False,
    )  # fmt: skip
    outcome = simulate_one(RunSpec(scenario, score=None, timing=timing), 0)
    places = [recording.manifest.nodes.index(node.name) for node in scenario.nodes]
    errors = []
    for course, measured, whole in (
        (outcome.course.cpu, recording.node_cpu, [float(n.cpu) for n in scenario.nodes]),
        (outcome.course.memory, recording.node_memory, [float(n.memory) for n in scenario.nodes]),
    ):
        moments = min(len(course), len(measured))
        shares = measured[:moments, places] / np.array(whole)
        errors.append(np.abs(course[:moments] - shares) * 100)
    return _judged(recording, [node.name for node in scenario.nodes], errors[0], errors[1])


def _judged(
    recording: ClusterRecording,
    names: list[str],
    cpu: NDArray[np.float64],
    memory: NDArray[np.float64],
) -> Replay:
    if not np.isfinite(cpu).any():
        why = "no source told the load of nodes, so the replay cannot be checked"
        nothing = (np.nan, np.nan, np.nan)
        return Replay(False, (why,), *nothing, claims=tuple(_claims(recording, np.nan)))
    nodes = tuple(
        NodeError(name, _mean(cpu[:, at]), _p95(cpu[:, at]), _mean(memory[:, at]))
        for at, name in enumerate(names)
    )
    mean = _mean(cpu)
    reasons = []
    if mean > MOST_MEAN:
        reasons.append(
            f"the nodes' CPU is {mean:.1f} points off on average, more than {MOST_MEAN:g}"
        )
    worst = max(nodes, key=lambda node: np.nan_to_num(node.cpu_mean))
    if worst.cpu_mean > MOST_NODE:
        reasons.append(
            f"node {worst.node} is {worst.cpu_mean:.1f} points off on average, more than "
            f"{MOST_NODE:g}"
        )
    if reasons:
        reasons += [
            f"{finding.count:,} {finding.what}"
            for finding in recording.manifest.findings
            if any(word in finding.what for word in _SUSPECTS)
        ]
    over_time = tuple(_mean(row) for row in cpu)
    p95 = _p95(cpu)
    claims = tuple(_claims(recording, p95))
    return Replay(not reasons, tuple(reasons), mean, p95, _mean(memory), nodes, over_time, claims)


def _claims(recording: ClusterRecording, p95: float) -> Iterator[str]:
    days = recording.duration_s / 86_400
    if np.isfinite(p95):
        yield f"a what-if on it knows the nodes' CPU to about {max(p95, 0.1):.1f} points"
    if days < FEWEST:
        yield (
            f"it speaks of the {format_duration(round(recording.duration_s))} that were recorded; "
            f"of other days only a recording of {FEWEST} days or more does"
        )
    yield (
        f"in the recorded time {_moved(recording)}: compare it with what a what-if says of the "
        "policy that was at work"
    )
    if failed := sum(each.phase == "Failed" for each in recording.manifest.migrations):
        yield f"recorded migrations that failed: {failed}; in a what-if none does: it is optimistic"
    for finding in recording.manifest.findings:
        if OPTIMISTIC in finding.meaning:
            yield f"{finding.what} ({finding.count:,}): {finding.meaning}"


def _moved(recording: ClusterRecording) -> str:
    """How often, by the day only if there was one."""
    moves, days = len(recorded_moves(recording.placement)), recording.duration_s / 86_400
    if not moves:
        return "no VM moved"
    return f"VMs moved {moves / days:.1f} times a day" if days >= 1 else f"VMs moved {moves} times"


OPTIMISTIC = "optimistic"
"""In the meaning of a finding: what is left out would make answers worse."""
_SUSPECTS = ("no VM explains", "without metrics", "longer gaps", "no metric")


def _mean(values: NDArray[np.float64]) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else float("nan")


def _p95(values: NDArray[np.float64]) -> float:
    known = values[np.isfinite(values)]
    return float(np.percentile(known, 95)) if known.size else float("nan")
