"""Answers from small recordings, really simulated."""

from trimtab.model.recorded.recording import ClusterRecording
from trimtab.study.execution.tasks import Task, run_task
from trimtab.study.recorded.answer import conclude
from trimtab.study.recorded.outputs import winning_policy
from trimtab.study.recorded.questions import WhatifOptions, policy_in_use, ready_questions
from trimtab.study.recorded.replay import replay, verdict
from trimtab.study.recorded.report import WhatifPage
from trimtab.study.results.record import FullChunk, decode


def a_whatif(
    recording: ClusterRecording, asked: WhatifOptions, *, runs: int = 2, title: str = "my.trimtab"
) -> WhatifPage:
    """Everything that `trimtab whatif` finds."""
    mine = policy_in_use(recording)
    questions = ready_questions(recording, mine, asked)
    seeds = tuple(range(runs))
    chunks = [decode(run_task(Task(q.name, q.spec, seeds)), FullChunk) for q in questions]
    trust = replay(recording)
    answer = conclude(questions, chunks, trust, mine)
    winner = next(q.spec for q in questions if q.name == answer.winner)
    won = winning_policy(mine, winner)
    return WhatifPage(title, recording, questions, chunks, answer, verdict(trust), won)
