"""From runs to an answer: what to change, what it brings, what it costs, how sure that is.

Settings are compared by one number, in points of the nodes' CPU: how far the nodes are from
level, plus ten points for each percent of the CPU demand that is not served, plus one for a
migration of every VM in a day. A setting wins over the policy in use only if
it does so beyond the chance of the seeds.
"""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from trimtab.model.duration import format_duration
from trimtab.sim.outcome import ReportCard
from trimtab.study.recorded.questions import PolicyInUse, Question
from trimtab.study.recorded.replay import Replay
from trimtab.study.results.record import FullChunk
from trimtab.study.results.statistics import intervals, resampling

DAY_S = 86_400.0
UNSERVED_PRICE = 10.0
"""Points for a percent of the CPU demand that was not served."""
MOVE_PRICE = 1.0
"""Points for one migration of each VM in a day."""
Interval = tuple[float, float, float]


class Line(Struct, frozen=True, rename="camel"):
    """What one question came to: the mean over the seeds and the ends of its interval each."""

    name: str
    said: str
    level: Interval
    """Standard deviation of the nodes' CPU in points, over time."""
    overload: Interval
    """Node-hours above the whole in a day."""
    migrations: Interval
    """In a day."""
    unserved: float
    """Percent of the CPU demand that was not served."""
    cost: Interval
    errors: int = 0
    """Cycles in which the descheduler would have failed."""
    drained_s: float | None = None
    """Until the last VM that could leave had left."""
    stayed: int = 0
    """VMs that were still on the drained node."""


class Answer(Struct, frozen=True, rename="camel"):
    """Everything that `trimtab whatif` found."""

    replay: Replay
    words: tuple[str, ...]
    winner: str
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()


def costs_of(cards: Sequence[ReportCard], days: float, vms: int) -> list[float]:
    """The one number of each run."""
    return [
        100 * card.load_std_mean
        + UNSERVED_PRICE * 100 * card.degraded_vm_share
        + MOVE_PRICE * card.migrations / max(vms, 1) / days
        for card in cards
    ]


def line_of(question: Question, runs: FullChunk) -> Line:
    """The figures of one question."""
    cards = [run.card for run in runs.runs]
    scenario = question.spec.scenario
    days = scenario.duration_s / DAY_S
    line = Line(
        question.name,
        question.said,
        _interval([100 * card.load_std_mean for card in cards]),
        _interval([card.overload_node_seconds / 3600 / days for card in cards]),
        _interval([card.migrations / days for card in cards]),
        float(np.mean([100 * card.degraded_vm_share for card in cards])),
        _interval(costs_of(cards, days, len(scenario.vms))),
        sum(len(run.errors) for run in runs.runs),
    )
    drained = [event.name for event in scenario.events if event.what == "drain"]
    return _with_drain(line, runs, drained[0]) if drained else line


def _with_drain(line: Line, runs: FullChunk, node: str) -> Line:
    """How long the drain took in the first run, and who is left."""
    moves = [move for move in runs.runs[0].moves if move.source == node]
    ended = [move.ended_s for move in moves if move.outcome == "succeeded" and move.ended_s]
    gone = {move.vm for move in moves if move.outcome == "succeeded"}
    left = {move.vm for move in moves} - gone
    return Line(
        **{name: getattr(line, name) for name in line.__struct_fields__[:-2]},
        drained_s=max(ended, default=0.0),
        stayed=len(left),
    )


def _interval(values: Sequence[float]) -> Interval:
    row = np.array([values])
    if len(values) < 2:
        return (float(row.mean()),) * 3
    mean, low, high = intervals(row, resampling(len(values)))[0].tolist()
    return mean, low, high


def conclude(
    questions: Sequence[Question],
    chunks: Sequence[FullChunk],
    replay: Replay,
    mine: PolicyInUse,
) -> Answer:
    """The lines, the winner and the words."""
    lines = [line_of(question, chunk) for question, chunk in zip(questions, chunks, strict=True)]
    costs = {
        question.name: np.array(
            costs_of(
                [run.card for run in chunk.runs],
                question.spec.scenario.duration_s / DAY_S,
                len(question.spec.scenario.vms),
            )
        )
        for question, chunk in zip(questions, chunks, strict=True)
    }
    choices = [question.name for question in questions if question.is_choice]
    best = min(choices, key=lambda name: float(costs[name].mean()))
    sure = best != "my policy" and _interval((costs[best] - costs["my policy"]).tolist())[2] < 0
    winner = best if sure else "my policy"
    by_name = {line.name: line for line in lines}
    words = [*_advice(winner, best, by_name), *_others(by_name), *_doubts(replay, len(choices))]
    return Answer(replay, tuple(words), winner, tuple(lines), mine.notes)


def _advice(winner: str, best: str, lines: dict[str, Line]) -> list[str]:
    mine, nothing = lines["my policy"], lines["nothing"]
    if winner == "my policy":
        told = ["Keep your policy: of the settings that were tried none is surely better."]
        if best != winner:
            told.append(f"Closest is {best}: {_figures(lines[best])}.")
        told.append(f"Your policy: {_figures(mine)}.")
    else:
        told = [f"Change to {winner}: {_figures(lines[winner])}.", f"Today: {_figures(mine)}."]
    told.append(f"Doing nothing: {_figures(nothing)}.")
    if nothing.cost[0] <= min(mine.cost[0], lines[winner].cost[0]):
        told.append("Moves bring less than they cost here: doing nothing is as good or better.")
    return told


def _others(lines: dict[str, Line]) -> list[str]:
    told = []
    if "balancer" in lines:
        told.append(f"With trimtab's balancer instead: {_figures(lines['balancer'])}.")
    mine = lines["my policy"]
    for line in lines.values():
        if line.drained_s is not None:
            stay = f"; {line.stayed} VMs cannot leave" if line.stayed else ""
            told.append(f"To {line.name} takes {format_duration(round(line.drained_s))}{stay}.")
        elif line.name == "one node fewer" or line.name.endswith("% load"):
            worse = line.overload[0] > mine.overload[0] + 0.1
            word = "is too much" if worse else "is carried"
            told.append(f"{line.name.capitalize()} {word}: {_figures(line)}.")
    return told


def _doubts(replay: Replay, choices: int) -> list[str]:
    off = "not known" if np.isnan(replay.cpu_mean) else f"{replay.cpu_mean:.1f} points of CPU"
    return [
        f"How sure: {choices} settings were compared; intervals are of the chance in choosing "
        f"victims and nodes, on the loads as recorded. The replay's error is {off}.",
        "What would change it: rules that the simulator does not know (affinity, selectors, "
        "devices), other loads than recorded, another price for a migration.",
    ]


def _figures(line: Line) -> str:
    return (
        f"nodes {line.level[0]:.1f} points from level, {line.overload[0]:.1f} node-hours of "
        f"overload and {_between(line.migrations)} migrations a day"
    )


def _between(value: Interval) -> str:
    mean, low, high = value
    if round(low) == round(high):
        return f"{mean:.0f}"
    return f"{mean:.0f} ({low:.0f} to {high:.0f})"
