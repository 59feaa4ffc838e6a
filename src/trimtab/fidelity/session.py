"""A whole examination: so many runs in the lab, as many simulated ones as needed, a verdict."""

from collections.abc import Callable
from statistics import median

from msgspec import Struct, structs

from trimtab.fidelity.lab import LabRunOrder, Note, play
from trimtab.fidelity.recording import LabRun
from trimtab.fidelity.runs import (
    SEEDS,
    Range,
    RunFigures,
    ScrapedLoads,
    figures_of_lab,
    figures_of_sim,
    ranges,
    reaction_of,
)
from trimtab.fidelity.verdict import ScenarioVerdict, StepVerdict, Subject, judge, judge_steps
from trimtab.sim import simulate
from trimtab.sim.descheduling.sensor import phases
from trimtab.sim.spec import RunSpec, Timing
from trimtab.stacks.loop.connection import Loop
from trimtab.stacks.loop.settings import SCRAPE_S

Keep = Callable[[int, LabRun], None]


class Examination(Struct, frozen=True, kw_only=True):
    """How much to do; without seeds only the steps are judged."""

    order: LabRunOrder
    runs: int = 1
    seeds: int = SEEDS


async def examine(
    loop: Loop, wanted: Examination, note: Note, keep: Keep = lambda _number, _run: None
) -> ScenarioVerdict:
    """Play, record, predict, compare; `keep` gets each recording."""
    order, steps, figures = wanted.order, list[StepVerdict](), list[RunFigures]()
    reactions: list[float] = []
    for number in range(1, wanted.runs + 1):
        run = await play(loop, order, numbered(note, number, wanted.runs))
        keep(number, run)
        steps.append(judge_steps(run, order.score))
        figures.append(figures_of_lab(run, order.cycles))
        reactions.append(reaction_of(run))
    interval_s = loop.settings.interval_s
    found, reaction_s = list[Range](), round(median(reactions), 1)
    if wanted.seeds:
        note(f"simulating it with {wanted.seeds} seeds")
        known = simulated(order, interval_s, wanted.seeds, reaction_s=reaction_s)
        found = list(ranges(known, figures))
    return judge(
        Subject(order.scenario.name, order.score.name, loop.spec.clock.scale, reaction_s),
        steps,
        found,
        wanted.seeds,
    )


def simulated(
    order: LabRunOrder,
    interval_s: float,
    seeds: int,
    *,
    score: str | None = "",
    reaction_s: float = 0.0,
) -> list[RunFigures]:
    """The figures of as many simulated runs; `score` may be another one than the lab's."""
    scenario = structs.replace(order.scenario, duration_s=order.cycles * interval_s)
    timing = Timing(
        scrape_s=SCRAPE_S, rules_s=SCRAPE_S, descheduling_s=interval_s, reaction_s=reaction_s
    )
    spec = RunSpec(
        scenario=scenario,
        score=order.score.name if score == "" else score,
        policy=order.policy,
        timing=timing,
    )
    return [
        figures_of_sim(each, ScrapedLoads(scenario, order.cycles, timing, phases(seed, timing)[0]))
        for seed, each in enumerate(simulate(spec, range(seeds)))
    ]


def numbered(note: Note, number: int, runs: int) -> Note:
    """Say which run it is, where there are several."""
    if runs == 1:
        return note
    return lambda text: note(f"run {number} of {runs}: {text}")
