"""Runs as a whole: is a lab's run one that the simulator might have made? Pure.

Chance decides who moves first, so two runs of one lab differ as well. The simulator is run
with many seeds and random phases; a figure of a lab's run must lie within the interval that
99 of 100 further runs of the simulator would fall into.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import comb, inf, isnan

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from trimtab.fidelity.recording import LabRun, moment
from trimtab.model.load.curve import Curve, value_at
from trimtab.model.quantity import Quantity
from trimtab.model.scenarios.scenario import Scenario
from trimtab.policy.cycle import PodOutcome
from trimtab.sim.measures.card import against_the_band, convergence
from trimtab.sim.outcome import Outcome
from trimtab.sim.spec import Timing

Shares = NDArray[np.float32]
SEEDS = 400
OUTSIDE = 0.01
"""The share of right predictions that lie outside by chance."""
UNLIKELY = 0.001
"""So many runs outside, or more, are no chance any more if their probability is below this."""


class RunFigures(Struct, frozen=True):
    """What is compared of a run."""

    evictions: int
    converged_s: float
    """Lab seconds until no node is above the band for three cycles; infinite if never."""
    deviation: float
    """Standard deviation of the nodes' CPU use at the last cycle."""


def figures_of_lab(run: LabRun, cycles: int) -> RunFigures:
    """Of the first so many cycles that worked."""
    counted = run.worked[:cycles]
    moments = [moment(cycle.began) for cycle in counted]
    cpu, memory = (_at(run, column, moments) for column in ("cpu_usage", "memory_usage"))
    asked = sum(
        note.outcome in (PodOutcome.BACKGROUND, PodOutcome.EVICTED)
        for cycle in counted
        for note in cycle.notes
    )
    return _figures(asked, cpu, memory, run.interval_s * run.scale)


class ScrapedLoads:
    """What every VM uses at the last scrape before each cycle; scrapes begin at `phase_s`.

    The simulator itself goes by the mean over each interval, which hides the peaks.
    """

    def __init__(self, scenario: Scenario, cycles: int, timing: Timing, phase_s: float) -> None:
        self.interval_s, every = timing.descheduling_s, timing.scrape_s
        moments = np.arange(cycles) * self.interval_s
        self.times = (phase_s + np.floor((moments - phase_s) / every) * every).tolist()
        self._nodes = {node.name: at for at, node in enumerate(scenario.nodes)}
        self._vms = {vm.name: at for at, vm in enumerate(scenario.vms)}
        self._cpu = _uses([(vm.cpu, vm.cpu_load) for vm in scenario.vms], self.times)
        self._memory = _uses([(vm.memory, vm.memory_load) for vm in scenario.vms], self.times)
        self._cores = np.array([float(node.cpu.nano) for node in scenario.nodes])
        self._bytes = np.array([float(node.memory.nano) for node in scenario.nodes])

    def shares(self, outcome: Outcome) -> tuple[Shares, Shares]:
        """(cycles, nodes) of CPU and memory, with every VM where it was then."""
        cpu = np.zeros((len(self.times), len(self._nodes)))
        memory = np.zeros_like(cpu)
        for number, places in enumerate(_placements(outcome, self.times)):
            for vm, node in places.items():
                at, here = self._vms[vm], self._nodes[node]
                cpu[number, here] += self._cpu[number, at]
                memory[number, here] += self._memory[number, at]
        cpu, memory = cpu / self._cores, memory / self._bytes
        return cpu.astype(np.float32), memory.astype(np.float32)


def _uses(sizes: Sequence[tuple[Quantity, Curve]], times: Sequence[float]) -> NDArray[np.float64]:
    return np.array([[size.nano * value_at(load, at) for size, load in sizes] for at in times])


def _placements(outcome: Outcome, times: Sequence[float]) -> Iterator[dict[str, str]]:
    """Where the VMs were at each of the times."""
    places = dict(outcome.placement_before)
    done = [(m.ended_s, m.vm, m.target) for m in outcome.moves if m.outcome == "succeeded"]
    moves = sorted((at, vm, node) for at, vm, node in done if at is not None and node is not None)
    for time in times:
        while moves and moves[0][0] <= time:
            _, vm, node = moves.pop(0)
            places[vm] = node
        yield places


def figures_of_sim(outcome: Outcome, loads: ScrapedLoads) -> RunFigures:
    """Of a whole simulated run; several attempts to move a VM answer one eviction."""
    asked = {(move.vm, move.requested_s) for move in outcome.moves}
    cpu, memory = loads.shares(outcome)
    return _figures(len(asked), cpu, memory, loads.interval_s)


def _figures(evictions: int, cpu: Shares, memory: Shares, interval_s: float) -> RunFigures:
    ready = np.ones(cpu.shape, dtype=np.bool_)
    times = np.arange(len(cpu), dtype=np.float64) * interval_s
    classed, _ = against_the_band((cpu, memory), ready)
    first, _ = convergence(times, classed)
    return RunFigures(evictions, inf if isnan(first) else first, float(cpu[-1].std()))


def _at(run: LabRun, column: str, moments: Sequence[float]) -> Shares:
    """(cycles, nodes) the newest scrape at each moment."""
    courses = [run.scrapes[column][node.name] for node in run.nodes]
    rows = [[course.values[course.before(at)] for course in courses] for at in moments]
    return np.array(rows, dtype=np.float32)


def reaction_of(run: LabRun) -> float:
    """Lab seconds from the beginning of a cycle until a victim's target pod runs; the median.

    API server, controller, scheduler and kubelet take the same real time in a fast lab, so it
    is the machine's to say how many seconds of the lab that is.
    """
    running = _first_running(run)
    found = [
        min(at for at in running[owner] if at >= began) - began
        for began, owner in _owners_of_victims(run)
        if any(at >= began for at in running.get(owner, ()))
    ]
    return float(np.median(found)) * run.scale if found else 0.0


def _first_running(run: LabRun) -> dict[str, list[float]]:
    """When each pod of an owner was first seen running, by the owner's uid."""
    seen: set[str] = set()
    found: dict[str, list[float]] = {}
    for version in run.pods:
        pod = version.pod
        if pod.phase == "Running" and pod.uid not in seen:
            seen.add(pod.uid)
            for owner in pod.owners:
                found.setdefault(owner.uid, []).append(version.at)
    return found


def _owners_of_victims(run: LabRun) -> Iterator[tuple[float, str]]:
    named = {f"{v.pod.namespace}/{v.pod.name}": v.pod for v in run.pods}
    for cycle in run.worked:
        for note in cycle.notes:
            if note.outcome is PodOutcome.BACKGROUND and note.pod in named:
                for owner in named[note.pod].owners:
                    yield moment(cycle.began), owner.uid


class Range(Struct, frozen=True, kw_only=True):
    """One figure: what the simulator predicts, and what the lab's runs were."""

    name: str
    low: float
    median: float
    high: float
    lab: tuple[float, ...]

    @property
    def outside(self) -> int:
        return sum(not self.low <= value <= self.high for value in self.lab)

    @property
    def likely(self) -> bool:
        """Whether so many outside may be chance."""
        return chance_of(self.outside, len(self.lab)) >= UNLIKELY

    @property
    def problem(self) -> str:
        """What to say where it is not likely."""
        return (
            f"{self.name}: {self.outside} of {len(self.lab)} runs are outside the simulator's "
            f"99 % interval {self.low:.4g} to {self.high:.4g}"
        )


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The order statistics between which a further value lies with 99 %, whatever their law.

    Of 400 values the second smallest and the second largest: 397 of 401 places are between.
    """
    ordered = sorted(values)
    cut = max(1, int((len(ordered) + 1) * OUTSIDE / 2 + 1e-9))
    return ordered[cut - 1], ordered[-cut]


def chance_of(outside: int, runs: int) -> float:
    """The probability of so many outside, or more, if the prediction is right."""
    fewer = (
        comb(runs, k) * OUTSIDE**k * (1 - OUTSIDE) ** (runs - k) for k in range(min(outside, runs))
    )
    return 1.0 - sum(fewer)


def ranges(
    known: Sequence[Struct], lab: Sequence[Struct], slack: Mapping[str, float] | None = None
) -> tuple[Range, ...]:
    """Every figure of the lab's runs beside the interval of the simulated ones.

    `slack` widens the interval of a figure, by its name.
    """
    return tuple(
        _range(name, known, lab, (slack or {}).get(name, 0.0))
        for name in known[0].__struct_fields__
    )


def _range(name: str, known: Sequence[Struct], lab: Sequence[Struct], slack: float) -> Range:
    values = [float(getattr(each, name)) for each in known]
    low, high = interval(values)
    return Range(
        name=name,
        low=low - slack,
        median=sorted(values)[len(values) // 2],
        high=high + slack,
        lab=tuple(float(getattr(each, name)) for each in lab),
    )
