"""`trimtab study`: many simulations at once, compared with statistics that can be trusted."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from trimtab.cli.common.output import Flag, emit, examples

if TYPE_CHECKING:
    from trimtab.study.execution.engines import Engine
    from trimtab.study.execution.tasks import Shard
    from trimtab.study.inputs.file import StudyFile
    from trimtab.study.results.store import StudyStore

Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print JSON instead of tables.")]
Where = Literal["local", "dask"]
Jobs = Annotated[int | None, Parameter(name=("--jobs", "-j"))]
INTERRUPTED = 130
A_CLUSTER = 32  # workers of a cluster that has none yet: how finely the work is cut


app = App(
    name="study",
    help="Compare scores, thresholds and limits over many simulations.",
    help_epilogue=examples(
        "trimtab study my-study.yaml",
        "trimtab study my-study.yaml --out results/monday --jobs 4",
        "trimtab study my-study.yaml --engine dask --scheduler tcp://10.0.0.5:8786",
        "trimtab study my-study.yaml --shard 2/3",
    ),
)


@app.default
def run(
    file: Path,
    /,
    *,
    out: Path | None = None,
    jobs: Jobs = None,
    engine: Where = "local",
    scheduler: str | None = None,
    shard: str | None = None,
    fresh: Flag = False,
    json: Json = False,
) -> int | None:
    """Run a study and write its report; what was run before is not run again.

    Kill it whenever you like: the same command continues.

    Parameters
    ----------
    file
        The study (docs/reference/study.md), or the name of an example, e.g. google-2011.
    out
        Where the results go. Default: results/NAME, by the name in the file.
    jobs
        Processes at a time. Default: all cores.
    engine
        Where the simulations run: this computer, or a Dask cluster.
    scheduler
        Address of the Dask scheduler, with --engine dask.
    shard
        Run only the i-th of n parts (i/n); run the others elsewhere, put their runs/ together.
    fresh
        Run everything again, also what is there already.
    """
    from trimtab.cli.common.output_files import check_directory
    from trimtab.model.examples import example_path
    from trimtab.study.inputs.file import load_study
    from trimtab.study.results.store import StudyStore

    file = example_path(file, "studies")
    study = load_study(file)
    directory = out or Path("results") / _folder(study.name)
    check_directory(directory, "--out")
    store = StudyStore(directory)
    chosen, part = _engine(engine, scheduler, jobs), _shard(shard)
    return _run(file, study, store, chosen, part, fresh=fresh, json=json)


@app.command(help_epilogue=examples("trimtab study demo", "trimtab study demo --out /tmp/demo"))
def demo(*, out: Path = Path("results/demo"), jobs: Jobs = None, fresh: Flag = False) -> int | None:
    """All 19 algorithms and do-nothing on three small clusters, in under a minute.

    Parameters
    ----------
    out
        Where the results go.
    jobs
        Processes at a time. Default: all cores.
    fresh
        Run everything again, also what is there already.
    """
    from trimtab.cli.common.output_files import check_directory
    from trimtab.model.examples import demo_study
    from trimtab.study.execution.tasks import Shard
    from trimtab.study.inputs.file import load_study
    from trimtab.study.results.store import StudyStore

    check_directory(out, "--out")
    file, engine = demo_study(), _engine("local", None, jobs)
    store = StudyStore(out)
    return _run(file, load_study(file), store, engine, Shard(), fresh=fresh, json=False)


@app.command(
    help_epilogue=examples(
        "trimtab study report results/demo",
        "trimtab study report results/demo --figures paper/figures --format pdf",
    )
)
def report(
    directory: Path,
    /,
    *,
    figures: Path | None = None,
    formats: Annotated[str, Parameter(name="--format")] = "svg,pdf",
) -> None:
    """Write result.json, the Parquet files and report.html anew from the runs in DIRECTORY.

    Parameters
    ----------
    directory
        The study's directory.
    figures
        Also write the report's charts as vector figures for a paper into this directory.
    formats
        Formats of the figures: svg, pdf or both.
    """
    from trimtab.cli.common.output_files import check_directory, writing
    from trimtab.study.execution.run import save_figures, write_results
    from trimtab.study.figures.files import chosen_formats
    from trimtab.study.results.store import StudyStore
    from trimtab.view.terminal import tell

    kinds = chosen_formats(formats)
    if figures is not None:
        check_directory(figures, "--figures")
    store = StudyStore(directory)
    result = write_results(store)
    tell(f"{store.path / 'report.html'}")
    if figures is not None:
        with writing(figures, "--figures"):
            for path in save_figures(store, result, figures, kinds):
                tell(f"{path}")


@app.command(
    help_epilogue=examples(
        "trimtab study show results/demo",
        "trimtab study show results/demo --json | jq .summary",
    )
)
def show(
    directory: Path,
    /,
    *,
    scenario: str | None = None,
    json: Json = False,
) -> None:
    """What a finished study found.

    Parameters
    ----------
    directory
        The study's directory.
    scenario
        The ranking on this scenario instead of all of them.
    """
    from trimtab.study.execution.run import load_result
    from trimtab.study.results.lines import show_result
    from trimtab.study.results.store import StudyStore

    result = load_result(StudyStore(directory))
    emit(result, json, partial(show_result, scenario=scenario))


@app.command(help_epilogue=examples("trimtab study rerun results/demo"))
def rerun(
    directory: Path,
    /,
    *,
    jobs: Jobs = None,
    engine: Where = "local",
    scheduler: str | None = None,
    json: Json = False,
) -> int:
    """Repeat every run of a study and compare bit for bit; exit 1 if any differs.

    Parameters
    ----------
    directory
        The study's directory.
    jobs
        Processes at a time. Default: all cores.
    engine
        Where the simulations run: this computer, or a Dask cluster.
    scheduler
        Address of the Dask scheduler, with --engine dask.
    """
    from trimtab.study.execution.rerun import rerun as repeat
    from trimtab.study.results.lines import show_repetition
    from trimtab.study.results.store import StudyStore
    from trimtab.view.study import Ticker
    from trimtab.view.terminal import progress

    store = StudyStore(directory)
    total = store.load_plan().runs
    with progress("repeating", total) as steps:
        verdict = repeat(store, _engine(engine, scheduler, jobs), Ticker(steps, total).advance)
    emit(verdict, json, show_repetition)
    return 1 if verdict.differences else 0


def _run(
    file: Path,
    study: "StudyFile",
    store: "StudyStore",
    engine: "Engine",
    shard: "Shard",
    *,
    fresh: bool,
    json: bool,
) -> int | None:
    from trimtab.study.execution.run import run_missing, write_results
    from trimtab.study.inputs.file import warnings_about
    from trimtab.study.inputs.plan import make_plan
    from trimtab.study.results.lines import show_result
    from trimtab.view.study import StudyDisplay
    from trimtab.view.terminal import say, tell

    plan = make_plan(study, file.parent)
    for note in plan.notes:
        say(note)
    for warning in warnings_about(plan.seeds):
        say(f"warning: {warning}")
    display = StudyDisplay(plan.name, plan.runs)
    try:
        left = run_missing(
            plan, file.read_text(encoding="utf-8"), store, engine, shard=shard, fresh=fresh,
            begun=display.begun, advanced=display.advanced,
        )  # fmt: skip
        result = None if left else write_results(store)
    except KeyboardInterrupt:
        say(f"interrupted; finished runs are kept in {store.path}: the same command continues")
        return INTERRUPTED
    finally:
        display.close()
    if result is None:
        say(
            f"this part is done; {left:,} of {plan.runs:,} runs are still missing in {store.path}: "
            f"run the other shards, then trimtab study report {store.path}"
        )
        return None
    emit(result, json, show_result)
    if not json:
        page = (store.path / "report.html").resolve()
        tell(f"\nReport: {page}")
        tell(f"Open it in a browser: {page.as_uri()}")
    return None


def _engine(engine: Where, scheduler: str | None, jobs: int | None) -> "Engine":
    from trimtab.errors import ConfigError
    from trimtab.study.execution.engines import engine_of

    if (engine == "dask") != (scheduler is not None):
        raise ConfigError(
            "--engine dask and --scheduler ADDRESS belong together, e.g. "
            "--engine dask --scheduler tcp://127.0.0.1:8786"
        )
    return engine_of(jobs, scheduler, A_CLUSTER)


def _shard(text: str | None) -> "Shard":
    from trimtab.errors import ConfigError
    from trimtab.study.execution.tasks import Shard

    if text is None:
        return Shard()
    index, slash, count = text.partition("/")
    if slash and index.isdecimal() and count.isdecimal() and 1 <= int(index) <= int(count):
        return Shard(int(index), int(count))
    raise ConfigError(f"--shard: {text!r} is not a part; write it like 2/3, from 1/3 to 3/3")


def _folder(name: str) -> str:
    """The study's name as a directory's."""
    kept = "".join(c if c.isalnum() or c in "-_." else "-" for c in name).strip("-.")
    return kept or "study"
