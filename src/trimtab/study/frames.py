"""Parquet: one row per run in `runs.parquet`, one per migration in `events.parquet`."""

import io
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from trimtab.study.candidate import Candidate, labels, pair_text, restraint_text
from trimtab.study.collect import Runs
from trimtab.study.extra import need
from trimtab.study.plan import Cells, Plan
from trimtab.study.record import MoveRow, RunRecord


def runs_parquet(plan: Plan, cells: Cells, runs: Runs) -> bytes:
    """The report card of every run, with the names of what was run."""
    rows = [
        {**named, **msgspec.to_builtins(run.card), "digest": run.digest, "errors": len(run.errors)}
        for named, run in _each(plan, cells, runs)
    ]
    return _parquet(rows)


def events_parquet(plan: Plan, cells: Cells, runs: Runs) -> bytes:
    """Every migration of every run."""
    fields = MoveRow.__struct_fields__
    rows = [
        {"runId": named["runId"], "scenario": named["scenario"], "candidate": named["candidate"]}
        | {"seed": run.seed}
        | {field: getattr(move, field) for field in fields}
        for named, run in _each(plan, cells, runs)
        for move in run.moves
    ]
    return _parquet(rows, empty=("runId", "scenario", "candidate", "seed", *fields))


def _each(plan: Plan, cells: Cells, runs: Runs) -> Iterator[tuple[dict[str, Any], RunRecord]]:
    names = labels(plan.candidates)
    for scenario, row in zip(plan.scenarios, cells, strict=True):
        for candidate, label, cell in zip(plan.candidates, names, row, strict=True):
            fixed = {"scenario": scenario.name, "candidate": label, **_setting(candidate)}
            for run in runs.of(cell, plan.seeds):
                yield {"runId": run.id, **fixed, "seed": run.seed}, run


def _setting(candidate: Candidate) -> dict[str, Any]:
    return {
        "score": candidate.title,
        "policy": candidate.policy,
        "thresholds": pair_text(candidate.thresholds),
        "limits": pair_text(candidate.limits, "/"),
        "placement": candidate.placement,
        "victims": candidate.victims,
        "restraint": restraint_text(candidate.restraint),
    }


def _parquet(rows: list[dict[str, Any]], empty: Sequence[str] = ()) -> bytes:
    polars = need("polars")
    frame = (
        polars.DataFrame(rows, infer_schema_length=None)
        if rows
        else polars.DataFrame({name: [] for name in empty})
    )
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()
