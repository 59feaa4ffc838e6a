"""`trimtab whatif`: which setting suits the recorded cluster, and what would become of it."""

from pathlib import Path

from cyclopts import App

from trimtab.cli.common.examples import examples
from trimtab.cli.common.output import Json, emit
from trimtab.cli.record.answer_files import write_files, write_pages
from trimtab.cli.record.options import AnswerOptions, QuestionOptions, RunOptions
from trimtab.cli.record.runs import engine_of, simulated
from trimtab.cli.simulation.sim.options import policy_text
from trimtab.view.terminal import progress

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
        write_files(files.out, file, answer, mine, winner)
    if pages:
        won = winning_policy(mine, winner)
        found = WhatifPage(file.name, recording, questions, chunks, answer, verdict(trust), won)
        write_pages(pages, render_whatif(found))
    return 0 if trust.trusted else 1
