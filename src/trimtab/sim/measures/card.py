"""The report card at the end of a run: from what was measured to one number per question."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from trimtab.balance.bounds import bound, fewest_cycles
from trimtab.model.nodes_and_vms import REFERENCE_CPU
from trimtab.sim.fleet import UNITS, Flags, Fleet, Floats, Numbers
from trimtab.sim.measures.meter import FIGURES, Meter
from trimtab.sim.migration.ended import GB, MovesDone
from trimtab.sim.migration.migrations import Migrations
from trimtab.sim.outcome import Course, ReportCard
from trimtab.sim.problem import problem_at

BAND = 0.10
"""A node is level while its use is at most this much above the mean of the nodes."""
SETTLED_CYCLES = 3
VALUES_AT_ONCE = 50_000
"""Of many nodes, so few cycles are looked at together that they stay in the processor's cache."""
PING_PONG_S = 3600.0
# Power is a straight line from idle to full, by cores: measured servers come within a few per
# cent of it (Fan, Weber and Barroso, 2007). No node is switched off here, so the idle part is
# the same for every candidate on a scenario, and what differs is the CPU that was served.
IDLE_W_PER_CORE = 4.0
FULL_W_PER_CORE = 10.0
"""128 W and 320 W for the reference node of 32 cores."""
_CORES_PER_UNIT = float(REFERENCE_CPU) / UNITS
_J_PER_KWH = 3.6e6


class Bounds(Struct, frozen=True):
    """What the best conceivable rebalancer needs from one placement."""

    migrations: int
    gb: float
    cycles: int


def lower_bounds(
    fleet: Fleet,
    where: Numbers,
    cpu: Floats,
    memory: Floats,
    limits: tuple[int | None, int | None],
) -> Bounds:
    """Bounds for loads `cpu`, `memory` (units per VM) placed at `where` (node or nowhere).

    Resource by resource, since a mix of both costs ten times as much: every run of a study
    pays for its bounds. limits: evictions per cycle in all and per node; None is no limit.
    """
    problem = problem_at(fleet, where, (cpu, memory))
    ceiling = np.repeat(problem.shares().mean(axis=1)[:, None] + BAND, fleet.nodes, axis=1)
    least = bound(problem, ceiling, method="resource")
    return Bounds(least.moves, least.bytes / GB, fewest_cycles(least.by_node.values(), limits))


def report_card(
    meter: Meter,
    replica: int,
    migrations: Migrations,
    course: Course,
    ready: Flags,
    bounds: Bounds,
) -> ReportCard:
    """The card of one replica. `ready`: (cycles, nodes)."""
    done = migrations.ended.succeeded()
    average = {name: meter.integral(name, replica) / meter.seconds for name in FIGURES}
    unserved, lost = meter.unserved[replica], meter.lost_to_migration[replica]
    slatah, pdm = _slatah(meter, replica), _mean_share(lost, meter.demand)
    classed, past_the_mean = against_the_band((course.cpu, course.memory), ready)
    first, last = convergence(course.times, classed)
    energy = energy_kwh(meter.cpu_capacity, meter.there, meter.served(replica))
    return ReportCard(
        load_std_mean=average["cpu_std"],
        load_std_final=float(meter.last_cpu_std[replica]),
        memory_std_mean=average["memory_std"],
        max_over_mean=average["max_over_mean"],
        gini=average["gini"],
        spread=average["spread"],
        overload_node_seconds=meter.integral("overload", replica),
        degraded_vm_share=_share(float(unserved.sum()), float(meter.demand.sum())),
        degraded_vm_share_p99=_quantile_share(unserved, meter.demand, 0.99),
        psi_node_seconds=meter.integral("pressure", replica),
        slatah=slatah,
        pdm=pdm,
        slav=slatah * pdm,
        migrations=len(done.vms),
        failed_migrations=migrations.failed,
        gb_moved=migrations.bytes_sent / GB,
        precopy_seconds=migrations.precopy_s,
        peak_concurrent=migrations.peak,
        vms_moved_again=int(np.count_nonzero(np.bincount(done.vms) > 1)),
        first_converged_s=first,
        last_converged_s=last,
        oscillations=oscillations(classed),
        ping_pongs=ping_pongs(done),
        minimum_migrations=bounds.migrations,
        minimum_gb=bounds.gb,
        minimum_cycles=bounds.cycles,
        load_cv_mean=average["cpu_cv"],
        down_vm_seconds=float(meter.down[replica]),
        overshoot=past_the_mean,
        energy_kwh=energy,
        esv=energy * slatah * pdm,
    )


def against_the_band(
    shares: Sequence[NDArray[np.float32]], ready: Flags
) -> tuple[NDArray[np.int8], float]:
    """The same yardstick for every score: classes of the nodes, and how far any overshot.

    shares: of each resource (cycles, nodes). Classes: 1 above the band in one of them, -1 below
    the mean in all, else 0. Overshoot: how far past the mean a node went that had been out of the
    band on the other side, the largest over nodes and resources; 0 if none went past it.
    """
    over, under = np.zeros(ready.shape, np.bool_), np.ones(ready.shape, np.bool_)
    furthest = 0.0
    cycles, nodes = ready.shape
    step = max(1, VALUES_AT_ONCE // max(nodes, 1))
    for share in shares:
        was_over, was_under = np.zeros(nodes, np.bool_), np.zeros(nodes, np.bool_)
        for first in range(0, cycles, step):
            some = slice(first, first + step)
            away = _deviation(share[some], ready[some])
            above = away > BAND
            over[some] |= above
            under[some] &= away < 0
            furthest = max(
                furthest,
                -_furthest_back(away, above, was_over, np.minimum),
                _furthest_back(away, away < -BAND, was_under, np.maximum),
            )
    return over.astype(np.int8) - under.astype(np.int8), furthest


def _deviation(share: NDArray[np.float32], ready: Flags) -> Floats:
    """How far each node is above the mean of those that are there; lost nodes are 0.

    Rounded to what a float32 share can tell, so that a node on the band's edge is in it.
    """
    away = share.astype(np.float64)
    lost = None if ready.all() else ~ready
    if lost is not None:
        away[lost] = 0.0
    away -= (away.sum(axis=1) / np.maximum(ready.sum(axis=1), 1))[:, None]
    np.round(away, 6, out=away)
    if lost is not None:
        away[lost] = 0.0
    return away


def _furthest_back(away: Floats, out: Flags, was_out: Flags, far: np.ufunc) -> float:
    """How far nodes went the other way (`far`: minimum or maximum) that had been out of the band.

    out: which are, in these cycles; was_out: (nodes,) which have been before, and in them too then.
    """
    out[0] |= was_out
    was_out |= out.any(axis=0)
    some = was_out.nonzero()[0]  # few nodes of many, as a rule
    after = np.logical_or.accumulate(out[:, some], axis=0)
    return float(far.reduce(away[:, some], axis=None, where=after, initial=0.0))


def convergence(times: Floats, classes: NDArray[np.int8]) -> tuple[float, float]:
    """First and last entry into a stretch of three cycles or more without a node above the band."""
    level = np.concatenate([[False], ~(classes > 0).any(axis=1), [False]])
    starts, ends = np.flatnonzero(~level[:-1] & level[1:]), np.flatnonzero(level[:-1] & ~level[1:])
    long_enough = starts[ends - starts >= SETTLED_CYCLES]
    if not len(long_enough):
        return float("nan"), float("nan")
    return float(times[long_enough[0]]), float(times[long_enough[-1]])


def oscillations(classes: NDArray[np.int8]) -> int:
    """How often a node went from over to under or back, whatever it was in between."""
    total, last = 0, np.zeros(classes.shape[1], dtype=np.int8)
    for now in classes:  # fewer cycles than nodes, where it matters
        total += int(np.count_nonzero(now * last < 0))
        last = np.where(now != 0, now, last)
    return total


def ping_pongs(moves: MovesDone) -> int:
    """Moves that brought a VM back to a node it had left less than an hour before."""
    # VM by VM in order of time, so that what a VM did before stands before.
    order = np.argsort(moves.vms, kind="stable")
    vms, sources, targets, ended_s = (
        column[order] for column in (moves.vms, moves.sources, moves.targets, moves.ended_s)
    )
    back = np.zeros(len(vms), dtype=np.bool_)
    for moves_before in range(1, len(vms)):
        now, then = slice(moves_before, None), slice(None, -moves_before)
        lately = (vms[now] == vms[then]) & (ended_s[now] - ended_s[then] < PING_PONG_S)
        if not lately.any():
            break
        back[now] |= lately & (targets[now] == sources[then])
    return int(np.count_nonzero(back))


def _slatah(meter: Meter, replica: int) -> float:
    """Mean over the nodes that had VMs of their share of time at full CPU."""
    return _mean_share(meter.full[replica], meter.active[replica])


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0


def _shares(part: Floats, whole: Floats) -> Floats:
    some = whole > 0
    return np.asarray(part[some] / whole[some])


def _mean_share(part: Floats, whole: Floats) -> float:
    shares = _shares(part, whole)
    return float(shares.mean()) if len(shares) else 0.0


def _quantile_share(part: Floats, whole: Floats, q: float) -> float:
    shares = _shares(part, whole)
    return float(np.quantile(shares, q)) if len(shares) else 0.0


def energy_kwh(capacity: Floats, seconds: Floats, served: float) -> float:
    """What nodes with `capacity` draw that are there for `seconds` and serve `served`.

    capacity, seconds: (nodes,) units of CPU, time without loss; served: units times seconds.
    """
    idle = float(np.dot(capacity, seconds)) * IDLE_W_PER_CORE
    busy = served * (FULL_W_PER_CORE - IDLE_W_PER_CORE)
    return (idle + busy) * _CORES_PER_UNIT / _J_PER_KWH
