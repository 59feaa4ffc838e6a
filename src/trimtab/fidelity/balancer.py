"""The balancer in labs beside the simulator's planned moves: the same scenario, the same planner.

A lab's run begins with its first plan, a simulated one with its first cycle: how long the
balancer holds a plan back is not compared. One plan follows another when its migrations are
over; how long that takes is the computer's to say, as the balancer's rounds and the API server's
answers do not become faster with the lab's clock; on a slow one a plan may also begin fewer of
its moves than it might before it is too old. So each part of the simulated runs has the pace of
one of the labs' plans: the time until the next one, and how many moves it began.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from operator import itemgetter

import numpy as np
from msgspec import Struct, structs

from trimtab.balancer.settings import BalancerSettings
from trimtab.errors import ConfigError
from trimtab.fidelity.runs import SEEDS, Range, ScrapedLoads, ranges
from trimtab.model.load.curve import Constant
from trimtab.model.scenarios.scenario import Scenario
from trimtab.sim import simulate
from trimtab.sim.descheduling.sensor import phases
from trimtab.sim.outcome import Outcome
from trimtab.sim.spec import Restraint, RunSpec, Timing, VictimChoice
from trimtab.stacks.loop.settings import SCRAPE_S

PACES = 20
"""So many of the labs' plans are taken as the pace, each of a part of the simulated runs."""


class BalancerMove(Struct, frozen=True):
    """A migration that succeeded; seconds of the lab since the first plan."""

    vm: str
    target: str
    copying: float
    ended: float


class BalancerPlan(Struct, frozen=True):
    """A plan that was carried out; seconds of the lab since the first one."""

    made: float
    begun: int
    """Moves that began."""
    skipped: int
    """Moves that did not begin before the plan was too old."""


class BalancerRun(Struct, frozen=True, kw_only=True):
    """One lab, from its first plan on. Times are seconds of the lab since then."""

    scenario: str
    plans: tuple[BalancerPlan, ...]
    """In the order in which they were made."""
    moves: tuple[BalancerMove, ...]
    """In the order of their ends."""
    failed: int
    vms: int
    """VMs that the last scrape before the first plan saw."""
    times: tuple[float, ...]
    """Of the scrapes."""
    cpu: Mapping[str, tuple[float, ...]]
    """By node, at each scrape."""
    memory: Mapping[str, tuple[float, ...]]


class BalancerFigures(Struct, frozen=True):
    """What is compared. Imbalance is the standard deviation over the nodes, in shares of a node."""

    migrations: int
    settled_s: float
    """Lab seconds until the last migration was over."""
    cpu_mean: float
    """Imbalance of CPU use, mean over all scrapes."""
    cpu_last: float
    memory_mean: float
    memory_last: float


SLACK = dict.fromkeys(("cpu_mean", "cpu_last", "memory_mean", "memory_last"), 0.0005)
"""Shares of a node are compared to a twentieth of a point: metrics are rounded."""


def comparable(scenario: Scenario) -> None:
    """Refuse what a lab plays at times of its own."""
    if scenario.events:
        raise ConfigError(f"scenario {scenario.name}: its events come at the lab's own time")
    curves = (curve for vm in scenario.vms for curve in (vm.cpu_load, vm.memory_load))
    if not all(isinstance(curve, Constant) for curve in curves):
        raise ConfigError(
            f"scenario {scenario.name}: its loads change with the lab's own time; the balancer "
            "can be compared where they stand still"
        )


def figures_of_lab(run: BalancerRun, span_s: float) -> BalancerFigures:
    """Of the first so many seconds of a lab's run."""
    inside = [at for at, time in enumerate(run.times) if 0.0 <= time <= span_s]
    cpu, memory = (
        np.array([[values[at] for at in inside] for values in by_node.values()]).T
        for by_node in (run.cpu, run.memory)
    )
    return _figures([move.ended for move in run.moves if move.ended <= span_s], cpu, memory)


def figures_of_sim(outcome: Outcome, loads: ScrapedLoads) -> BalancerFigures:
    """Of a whole simulated run; as in a lab, scrapes count from its beginning on."""
    ended = [
        move.ended_s
        for move in outcome.moves
        if move.outcome == "succeeded" and move.ended_s is not None
    ]
    inside = np.array(loads.times) >= 0.0
    cpu, memory = (each[inside] for each in loads.shares(outcome))
    return _figures(ended, cpu, memory)


def _figures(
    ended: Sequence[float], cpu: np.ndarray[tuple[int, ...]], memory: np.ndarray[tuple[int, ...]]
) -> BalancerFigures:
    """cpu, memory: (scrapes, nodes)."""
    by_cpu, by_memory = cpu.std(axis=1), memory.std(axis=1)
    return BalancerFigures(
        len(ended),
        max(ended, default=0.0),
        float(by_cpu.mean()),
        float(by_cpu[-1]),
        float(by_memory.mean()),
        float(by_memory[-1]),
    )


class Pace(Struct, frozen=True):
    """How fast plans are carried out."""

    plan_s: float
    """Seconds of the lab from a plan to the next one."""
    at_once: int | None = None
    """Moves that a plan begins at most, where that is fewer than the limits allow."""


def paces_of(runs: Sequence[BalancerRun]) -> list[Pace]:
    """One for each plan but the last, of all runs."""
    return [
        Pace(after.made - plan.made, plan.begun if plan.begun and plan.skipped else None)
        for run in runs
        for plan, after in pairwise(run.plans)
    ]


def reaction_of(runs: Sequence[BalancerRun]) -> float:
    """Seconds of the lab from a plan until a copy of it begins; the median."""
    found = [
        move.copying - max(plan.made for plan in run.plans if plan.made <= move.copying)
        for run in runs
        for move in run.moves
        if move.copying >= 0.0
    ]
    return round(float(np.median(found)), 1) if found else 0.0


def simulated(
    scenario: Scenario,
    span_s: float,
    paces: Sequence[Pace],
    *,
    settings: BalancerSettings | None = None,
    victims: VictimChoice = "planned",
    reaction_s: float = 0.0,
    seeds: int = SEEDS,
) -> list[BalancerFigures]:
    """The figures of as many simulated runs; `victims` may be another choice than the balancer's.

    paces: of labs' plans, see `paces_of`.
    """
    settings = settings or BalancerSettings()
    slots = settings.limits.parallel - settings.limits.kept_free
    scenario = structs.replace(scenario, duration_s=span_s)
    scrapes = Timing(scrape_s=SCRAPE_S, rules_s=SCRAPE_S, descheduling_s=SCRAPE_S)
    count = int(span_s // SCRAPE_S) + 1
    found = []
    for pace, part in _parts(_chosen(paces), seeds):
        spec = RunSpec(
            scenario=scenario,
            thresholds=(0.0, settings.band),
            limits=(pace.at_once or slots, 1),
            victims=victims,
            restraint=Restraint(cooldown_s=settings.limits.cooldown_s),
            timing=structs.replace(scrapes, descheduling_s=pace.plan_s, reaction_s=reaction_s),
        )
        for seed, outcome in zip(part, simulate(spec, part), strict=True):
            loads = ScrapedLoads(scenario, count, scrapes, phases(seed, scrapes)[0])
            found.append(figures_of_sim(outcome, loads))
    return found


def _chosen(paces: Sequence[Pace]) -> list[Pace]:
    """As many of the paces as there are parts, evenly by rank."""
    ordered = sorted(paces, key=lambda pace: pace.plan_s)
    if not ordered:
        raise ConfigError("one plan was enough, or none; a comparison needs two or more")
    return [ordered[int(len(ordered) * (at + 0.5) / PACES)] for at in range(PACES)]


def _parts(chosen: Sequence[Pace], seeds: int) -> Iterator[tuple[Pace, list[int]]]:
    """Seeds in order, as many for each pace; those of equal paces are cheaper together."""
    shares = zip(chosen, np.array_split(np.arange(seeds), len(chosen)), strict=True)
    for pace, alike in groupby(shares, key=itemgetter(0)):
        yield pace, [seed for _, share in alike for seed in share.tolist()]


class BalancerVerdict(Struct, frozen=True, kw_only=True):
    """Whether the labs did what was predicted."""

    scenario: str
    span_s: float
    seeds: int
    reaction_s: float
    """Seconds of the lab from a plan until a copy of it began, as measured in the labs."""
    plan_s: float
    """From a plan to the next one, the median of the labs."""
    ranges: tuple[Range, ...]
    problems: tuple[str, ...]

    @property
    def passed(self) -> bool:
        return not self.problems


def judge_balancer(
    scenario: Scenario,
    runs: Sequence[BalancerRun],
    span_s: float,
    *,
    victims: VictimChoice = "planned",
    seeds: int = SEEDS,
) -> BalancerVerdict:
    """All labs of one scenario together, beside simulated runs."""
    paces, reaction_s = paces_of(runs), reaction_of(runs)
    known = simulated(scenario, span_s, paces, victims=victims, reaction_s=reaction_s, seeds=seeds)
    found = ranges(known, [figures_of_lab(run, span_s) for run in runs], SLACK)
    return BalancerVerdict(
        scenario=scenario.name,
        span_s=span_s,
        seeds=seeds,
        reaction_s=reaction_s,
        plan_s=round(float(np.median([pace.plan_s for pace in paces])), 1),
        ranges=found,
        problems=(
            *(
                text
                for number, run in enumerate(runs, 1)
                for text in _doubts(scenario, number, run)
            ),
            *(each.problem for each in found if not each.likely),
        ),
    )


def _doubts(scenario: Scenario, number: int, run: BalancerRun) -> Iterator[str]:
    """Why a lab's run cannot be compared."""
    if run.vms < len(scenario.vms):
        yield f"run {number}: the first plan was made when {run.vms} VMs of {len(scenario.vms)} ran"
    if run.failed:
        yield f"run {number}: {run.failed} migrations failed"
