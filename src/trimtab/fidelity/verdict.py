"""The verdict: does the lab do what trimtab predicts, step by step and as a whole? Pure.

A verdict on a run in which little happened would say little, so such a run fails too.
"""

from collections.abc import Sequence

from msgspec import Struct

from trimtab.fidelity.recording import LabRun
from trimtab.fidelity.runs import Range
from trimtab.fidelity.scores import TOLERANCE, evaluations
from trimtab.fidelity.steps import ComparedCycle, Decide, by_the_rules, compare
from trimtab.scores import Score

FEWEST_EVICTIONS = 10
ALL_CLASSES = frozenset(("underutilized", "appropriate", "overutilized"))


class StepVerdict(Struct, frozen=True, kw_only=True):
    """A lab's run beside the predictions of its cycles."""

    scores: int
    """Scores of nodes compared with Prometheus'."""
    largest_error: float
    late_scrapes: int
    steps: tuple[ComparedCycle, ...]
    evictions: int
    kinds: tuple[str, ...]
    problems: tuple[str, ...]
    """Why it fails; empty if everything is right."""

    @property
    def passed(self) -> bool:
        return not self.problems

    @property
    def unsure(self) -> int:
        return sum(step.unsure for step in self.steps)


class Subject(Struct, frozen=True):
    """What was examined, and in which lab."""

    scenario: str
    score: str
    scale: float = 1.0
    reaction_s: float = 0.0
    """Lab seconds from an eviction until its migration began, as measured in the lab."""


class ScenarioVerdict(Struct, frozen=True, kw_only=True):
    """Everything about one scenario."""

    subject: Subject
    steps: tuple[StepVerdict, ...]
    """One for each run of the lab."""
    ranges: tuple[Range, ...] = ()
    seeds: int = 0
    problems: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return not self.problems


def judge_steps(run: LabRun, score: Score, decide: Decide = by_the_rules) -> StepVerdict:
    """Predict every cycle of a run."""
    scored = evaluations(run, score)
    steps = compare(run, scored, decide)
    kinds = {r.category for c in run.worked for each in c.runs for r in each.readings.values()}
    evictions = sum(step.evictions for step in steps)
    return StepVerdict(
        scores=len(scored.each) * len(scored.nodes),
        largest_error=scored.largest_error,
        late_scrapes=scored.late,
        steps=tuple(steps),
        evictions=evictions,
        kinds=tuple(sorted(kinds)),
        problems=(
            *_too_little(evictions, kinds),
            *scored.problems,
            *_score_problem(len(scored.each), scored.largest_error),
            *(text for step in steps for text in _step_problems(step)),
        ),
    )


def _too_little(evictions: int, kinds: set[str]) -> list[str]:
    found = []
    if evictions < FEWEST_EVICTIONS:
        found.append(f"only {evictions} evictions; a verdict needs {FEWEST_EVICTIONS}")
    if missing := sorted(ALL_CLASSES - kinds):
        found.append(f"no node was ever {' or '.join(missing)}")
    return found


def _score_problem(compared: int, error: float) -> list[str]:
    if not compared:
        return ["no score was recorded together with its whole window"]
    if not error <= TOLERANCE:
        return [f"scores differ from Prometheus' by up to {error:.3g}"]
    return []


def _step_problems(step: ComparedCycle) -> list[str]:
    where = f"cycle {step.number}: "
    found = []
    if step.wrong_usage:
        found.append(f"{where}percents of {', '.join(step.wrong_usage)} are not the predicted ones")
    if step.wrong_classes:
        found.append(f"{where}other classes for {', '.join(step.wrong_classes)}")
    if step.wrong_count:
        found.append(f"{where}{step.evictions} evictions are not the predicted number")
    if step.wrong_victims:
        found.append(f"{where}not the allowed victims: {', '.join(step.wrong_victims)}")
    return found


def judge(
    subject: Subject,
    steps: Sequence[StepVerdict],
    ranges: Sequence[Range] = (),
    seeds: int = 0,
) -> ScenarioVerdict:
    """All runs of one scenario together."""
    problems = [
        f"run {number}: {text}" for number, each in enumerate(steps, 1) for text in each.problems
    ]
    problems += [each.problem for each in ranges if not each.likely]
    return ScenarioVerdict(
        subject=subject,
        steps=tuple(steps),
        ranges=tuple(ranges),
        seeds=seeds,
        problems=tuple(problems),
    )
