"""The Python API for researchers: a scenario, a score, runs, a study, frames and figures.

Documented in docs/reference/python.md. Shares are shares of a node (0.25), imbalance and
thresholds are points (25), times are seconds, sizes GB, as in docs/reference/study-data.md.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory, mkdtemp
from typing import TYPE_CHECKING, Any
from weakref import finalize

import msgspec

from trimtab.errors import ConfigError
from trimtab.model.duration import parse_duration
from trimtab.model.examples import example_or_file, example_path
from trimtab.model.scenarios import io
from trimtab.model.scenarios.expand import expand
from trimtab.model.scenarios.scenario import Scenario
from trimtab.scores import CATALOG, Score, choose_score, define, inputs, language
from trimtab.scores.source import score_text
from trimtab.sim import simulate as run_spec
from trimtab.sim.outcome import MigrationRecord, Outcome
from trimtab.sim.spec import Placement, Restraint, RunSpec, Timing, VictimChoice
from trimtab.study.execution.engines import Engine, cores
from trimtab.study.execution.run import read_runs, run_missing, write_results
from trimtab.study.extra import need
from trimtab.study.figures import draw_all, save_all
from trimtab.study.inputs.file import load_study, parse_study
from trimtab.study.inputs.plan import make_plan
from trimtab.study.results.frames import runs_frame
from trimtab.study.results.measures import imbalance
from trimtab.study.results.result import CandidateTable, StudyResult
from trimtab.study.results.store import StudyStore

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from polars import DataFrame

_LANGUAGE = {
    name: value
    for module in (language, inputs)
    for name, value in vars(module).items()
    if not name.startswith("_") and name.islower()
}


def load_scenario(path: str | Path) -> Scenario:
    """The scenario in a file, or the example of that name (`one-hot-node`)."""
    return io.load_scenario(example_or_file(str(path), "scenarios"))


def make_scenario(fields: Mapping[str, Any] | str) -> Scenario:
    """A scenario from the fields of a scenario file, or from its text; traces need a file."""
    text = fields if isinstance(fields, str) else msgspec.json.encode(fields).decode()
    return expand(io.parse_file(text), {})


def score_names() -> list[str]:
    """The names of the catalogue, which every function here takes as a score."""
    return list(CATALOG)


def define_score(name: str, expression: str) -> Score:
    """A score of your own from an expression over the inputs, e.g. `0.3*cpu_usage + memory_usage`.

    The language is that of docs/guide/own-score.md. A `Score` made with `trimtab.scores.define`
    in a file of your own is taken as well: by its path.
    """
    try:
        value = eval(compile(expression, "score", "eval"), {"__builtins__": {}}, _LANGUAGE)
        return define(name, value, formula=expression)
    except (SyntaxError, NameError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"score {name!r}: {expression!r} is no expression over the inputs ({error}); "
            "the language is in docs/guide/own-score.md"
        ) from error


class Runs(Sequence[Outcome]):
    """The outcomes of one setting, one for each seed."""

    def __init__(self, spec: RunSpec, seeds: Sequence[int], outcomes: Sequence[Outcome]) -> None:
        self.scenario = spec.scenario
        self.score = spec.score
        self.seeds = tuple(seeds)
        self._outcomes = tuple(outcomes)

    def __len__(self) -> int:
        return len(self._outcomes)

    def __getitem__(self, place: Any) -> Any:
        return self._outcomes[place]

    def frame(self) -> "DataFrame":
        """One row for each seed: `seed`, `imbalance` (points) and the report card."""
        rows = [
            {"scenario": self.scenario.name, "score": self.score or "do-nothing", "seed": seed}
            | {"imbalance": imbalance(outcome.card)}
            | msgspec.to_builtins(outcome.card)
            for seed, outcome in zip(self.seeds, self._outcomes, strict=True)
        ]
        frame: DataFrame = need("polars").DataFrame(rows, infer_schema_length=None)
        return frame

    def migrations(self) -> "DataFrame":
        """One row for each migration, times in seconds, sizes in GB."""
        rows = [
            {"seed": seed} | msgspec.structs.asdict(move)
            for seed, outcome in zip(self.seeds, self._outcomes, strict=True)
            for move in outcome.moves
        ]
        empty: dict[str, list[Any]] = {
            name: [] for name in ("seed", *MigrationRecord.__struct_fields__)
        }
        frame: DataFrame = need("polars").DataFrame(rows or empty, infer_schema_length=None)
        return frame


def simulate(
    scenario: Scenario | str | Path,
    score: str | Path | Score | None = "linear_amplified_ippd_k3",
    *,
    seeds: int | Iterable[int] = 20,
    thresholds: tuple[float, float] | None = None,
    limits: tuple[int, int] | None = None,
    policy: str = "",
    placement: Placement = "spread",
    victims: VictimChoice = "stock",
    restraint: Restraint | None = None,
    timing: Timing | None = None,
    duration: str | float | None = None,
) -> Runs:
    """Simulate a scenario under a score, once for each seed, in this process.

    `score` is a name, the path of a Python file, a score made here, or None: nothing moves.
    `thresholds` are points below and above the mean, `limits` evictions per cycle in all and
    per node, `policy` the text of a descheduler policy, `duration` seconds or text as `2h`.
    """
    found = scenario if isinstance(scenario, Scenario) else load_scenario(scenario)
    if duration is not None:
        found = msgspec.structs.replace(found, duration_s=parse_duration(duration, "duration"))
    chosen = _seeds(seeds)
    with ExitStack() as stack:
        name = _score_argument(score, stack)
        spec = RunSpec(
            scenario=found,
            score=name,
            policy=policy,
            thresholds=thresholds,
            limits=limits,
            placement=placement,
            victims=victims,
            restraint=restraint or Restraint(),
            timing=timing or Timing(),
        )
        outcomes = run_spec(spec, chosen)
        shown = None if name is None else choose_score(name).name
    return Runs(msgspec.structs.replace(spec, score=shown), chosen, outcomes)


class Study:
    """A finished study: its ranking, its runs, its figures."""

    def __init__(self, store: StudyStore, result: StudyResult) -> None:
        self._store = store
        self._result = result

    @property
    def summary(self) -> str:
        """What came out, in a few sentences."""
        return self._result.summary

    @property
    def directory(self) -> Path:
        """Where report.html, result.json and the Parquet files are."""
        return self._store.path

    def frame(self) -> "DataFrame":
        """One row for each run: the columns of runs.parquet (docs/reference/study-data.md)."""
        return runs_frame(*read_runs(self._store))

    def ranking(self, scenario: str | None = None) -> "DataFrame":
        """The candidates, best first, over all scenarios or on one; imbalance in points."""
        rows = [
            {
                "rank": row.rank,
                "candidate": self._result.labels[row.candidate],
                "imbalance": row.measures["imbalance"].value,
                "low": row.measures["imbalance"].low,
                "high": row.measures["imbalance"].high,
                "migrations": row.measures["migrations"].value,
                "versusNothing": row.versus_nothing and row.versus_nothing.percent.value,
                "versusDefault": row.versus_default and row.versus_default.percent.value,
                "p": row.versus_default and row.versus_default.p,
                "amongBest": row.among_best,
                "pick": row.candidate == self._table(scenario).pick,
            }
            for row in self._table(scenario).rows
        ]
        frame: DataFrame = need("polars").DataFrame(rows, infer_schema_length=None)
        return frame

    def figures(self) -> "dict[str, Figure]":
        """The report's charts as Matplotlib figures, to be changed and saved as you like."""
        return draw_all(*read_runs(self._store), self._result)

    def save_figures(self, directory: str | Path, formats: Sequence[str] = ("svg", "pdf")) -> None:
        """The same as files: text as text, fonts inside."""
        save_all(self.figures(), Path(directory), formats)

    def _table(self, scenario: str | None) -> CandidateTable:
        if scenario is None:
            return self._result.overall
        names = [facts.name for facts in self._result.scenarios]
        if scenario not in names:
            raise ConfigError(f"there is no scenario {scenario!r} in this study; it has {names}")
        return self._result.tables[names.index(scenario)]


def run_study(
    what: str | Path | Mapping[str, Any],
    *,
    out: str | Path | None = None,
    jobs: int | None = None,
) -> Study:
    """Run a study and rank what it compares.

    `what` is a study file, the name of an example, or the fields of a study file; there
    `scenarios` may hold scenarios made here, and `scores` scores made here. With `out` the runs
    stay, and a second call continues; without, they go with the object. `jobs` are processes.
    """
    with ExitStack() as stack:
        if isinstance(what, Mapping):
            fields, scenarios = _study_fields(what, stack)
            text, folder = msgspec.json.encode(fields).decode(), Path.cwd()
            file = parse_study(text)
        else:
            path, scenarios = example_path(Path(what), "studies"), []
            text, folder, file = path.read_text(encoding="utf-8"), path.parent, load_study(path)
        plan = make_plan(file, folder, scenarios)
    store = StudyStore(Path(out or mkdtemp(prefix="trimtab-study-")))
    run_missing(
        plan, text, store, Engine(workers=jobs or cores()),
        begun=lambda to_do, known: None, advanced=lambda count: None,
    )  # fmt: skip
    done = Study(store, write_results(store))
    if out is None:
        finalize(done, rmtree, store.path, ignore_errors=True)
    return done


def _study_fields(
    given: Mapping[str, Any], stack: ExitStack
) -> tuple[dict[str, Any], list[Scenario]]:
    """The fields as a study file has them, and the scenarios, loaded."""
    asked = given.get("scenarios", ())
    scenarios = [s if isinstance(s, Scenario) else load_scenario(s) for s in asked]
    fields = {"name": "study"} | dict(given) | {"scenarios": [s.name for s in scenarios]}
    if not isinstance(given.get("scores", "all"), str):
        fields["scores"] = [_score_argument(score, stack) for score in given["scores"]]
    return fields, scenarios


def _score_argument(score: str | Path | Score | None, stack: ExitStack) -> str | None:
    """What the simulator takes: a name, or the path of a Python file."""
    if not isinstance(score, Score):
        return None if score is None else str(score)
    if CATALOG.get(score.name) is score:
        return score.name
    folder = stack.enter_context(TemporaryDirectory())
    file = Path(folder) / f"{score.name}.py"
    file.write_text(score_text(score), encoding="utf-8")
    return str(file)


def _seeds(seeds: int | Iterable[int]) -> tuple[int, ...]:
    return tuple(range(seeds)) if isinstance(seeds, int) else tuple(seeds)
