"""The directory of one run: what went in, what came out, under the id of its inputs."""

import io
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from trimtab.errors import ConfigError
from trimtab.files.writing import write_whole
from trimtab.model.duration import format_duration
from trimtab.model.scenarios.scenario import Scenario
from trimtab.policy.file.default import DEFAULT_POLICY
from trimtab.sim.measures.meaning import verdict
from trimtab.sim.outcome import MigrationRecord, Outcome, ReportCard
from trimtab.sim.spec import RunSpec
from trimtab.study.inputs.candidate import pair_text, restraint_text
from trimtab.study.inputs.identity import Versions, cell_id, digest, run_id, versions
from trimtab.study.report.run_report import RunPage, render_run
from trimtab.study.results.store import pretty_json


class SimResult(Struct, frozen=True, rename="camel"):
    """What `--json` prints and result.json holds."""

    title: str
    verdict: str
    """What the run means, in one sentence."""
    run_id: str
    seed: int
    spec: dict[str, Any]
    """Everything but the scenario, which is in inputs/."""
    card: ReportCard
    doing_nothing: ReportCard
    moves: tuple[MigrationRecord, ...]
    placement_before: dict[str, str]
    placement_after: dict[str, str]
    errors: tuple[str, ...]
    versions: Versions


def make_result(spec: RunSpec, seed: int, outcome: Outcome, nothing: Outcome) -> SimResult:
    """The result of a run with everything that identifies it."""
    about: dict[str, Any] = msgspec.to_builtins(spec)
    about["scenario"] = spec.scenario.name
    return SimResult(
        title=title(spec, seed),
        verdict=verdict(outcome.card, nothing.card),
        run_id=run_id(cell_id(spec, digest(spec.scenario), own_score(spec)), seed),
        seed=seed,
        spec=about,
        card=outcome.card,
        doing_nothing=nothing.card,
        moves=tuple(outcome.moves),
        placement_before=outcome.placement_before,
        placement_after=outcome.placement_after,
        errors=outcome.errors,
        versions=versions(),
    )


def title(spec: RunSpec, seed: int) -> str:
    """One line that says what was run."""
    scenario = spec.scenario
    parts = [
        f"{scenario.name}: {len(scenario.nodes)} nodes, {len(scenario.vms)} VMs",
        format_duration(scenario.duration_s),
        f"{spec.score}",
    ]
    if spec.thresholds:
        parts.append("{:g}:{:g} points".format(*spec.thresholds))
    parts += [f"{what} {value}" for what, value, usual in _unusual(spec) if value != usual]
    return ", ".join([*parts, f"seed {seed}"])


def _unusual(spec: RunSpec) -> tuple[tuple[str, str, str], ...]:
    return (
        ("placement", spec.placement, "spread"),
        ("victims", spec.victims, "stock"),
        ("migration", spec.scenario.migration.mode, "live"),
    )


def own_score(spec: RunSpec) -> str | None:
    """The text of a score that is not in the catalogue: part of what identifies a run."""
    if spec.score is None or not spec.score.endswith(".py"):
        return None
    return Path(spec.score).read_text(encoding="utf-8")


def save(
    directory: Path, spec: RunSpec, result: SimResult, outcome: Outcome, nothing: Outcome
) -> Path | None:
    """Write the directory; one that holds another run is left alone.

    The path of the report; none without the libraries of the extra `study`.
    """
    _check(directory, result)
    inputs = directory / "inputs"
    inputs.mkdir(parents=True, exist_ok=True)
    write_whole(inputs / "scenario.json", msgspec.json.encode(spec.scenario))
    write_whole(inputs / "policy.yaml", (spec.policy or DEFAULT_POLICY).encode())
    bare = replace(spec, scenario=Scenario(spec.scenario.name, (), ()), policy="")
    write_whole(inputs / "run.json", pretty_json({"seed": result.seed, "spec": bare}))
    write_whole(inputs / "versions.json", pretty_json(result.versions))
    if (text := own_score(spec)) is not None:
        write_whole(inputs / "score.py", text.encode())
    if find_spec("polars"):
        write_whole(directory / "events.parquet", _events(result))
    else:
        write_whole(directory / "events.json", pretty_json(result.moves))
    report = None
    if find_spec("jinja2"):
        report = directory / "report.html"
        write_whole(report, render_run(_page(spec, result, outcome, nothing)).encode())
    write_whole(directory / "result.json", pretty_json(result))
    return report


def _page(spec: RunSpec, result: SimResult, outcome: Outcome, nothing: Outcome) -> RunPage:
    return RunPage(
        title=result.title,
        id=result.run_id,
        seed=result.seed,
        scenario=spec.scenario,
        settings=_settings(spec),
        policy=spec.policy or DEFAULT_POLICY,
        outcome=outcome,
        nothing=nothing,
        versions=result.versions,
    )


def _settings(spec: RunSpec) -> dict[str, str]:
    scenario = spec.scenario
    return {
        "Scenario": f"{scenario.name}: {len(scenario.nodes):,} nodes, {len(scenario.vms):,} VMs",
        "Duration": format_duration(scenario.duration_s),
        "Score": spec.score or "none",
        "Thresholds": pair_text(spec.thresholds),
        "Limits": pair_text(spec.limits, "/"),
        "Placement": spec.placement,
        "Victims": spec.victims,
        "Migration": scenario.migration.mode,
        "Restraint": restraint_text(spec.restraint),
        "Interval": format_duration(spec.timing.descheduling_s),
    }


def _check(directory: Path, result: SimResult) -> None:
    if not directory.exists() or not any(directory.iterdir()):
        return
    try:
        known = msgspec.json.decode((directory / "result.json").read_bytes())["runId"]
    except (OSError, KeyError, TypeError, msgspec.DecodeError):
        known = None
    if known != result.run_id:
        raise ConfigError(
            f"{directory}: there is something else in it; name an empty or a new directory with -o"
        )


def _events(result: SimResult) -> bytes:
    import polars

    rows = [msgspec.structs.asdict(move) for move in result.moves]
    empty: dict[str, list[Any]] = {name: [] for name in MigrationRecord.__struct_fields__}
    frame = polars.DataFrame(rows, infer_schema_length=None) if rows else polars.DataFrame(empty)
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()
