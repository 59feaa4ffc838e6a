"""What `trimtab replay` and `trimtab whatif` print."""

import numpy as np

from trimtab.study.recorded.answer import QuestionResult, WhatifAnswer
from trimtab.study.recorded.certainty import Interval
from trimtab.study.recorded.replay import Replay, points_text, verdict
from trimtab.view.tables.pictures import Spark
from trimtab.view.terminal import out, show_table

NODES = 20
"""Lines of nodes; the worst of more."""


def show_replay(found: Replay) -> None:
    """The verdict, then the nodes with the largest errors."""
    _show_verdict(found)
    if not found.nodes:
        return
    out.print()
    worst = sorted(found.nodes, key=lambda node: -np.nan_to_num(node.cpu_mean))
    show_table(
        ["node", "CPU off by", "95 % below", "memory off by"],
        [
            [n.node, points_text(n.cpu_mean), points_text(n.cpu_p95), points_text(n.memory_mean)]
            for n in worst[:NODES]
        ],
        title="Replayed against measured, in points of the node",
        right=["CPU off by", "95 % below", "memory off by"],
    )
    show_table(
        ["", "CPU error of all nodes over time"],
        [["", Spark(np.nan_to_num(np.array(found.over_time)))]],
    )


def show_replay_verdict(found: Replay) -> None:
    """On top of an answer."""
    _show_verdict(found)
    out.print()


def _show_verdict(found: Replay) -> None:
    out.print(verdict(found), markup=False)
    for line in (*found.why, *found.claims):
        out.print(f"- {line}", markup=False)


def show_answer(answer: WhatifAnswer) -> None:
    """Words first, then the table."""
    for sentence in answer.words:
        out.print(sentence, markup=False)
    for note in answer.notes:
        out.print(f"Note: {note}.", markup=False)
    out.print()
    show_table(
        ["question", "level", "overload h/day", "unserved", "moves a day", "cost", "what it is"],
        [
            [
                _marked(line, answer.winner),
                f"{line.level[0]:.2f}",
                f"{line.overload[0]:.2f}",
                f"{line.unserved:.2f} %",
                _between(line.migrations),
                _between(line.cost, 2),
                line.said,
            ]
            for line in answer.lines
        ],
        right=["level", "overload h/day", "unserved", "moves a day", "cost"],
        drop=["what it is", "unserved", "cost"],
    )


def _marked(line: QuestionResult, winner: str) -> str:
    return f"{line.name} *" if line.name == winner else line.name


def _between(value: Interval, digits: int = 0) -> str:
    mean, low, high = (f"{each:.{digits}f}" for each in value)
    return mean if low == high else f"{mean} ({low}–{high})"
