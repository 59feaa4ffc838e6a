"""A study as real ones are: most candidates close together, a few far away, own scores too."""

from msgspec.structs import replace

from builders.values.outcomes import a_scenario
from builders.values.studies import a_plan, finished
from trimtab.scores import CATALOG
from trimtab.study.inputs.candidate import Candidate
from trimtab.study.report.report import render

OWN = ("memory_twice", "a_score_of_my_own_with_a_rather_long_name")
FAR = {3: 240, 7: 480, 8: 520}  # migrations by place
"""Candidates that move without end."""


def crowded_report() -> str:
    """The page of 24 candidates, most of them between two and nine migrations."""
    scores = [*list(CATALOG)[:19], *OWN]
    plan = replace(
        a_plan(seeds=8, scenarios=(a_scenario("calm", 6, 40), a_scenario("busy", 3, 9))),
        candidates=(
            Candidate(None, thresholds=(0, 10)),
            *(Candidate(name, thresholds=(0, 10)) for name in scores),
            Candidate(scores[0], thresholds=(0, 5)),
            Candidate(scores[0], thresholds=(10, 10)),
        ),
    )
    study = finished(plan, lambda place: FAR.get(place, 2 + place % 8), every_s=1650)
    return render(plan, *study, "name: crowd")
