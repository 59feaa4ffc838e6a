"""`trimtab whatif`: which setting suits the recorded cluster, and what would become of it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from trimtab.cli.common.examples import examples
from trimtab.cli.common.output import Flag, Json, emit
from trimtab.cli.common.output_files import check_directory, writing
from trimtab.cli.record.lines import show_answer, show_replay_verdict
from trimtab.cli.sim.options import policy_text
from trimtab.errors import ConfigError
from trimtab.model.duration import parse_duration
from trimtab.model.recorded.archive import read_recording
from trimtab.view.terminal import err, progress

if TYPE_CHECKING:
    from trimtab.study.execution.engines import Engine
    from trimtab.study.recorded.answer import Answer
    from trimtab.study.recorded.questions import PolicyInUse, Question
    from trimtab.study.results.record import FullChunk

MOST_SEEDS = 100

app = App(
    name="whatif",
    help="Ask what would become of a recorded cluster under other settings.",
    help_epilogue=examples(
        "trimtab whatif my.trimtab",
        "trimtab whatif my.trimtab -o answer",
        "trimtab whatif my.trimtab --drain worker-7 --more 3 --growth 1.5",
        "trimtab whatif my.trimtab --policy new-policy.yaml --no-sweep",
        "trimtab whatif my.trimtab --json | jq .words",
    ),
)


@app.default
def whatif(
    file: Path,
    /,
    *,
    policy: Path | None = None,
    more: int = 1,
    drain: str = "",
    growth: float = 1.2,
    sweep: Annotated[bool, Parameter(negative="--no-sweep")] = True,
    balancer: Flag = False,
    interval: str = "5m",
    seeds: int = 5,
    jobs: int | None = None,
    scheduler: str | None = None,
    out: Annotated[Path | None, Parameter(name=("--out", "-o"))] = None,
    json: Json = False,
) -> int:
    """Simulate ready-made questions on a recording and answer in words, then in a table.

    The replay's verdict stands on top. Asked is: nothing, the policy in use, other scores,
    thresholds and limits, one node fewer, more nodes, more load, and a drain if a node is
    named. Exits with 1 if the recording is not to be trusted.

    Parameters
    ----------
    file
        A recording, written by `trimtab record`.
    policy
        A policy file instead of the recorded one.
    more
        How many nodes more; 0 leaves the question out.
    drain
        A node to drain at the beginning.
    growth
        How many times the recorded CPU load, for the question about more load.
    sweep
        Compare other scores, thresholds and limits with the policy in use.
    balancer
        Ask also what trimtab's planner would do; it may take long.
    interval
        Time between two descheduling cycles.
    seeds
        Runs of each question; they differ in what is left to chance.
    jobs
        Processes at a time. Default: all cores.
    scheduler
        Address of a Dask scheduler that runs the simulations.
    out
        A directory for answer.json, policy.yaml and, where there is one, the patch of
        OpenShift's KubeDescheduler.
    """
    from trimtab.study.recorded.answer import conclude
    from trimtab.study.recorded.questions import Asked, policy_in_use, ready_questions
    from trimtab.study.recorded.replay import replay

    _check(more, growth, seeds)
    if out is not None:
        check_directory(out, "--out")
    asked = Asked(more, drain, growth, parse_duration(interval, "--interval"), sweep, balancer)
    recording = read_recording(file)
    mine = policy_in_use(recording, policy_text(policy))
    questions = ready_questions(recording, mine, asked)
    with progress("replay"):
        trust = replay(recording)
    if not json:
        show_replay_verdict(trust)
    chunks = _simulated(questions, tuple(range(seeds)), _engine(jobs, scheduler))
    answer = conclude(questions, chunks, trust, mine)
    emit(answer, json, show_answer)
    if out is not None:
        _write(out, answer, questions, mine)
    return 0 if trust.trusted else 1


def _check(more: int, growth: float, seeds: int) -> None:
    if not 0 <= more <= 1000:
        raise ConfigError(f"--more {more}: must be within 0..1000")
    if not 0 < growth <= 100:
        raise ConfigError(f"--growth {growth:g}: must be above 0 and at most 100, e.g. 1.2")
    if not 1 <= seeds <= MOST_SEEDS:
        raise ConfigError(f"--seeds {seeds}: must be within 1..{MOST_SEEDS}")


def _engine(jobs: int | None, scheduler: str | None) -> "Engine":
    from trimtab.study.execution.engines import Engine, cores, threads_of

    if jobs is not None and jobs < 1:
        raise ConfigError("--jobs: must be at least 1")
    if scheduler is not None:
        return Engine(workers=jobs or threads_of(scheduler) or 1, scheduler=scheduler)
    return Engine(workers=jobs or cores())


def _simulated(
    questions: "list[Question]", seeds: tuple[int, ...], engine: "Engine"
) -> "list[FullChunk]":
    from trimtab.study.execution.engines import execute
    from trimtab.study.execution.tasks import Task
    from trimtab.study.results.record import FullChunk, decode

    tasks = [Task(each.name, each.spec, seeds) for each in questions]
    found: dict[str, FullChunk] = {}
    with progress("simulate", len(tasks)) as steps:

        def done(task: Task, data: bytes) -> None:
            found[task.cell] = decode(data, FullChunk)
            steps.advance()
            steps.note(f"{len(found)} of {len(tasks)} questions")

        execute(tasks, engine, done)
    return [found[each.name] for each in questions]


def _write(out: Path, answer: "Answer", questions: "list[Question]", mine: "PolicyInUse") -> None:
    import msgspec

    from trimtab.files.writing import write_whole
    from trimtab.study.recorded.outputs import kubedescheduler_patch, winning_policy

    winner = next(each.spec for each in questions if each.name == answer.winner)
    files = {
        "answer.json": msgspec.json.format(msgspec.json.encode(answer), indent=2).decode(),
        "policy.yaml": winning_policy(mine, winner),
        "kubedescheduler-patch.yaml": kubedescheduler_patch(mine, winner) or "",
    }
    with writing(out, "--out"):
        out.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            if text:
                write_whole(out / name, text)
            else:
                (out / name).unlink(missing_ok=True)  # of an earlier answer
    err.print(f"written to {out}: {', '.join(name for name, text in files.items() if text)}")
    if files["kubedescheduler-patch.yaml"]:
        err.print(
            "apply it: oc -n openshift-kube-descheduler-operator patch kubedescheduler cluster "
            f"--type merge --patch-file {out / 'kubedescheduler-patch.yaml'}",
            markup=False,
        )
