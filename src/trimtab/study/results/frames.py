"""Parquet: one row per run in `runs.parquet`, one per migration in `events.parquet`."""

import io
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from trimtab.study.extra import need
from trimtab.study.inputs.candidate import Candidate, labels, pair_text, restraint_text
from trimtab.study.inputs.identity import run_id
from trimtab.study.inputs.plan import Cells, StudyPlan
from trimtab.study.results.collect import KnownRuns
from trimtab.study.results.measures import imbalance
from trimtab.study.results.record import FullChunk, MoveRow

if TYPE_CHECKING:
    from polars import DataFrame


def runs_parquet(plan: StudyPlan, cells: Cells, runs: KnownRuns) -> bytes:
    """The report card of every run, with the names of what was run."""
    return _parquet(runs_frame(plan, cells, runs))


def runs_frame(plan: StudyPlan, cells: Cells, runs: KnownRuns) -> "DataFrame":
    """The same as a data frame."""
    polars = need("polars")
    rows = [
        {"runId": run.id, **named, "seed": run.seed, "imbalance": imbalance(run.card)}
        | msgspec.to_builtins(run.card)
        | {"digest": run.digest, "errors": len(run.errors)}
        for cell, named in _named(plan, cells).items()
        for run in runs.of(cell, plan.seeds)
    ]
    frame: DataFrame = polars.DataFrame(rows, infer_schema_length=None)
    return frame


def events_parquet(plan: StudyPlan, cells: Cells, chunks: Iterable[FullChunk]) -> bytes:
    """Every migration of every run of the plan, chunk by chunk: there can be millions."""
    polars = need("polars")
    named, fields = _named(plan, cells), MoveRow.__struct_fields__
    wanted = {run_id(cell, seed) for cell in named for seed in plan.seeds}
    frames = [polars.DataFrame(schema=_EVENTS)]
    for chunk in chunks:
        for run in chunk.runs:
            if run.id not in wanted:
                continue
            wanted.remove(run.id)  # a run that is there twice counts once
            of_all = {
                "runId": run.id,
                "scenario": named[chunk.cell]["scenario"],
                "candidate": named[chunk.cell]["candidate"],
                "seed": run.seed,
            }
            columns = {name: [value] * len(run.moves) for name, value in of_all.items()}
            columns |= {field: [getattr(move, field) for move in run.moves] for field in fields}
            frames.append(polars.DataFrame(columns, schema=_EVENTS))
    return _parquet(polars.concat(frames))


_EVENTS: dict[str, type] = {"runId": str, "scenario": str, "candidate": str, "seed": int} | {
    "vm": str, "source": str, "target": str, "requested_s": float, "started_s": float,
    "ended_s": float, "gb": float, "outcome": str,
}  # fmt: skip


def _named(plan: StudyPlan, cells: Cells) -> dict[str, dict[str, str]]:
    """What was run in each cell."""
    names = labels(plan.candidates)
    return {
        cell: {"scenario": scenario.name, "candidate": label, **_setting(candidate)}
        for scenario, row in zip(plan.scenarios, cells, strict=True)
        for candidate, label, cell in zip(plan.candidates, names, row, strict=True)
    }


def _setting(candidate: Candidate) -> dict[str, str]:
    return {
        "score": candidate.title,
        "policy": candidate.policy,
        "thresholds": pair_text(candidate.thresholds),
        "limits": pair_text(candidate.limits, "/"),
        "placement": candidate.placement,
        "victims": candidate.victims,
        "restraint": restraint_text(candidate.restraint),
    }


def _parquet(frame: Any) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()
