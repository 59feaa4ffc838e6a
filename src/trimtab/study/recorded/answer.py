"""From runs to an answer: what to change, what it brings, what it costs, how sure that is.

How settings are compared, and when one counts as better: `certainty`.
"""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from trimtab.model.duration import format_duration
from trimtab.model.scenarios.scenario import Scenario
from trimtab.study.recorded.certainty import (
    CHANCE,
    FEWEST,
    RANGE,
    WEIGHTS,
    Interval,
    Measured,
    Sureness,
    Versus,
    beside_mine,
    interval,
)
from trimtab.study.recorded.questions import BALANCER, MINE, NOTHING, PolicyInUse, Question
from trimtab.study.recorded.replay import Replay
from trimtab.study.results.record import FullChunk
from trimtab.study.results.statistics import Floats

MIGRATIONS = "migrations "


class QuestionResult(Struct, frozen=True, rename="camel"):
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
    """VMs that were still on the drained node at the end of the first run."""
    fixed: int = 0
    """Of those, the VMs that cannot migrate; the others find no node that takes them."""
    homeless: int = 0
    """VMs that ran nowhere at the end of the first run: no node takes them."""


class WhatifAnswer(Struct, frozen=True, rename="camel"):
    """Everything that `trimtab whatif` found."""

    replay: Replay
    words: tuple[str, ...]
    winner: str
    """The setting to use: another than the policy in use only if it came out better."""
    sureness: Sureness
    lines: tuple[QuestionResult, ...]
    beside: tuple[Versus, ...] = ()
    """The other settings beside the policy in use."""
    runs: int = 0
    days: int = 0
    notes: tuple[str, ...] = ()


def line_of(question: Question, runs: FullChunk) -> QuestionResult:
    """The figures of one question."""
    scenario = question.spec.scenario
    figures = _figures_of([runs], [len(scenario.vms)])
    per_vm = figures.migrations[0]
    line = QuestionResult(
        question.name,
        question.said,
        interval(figures.level[0]),
        interval(_table(runs, "overload")),
        interval(per_vm * len(scenario.vms)),
        float(figures.unserved[0].mean()),
        interval(figures.costs(WEIGHTS)[0]),
        sum(error.startswith("cycle") for run in runs.runs for error in run.errors),
        homeless=_homeless(scenario, runs),
    )
    drained = [event.name for event in scenario.events if event.what == "drain"]
    return _with_drain(line, scenario, runs, drained[0]) if drained else line


def _homeless(scenario: Scenario, runs: FullChunk) -> int:
    gone = {event.name for event in scenario.events if event.what == "depart"}
    after = zip(scenario.vms, runs.picture.after, strict=True)
    return sum(node < 0 and vm.name not in gone for vm, node in after)


def _with_drain(
    line: QuestionResult, scenario: Scenario, runs: FullChunk, node: str
) -> QuestionResult:
    """How long the drain took in the first run, and who is left."""
    moves = [move for move in runs.runs[0].moves if move.source == node]
    ended = [move.ended_s for move in moves if move.outcome == "succeeded" and move.ended_s]
    number = [each.name for each in scenario.nodes].index(node)
    after = zip(scenario.vms, runs.picture.after, strict=True)
    left = [vm for vm, place in after if place == number]
    fixed = sum(not vm.can_migrate for vm in left)
    return replace(line, drained_s=max(ended, default=0.0), stayed=len(left), fixed=fixed)


def _figures_of(chunks: Sequence[FullChunk], vms: Sequence[int]) -> Measured:
    moves = [_table(chunk, "migrations") / max(n, 1) for chunk, n in zip(chunks, vms, strict=True)]
    return Measured(
        np.array([_table(chunk, "level") for chunk in chunks]),
        np.array([_table(chunk, "unserved") for chunk in chunks]),
        np.array(moves),
    )


def _table(chunk: FullChunk, figure: str) -> Floats:
    """(runs, days) of one figure."""
    return np.array([[getattr(day, figure) for day in run.days] for run in chunk.runs])


def conclude(
    questions: Sequence[Question],
    chunks: Sequence[FullChunk],
    replay: Replay,
    mine: PolicyInUse,
) -> WhatifAnswer:
    """The lines, the winner and the words."""
    pairs = list(zip(questions, chunks, strict=True))
    lines = {question.name: line_of(question, chunk) for question, chunk in pairs}
    compared = [
        (question, chunk)
        for question, chunk in pairs
        if question.is_choice or question.name in (NOTHING, BALANCER)
    ]
    names = [question.name for question, _ in compared]
    measured = _figures_of(
        [chunk for _, chunk in compared], [len(q.spec.scenario.vms) for q, _ in compared]
    )
    beside = beside_mine(names, measured, names.index(MINE))
    winner, sureness = choose(beside, [q.name for q in questions if q.is_choice])
    found = WhatifAnswer(
        replay, (), winner, sureness, tuple(lines.values()), beside,
        measured.level.shape[1], measured.level.shape[2], mine.notes,
    )  # fmt: skip
    return replace(found, words=tuple(words_of(found, len(measured.level) - 1)))


def choose(beside: Sequence[Versus], choices: Sequence[str]) -> tuple[str, Sureness]:
    """Of the settings that are surely better the cheapest; else of those on the recorded time."""
    for sureness in ("days", "runs"):
        able = [v for v in beside if v.sureness == sureness and v.name in choices]
        if able:
            return min(able, key=lambda v: v.difference[0]).name, able[0].sureness
    return MINE, "none"


def words_of(found: WhatifAnswer, tried: int) -> list[str]:
    """What to do first, then what else was asked, then how sure it is and what would change it."""
    lines = {line.name: line for line in found.lines}
    beside = {versus.name: versus for versus in found.beside}
    return [
        *_advice(found, lines, beside, tried),
        *_others(lines, beside),
        *_certainty(found, beside, tried),
        *_doubts(found, beside),
    ]


def _advice(
    found: WhatifAnswer, lines: dict[str, QuestionResult], beside: dict[str, Versus], tried: int
) -> list[str]:
    winner = lines[found.winner]
    if found.sureness == "days":
        told = [f"Change to {winner.name}: {_figures(winner)}.", f"Today: {_figures(lines[MINE])}."]
    elif found.sureness == "runs":
        told = [
            f"Of {_count(tried, 'other setting')} nothing is surely better than your policy: the "
            f"recording has fewer than {FEWEST} days, which it takes to tell a better setting from "
            "a lucky day.",
            f"On the recorded time {winner.name} came out better: {_figures(winner)}.",
            f"Your policy: {_figures(lines[MINE])}.",
        ]
    else:
        told = [f"Keep your policy: of {_count(tried, 'other setting')} nothing is surely better."]
        choices = [v for v in beside.values() if v.name not in (NOTHING, BALANCER)]
        closest = min(choices, key=lambda v: v.difference[0], default=None)
        if closest is not None and closest.difference[0] < 0:
            told.append(f"Closest is {closest.name}: {_figures(lines[closest.name])}.")
        told.append(f"Your policy: {_figures(lines[MINE])}.")
    return told


def _others(lines: dict[str, QuestionResult], beside: dict[str, Versus]) -> list[str]:
    told = []
    for name, title in ((NOTHING, "Doing nothing"), (BALANCER, "trimtab's balancer instead")):
        if name in beside:
            than = than_mine(beside[name])
            told.append(f"{title}: {_figures(lines[name])}; {than}.")
    mine = lines[MINE]
    for line in lines.values():
        if line.drained_s is not None:
            told.append(
                f"To {line.name} takes {format_duration(round(line.drained_s))}{_left(line)}."
            )
        elif line.name.startswith(MIGRATIONS):
            most = line.name.removeprefix(MIGRATIONS)
            told.append(f"With at most {most} migrations at a time: {_figures(line)}.")
        elif line.name == "one node fewer" or line.name.endswith("% load"):
            worse = line.overload[0] > mine.overload[0] + 0.1
            word = "is too much" if worse or line.homeless > mine.homeless else "is carried"
            none = f"; {_count(line.homeless, 'VM')} would find no node" if line.homeless else ""
            told.append(f"{line.name.capitalize()} {word}: {_figures(line)}{none}.")
    return told


def _left(line: QuestionResult) -> str:
    """Who stays on a drained node, and why."""
    found = []
    if line.fixed:
        found.append(f"; {_count(line.fixed, 'VM')} cannot migrate")
    if line.stayed > line.fixed:
        found.append(f"; no other node takes {_count(line.stayed - line.fixed, 'VM')}")
    return "".join(found)


def than_mine(versus: Versus) -> str:
    """How sure it is, in words."""
    match versus.sureness:
        case "days":
            return "surely better than your policy"
        case "runs":
            return "better than your policy on the recorded time"
        case _ if versus.difference[1] > 0:
            return "worse than your policy"
    return "not to be told apart from your policy"


def _certainty(found: WhatifAnswer, beside: dict[str, Versus], tried: int) -> list[str]:
    """What the statistics carry, in words."""
    runs, days = _count(found.runs, "run"), _count(found.days, "day")
    versus = beside.get(found.winner)
    if found.sureness == "days" and versus is not None and versus.days_p is not None:
        told = (
            f"How sure: were none of the {tried} settings better, the best would look like this "
            f"in {_percent(versus.runs_p)} of cases by the luck of {runs} and in "
            f"{_percent(versus.days_p)} by the luck of {days}."
        )
    elif found.sureness == "runs" and versus is not None:
        told = (
            f"How sure: of the recorded time only; by the luck of {runs} the best of {tried} "
            f"settings that are no better would look like this in {_percent(versus.runs_p)} of "
            "cases."
        )
    else:
        told = (
            f"How sure: {runs} of each setting on {days}; a setting counts as better if luck "
            f"would bring forth a best one like it in less than {_percent(CHANCE)} of cases."
        )
    return [told, *_too_few(found)]


def _too_few(found: WhatifAnswer) -> list[str]:
    told = []
    if found.runs < FEWEST:
        told.append(f"With {_count(found.runs, 'run')} luck cannot be told: --seeds 8 or more.")
    if found.days < FEWEST and found.sureness != "runs":
        told.append(
            f"With fewer than {FEWEST} days nothing can be said of other days: record {FEWEST} or "
            "more."
        )
    return told


def _doubts(found: WhatifAnswer, beside: dict[str, Versus]) -> list[str]:
    replay = found.replay
    off = "not known" if np.isnan(replay.cpu_mean) else f"{replay.cpu_mean:.1f} points of CPU"
    versus = beside.get(found.winner)
    told = ["What would change it: rules that the simulator does not know (pod affinity, topology "]
    told[0] += f"spread, devices, volumes), other loads than recorded. The replay's error is {off}."
    weights = (
        f"Weights: {WEIGHTS.unserved:g} points for a percent of demand that is not served, "
        f"{WEIGHTS.migration:g} for a migration of every VM in a day"
    )
    if versus is None:
        return [*told, f"{weights}; better means at a third and at three times of both."]
    bound = (
        f"; it would turn at {versus.break_even:.3g} for the migrations"
        if versus.break_even is not None
        else "; no weight of migrations turns it"
    )
    return [
        *told,
        f"{weights}; the answer holds from 1/{RANGE:g} to {RANGE:g} times of both{bound}.",
    ]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"


def _figures(line: QuestionResult) -> str:
    return (
        f"nodes {_between(line.level, 1)} points from level, {_between(line.overload, 1)} "
        f"node-hours of overload and {_between(line.migrations)} migrations a day"
    )


def _between(value: Interval, digits: int = 0) -> str:
    mean, low, high = (f"{each:.{digits}f}" for each in value)
    return mean if low == high else f"{mean} ({low} to {high})"
