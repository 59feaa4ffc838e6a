"""`report.html` of a study: one file that any browser opens without a network."""

from collections.abc import Sequence
from typing import Any

from trimtab.model.duration import format_duration
from trimtab.study.inputs.plan import Cells, StudyPlan
from trimtab.study.report.data import matrix, page_data
from trimtab.study.report.page import render_page
from trimtab.study.report.tables import headline, page_tables
from trimtab.study.results.collect import KnownRuns
from trimtab.study.results.measures import MEASURES
from trimtab.study.results.result import StudyResult
from trimtab.study.results.statistics import RESAMPLES

PARTS = ("base", "labels", "front", "ranking", "course", "moves", "choice", "start")


def render(plan: StudyPlan, cells: Cells, runs: KnownRuns, result: StudyResult, text: str) -> str:
    """The whole page; `text` is the study file as it was written."""
    data = page_data(plan, cells, runs, result)
    return render_page("report.html.j2", PARTS, data, _words(result, text))


def _words(result: StudyResult, text: str) -> dict[str, Any]:
    return {
        "what": "study",
        "name": result.name,
        "description": result.description,
        "summary": result.summary,
        "warnings": [*result.warnings, *_failures(result)],
        "facts": {
            "scenarios": len(result.scenarios),
            "candidates": len(result.candidates),
            "seeds": len(result.seeds),
            "runs": f"{result.runs:,}",
        },
        "tiles": headline(result.labels, result.overall, result.default),
        "tables": page_tables(result),
        "matrix": matrix(result),
        "scenarios": [
            {
                "name": scenario.name,
                "description": scenario.description,
                "nodes": scenario.nodes,
                "vms": scenario.vms,
                "duration": format_duration(scenario.duration_s),
            }
            for scenario in result.scenarios
        ],
        "measures": MEASURES,
        "id": result.id,
        "seeds": seeds_text(result.seeds),
        "versions": result.versions,
        "resamples": f"{RESAMPLES:,}",
        "text": text,
    }


def _failures(result: StudyResult) -> list[str]:
    if not result.failed_cycles:
        return []
    return [
        f"In {result.failed_cycles:,} cycles the descheduler would have given up with an error; "
        "the errors column of runs.parquet tells in which runs."
    ]


def seeds_text(seeds: Sequence[int]) -> str:
    """`0–19` where they follow each other, all of them otherwise."""
    first, last = seeds[0], seeds[-1]
    if len(seeds) > 2 and tuple(seeds) == tuple(range(first, last + 1)):
        return f"{first}–{last}"
    return ", ".join(str(seed) for seed in seeds)
