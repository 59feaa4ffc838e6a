"""`trimtab whatif`: which setting suits the recorded cluster, and what would become of it."""

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from cyclopts import App

from trimtab.cli.common.output import Json, emit, examples
from trimtab.cli.common.output_files import writing
from trimtab.cli.record.options import AnswerOptions, QuestionOptions, RunOptions
from trimtab.cli.record.runs import simulated
from trimtab.cli.simulation.sim.options import policy_text
from trimtab.files.writing import write_whole
from trimtab.view.terminal import err, progress

if TYPE_CHECKING:
    from trimtab.sim.spec import RunSpec
    from trimtab.study.recorded.answer import WhatifAnswer
    from trimtab.study.recorded.questions import PolicyInUse

_QUESTIONS, _RUNS, _ANSWER = QuestionOptions(), RunOptions(), AnswerOptions()
app = App(
    name="whatif",
    help="Ask what would become of a recorded cluster under other settings.",
    help_epilogue=examples(
        "trimtab whatif my.trimtab",
        "trimtab whatif my.trimtab -o answer",
        "trimtab whatif my.trimtab --report my-cluster.html",
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
    about: QuestionOptions = _QUESTIONS,
    runs: RunOptions = _RUNS,
    files: AnswerOptions = _ANSWER,
    json: Json = False,
) -> int:
    """Simulate ready-made questions on a recording and answer in words, then in a table.

    The replay's verdict stands on top. Asked is: nothing, the policy in use, other scores,
    thresholds and limits, one node fewer, more nodes, more load, other limits on migrations, and
    a drain if a node is named. Exits with 1 if the recording is not to be trusted.

    Parameters
    ----------
    file
        A recording, written by `trimtab record`.
    """
    from trimtab.cli.record.lines import show_answer, show_replay_verdict
    from trimtab.model.recorded.archive import read_recording
    from trimtab.study.execution.engines import engine_of
    from trimtab.study.recorded.answer import conclude
    from trimtab.study.recorded.outputs import winning_policy
    from trimtab.study.recorded.questions import policy_in_use, ready_questions
    from trimtab.study.recorded.replay import replay, verdict
    from trimtab.study.recorded.report import WhatifPage, render_whatif

    asked, seeds, pages = about.asked(), runs.numbers(), files.pages()
    engine = engine_of(runs.jobs, runs.scheduler)
    recording = read_recording(file)
    mine = policy_in_use(recording, policy_text(about.policy))
    questions = ready_questions(recording, mine, asked)
    with progress("replay"):
        trust = replay(recording)
    if not json:
        show_replay_verdict(trust)
    chunks = simulated(questions, seeds, engine)
    answer = conclude(questions, chunks, trust, mine)
    emit(answer, json, show_answer)
    winner = next(each.spec for each in questions if each.name == answer.winner)
    if files.out is not None:
        _write_files(files.out, file, answer, mine, winner)
    if pages:
        won = winning_policy(mine, winner)
        found = WhatifPage(file.name, recording, questions, chunks, answer, verdict(trust), won)
        _write_pages(pages, render_whatif(found))
    return 0 if trust.trusted else 1


def _write_files(
    out: Path, recording: Path, answer: "WhatifAnswer", mine: "PolicyInUse", winner: "RunSpec"
) -> None:
    """answer.json and what won as files, and how to go on with them."""
    from trimtab.study.recorded.outputs import (
        kubedescheduler_patch,
        platform_config,
        winning_policy,
    )
    from trimtab.study.recorded.questions import MINE

    files = {
        "answer.json": msgspec.json.format(msgspec.json.encode(answer), indent=2).decode(),
        "policy.yaml": winning_policy(mine, winner),
        "kubedescheduler-patch.yaml": kubedescheduler_patch(mine, winner) or "",
        "virtplatformconfig.yaml": platform_config(mine, winner) or "",
    }
    with writing(out, "--out"):
        out.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            if text:
                write_whole(out / name, text)
            else:
                (out / name).unlink(missing_ok=True)  # of an earlier answer
    there = [name for name, text in files.items() if text]
    err.print(f"written to {out}: {', '.join(there)}")
    if answer.winner != MINE:  # else there is nothing to apply: the files hold what is there
        _say_how_to_apply(out, recording, there)


def _say_how_to_apply(out: Path, recording: Path, there: list[str]) -> None:
    patched = "kubedescheduler-patch.yaml" in there
    if patched:
        err.print(
            "apply it: oc -n openshift-kube-descheduler-operator patch kubedescheduler cluster "
            f"--type merge --patch-file {out / 'kubedescheduler-patch.yaml'}",
            markup=False,
        )
    if "virtplatformconfig.yaml" in there:
        err.print(
            f"{'or ' if patched else ''}preview it: trimtab advisor plan -f "
            f"{out / 'virtplatformconfig.yaml'} --recording {recording}",
            markup=False,
        )


def _write_pages(pages: list[Path], text: str) -> None:
    """The same page in each place."""
    for path in pages:
        with writing(path, "--report"):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, text)
        err.print(f"open it in a browser: {path.resolve().as_uri()}", markup=False)
