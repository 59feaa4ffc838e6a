"""What options of a VirtPlatformConfig would do to a recorded cluster, beside its policy."""

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from trimtab.advisor.api import LoadAwareOptions
from trimtab.advisor.profiles.eviction_limits import DEFAULT_NODE, DEFAULT_TOTAL, thresholds
from trimtab.errors import ConfigError
from trimtab.model.recorded.recording import ClusterRecording
from trimtab.scores import find_score
from trimtab.sim.spec import RunSpec
from trimtab.study.recorded.answer import QuestionResult, conclude, than_mine
from trimtab.study.recorded.questions import (
    DEFAULT_SCORE,
    Question,
    first_questions,
    policy_in_use,
)
from trimtab.study.recorded.replay import replay, verdict
from trimtab.study.results.record import FullChunk

PLANNED = "this plan"
Simulate = Callable[[Sequence[Question]], Sequence[FullChunk]]


class Effect(Struct, frozen=True, rename="camel"):
    """The predicted effect of a plan."""

    trusted: bool
    verdict: str
    """The replay's, in words."""
    words: str
    """How the plan compares with today."""
    lines: tuple[QuestionResult, ...]
    """Nothing, the recorded policy and the plan."""
    notes: tuple[str, ...] = ()


def predicted_effect(
    recording: ClusterRecording, options: LoadAwareOptions, simulate: Simulate
) -> Effect:
    """Replay the recording, then simulate nothing, the recorded policy and the options on it."""
    mine, trust = policy_in_use(recording), replay(recording)
    interval_s = float(max(1, options.descheduling_interval_seconds))
    nothing, today = first_questions(recording, mine, interval_s)
    spec = with_options(today.spec, options)
    planned = Question(PLANNED, "the options of the plan", spec, is_choice=True)
    questions = [nothing, today, planned]
    answer = conclude(questions, simulate(questions), trust, mine)
    versus = next(each for each in answer.beside if each.name == PLANNED)
    return Effect(
        trust.trusted,
        verdict(trust),
        f"On this recording the plan is {than_mine(versus)}.",
        answer.lines,
        (*trust.why, *trust.claims, *mine.notes, *_notes(options)),
    )


def with_options(base: RunSpec, options: LoadAwareOptions) -> RunSpec:
    """The run that the options ask for; Predictive moves nothing."""
    low, high = thresholds(options.dev_deviation_thresholds)
    try:
        score = find_score(options.algorithm).name if options.algorithm else DEFAULT_SCORE
    except ConfigError as error:
        raise ConfigError(f"options.loadAware.algorithm: {error}") from error
    total = DEFAULT_TOTAL if options.eviction_limit_total is None else options.eviction_limit_total
    node = DEFAULT_NODE if options.eviction_limit_node is None else options.eviction_limit_node
    return replace(
        base,
        score=None if options.mode == "Predictive" else score,
        thresholds=(float(low), float(high)),
        limits=(total, min(node, total)),
    )


def _notes(options: LoadAwareOptions) -> list[str]:
    notes = []
    if options.mode == "Predictive":
        notes.append("mode Predictive only simulates: no VM moves")
    if options.eviction_limit_total is None or options.eviction_limit_node is None:
        notes.append(
            f"limits that the options leave to HyperConverged count as {DEFAULT_TOTAL} in all "
            f"and {DEFAULT_NODE} a node"
        )
    return notes
