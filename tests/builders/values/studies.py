"""Small studies: plans, and results made of builders' outcomes."""

from collections.abc import Callable, Sequence

import numpy as np

from builders.values.outcomes import a_card, a_course, a_scenario, an_outcome
from trimtab.model.scenarios.scenario import Scenario
from trimtab.sim.spec import Timing
from trimtab.study.execution.tasks import cells_of
from trimtab.study.inputs.candidate import Candidate
from trimtab.study.inputs.identity import versions
from trimtab.study.inputs.plan import Cells, StudyPlan
from trimtab.study.results.collect import KnownRuns, gather, study_result
from trimtab.study.results.record import make_chunk
from trimtab.study.results.result import StudyResult

SCORES = ("max_metric", "cpu_focused", "memory_focused", "pareto_front", "pressure_focused")


def a_plan(
    candidates: int = 3,
    seeds: int = 4,
    scenarios: Sequence[Scenario] | None = None,
    more_thresholds: Sequence[tuple[float, float]] = (),
) -> StudyPlan:
    """Do-nothing and some scores on two small clusters."""
    return StudyPlan(
        name="small",
        description="",
        seeds=tuple(range(seeds)),
        scenarios=tuple(scenarios or (a_scenario("one"), a_scenario("two"))),
        candidates=(
            Candidate(None, thresholds=(0, 10)),
            *(Candidate(name, thresholds=(0, 10)) for name in SCORES[: candidates - 1]),
            *(Candidate(SCORES[0], thresholds=pair) for pair in more_thresholds),
        ),
        default=1,
        policies={},
        own_scores={},
        timing=Timing(),
    )


def finished(
    plan: StudyPlan,
    migrations: Callable[[int], int] = lambda place: 3 * place,
    every_s: float = 60,
) -> tuple[Cells, KnownRuns, StudyResult]:
    """As if all runs of the plan were done: each candidate a little worse than the one before."""
    cells = cells_of(plan)
    rng = np.random.default_rng(1)
    luck = rng.normal(0, 0.003, len(plan.seeds))
    chunks = [
        make_chunk(
            cell,
            scenario,
            plan.seeds,
            [
                an_outcome(
                    scenario,
                    a_card(
                        load_std_mean=float((0.04 + 0.01 * place if place else 0.2) + chance),
                        migrations=migrations(place) if place else 0,
                    ),
                    a_course(len(scenario.nodes), decay=0.8 if place else 1.0, every_s=every_s),
                    moved=migrations(place) if place else 0,
                )
                for chance in luck
            ],
        )
        for scenario, row in zip(plan.scenarios, cells, strict=True)
        for place, cell in enumerate(row)
    ]
    runs = gather(chunks)
    return cells, runs, study_result(plan, cells, runs, versions())
