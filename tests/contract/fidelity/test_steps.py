"""The verdict on fidelity: right for a run by the rules, wrong for anything else."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from builders.worlds.fidelity import SCORE, a_pod, a_run, doing_nothing
from trimtab.fidelity.recording import LabRun, PodVersion, RecordedSeries, moment
from trimtab.fidelity.verdict import Subject, judge, judge_steps
from trimtab.observe.descheduler_log import LoggedCycle, LoggedPod
from trimtab.policy.cycle import PodOutcome
from trimtab.policy.file.settings import METRIC_RESOURCE
from trimtab.scores import find_score

RIGHT = find_score(SCORE)


def test_a_run_by_the_rules_is_predicted_whatever_chance_chose() -> None:
    for seed in range(3):
        verdict = judge_steps(a_run(seed), RIGHT)
        assert verdict.problems == ()
        assert (verdict.evictions, len(verdict.steps), verdict.unsure) == (16, 8, 0)
        assert verdict.largest_error == 0


def test_predicting_nothing_fails() -> None:
    verdict = judge_steps(a_run(), RIGHT, doing_nothing)
    assert not verdict.passed
    assert all(step.wrong_count for step in verdict.steps)
    assert not any(step.wrong_classes for step in verdict.steps)


@pytest.mark.parametrize("other", ["memory_focused", "euclidean_distance", "max_metric"])
def test_another_algorithm_fails(other: str) -> None:
    verdict = judge_steps(a_run(), find_score(other))
    assert verdict.largest_error > 0.01
    assert any(step.wrong_usage for step in verdict.steps)
    assert not verdict.passed


def in_cycle(run: LabRun, number: int, change: Callable[[LoggedCycle], LoggedCycle]) -> LabRun:
    cycles = list(run.cycles)
    cycles[number] = change(cycles[number])
    return replace(run, cycles=tuple(cycles))


def with_notes(cycle: LoggedCycle, *notes: LoggedPod) -> LoggedCycle:
    (run,) = cycle.runs
    (source,) = run.sources
    return replace(cycle, runs=(replace(run, sources=(replace(source, notes=notes),)),))


def another_class(cycle: LoggedCycle) -> LoggedCycle:
    (run,) = cycle.runs
    readings = run.readings | {"n2": replace(run.readings["n2"], category="overutilized")}
    return replace(cycle, runs=(replace(run, readings=readings),))


def another_percent(cycle: LoggedCycle) -> LoggedCycle:
    (run,) = cycle.runs
    readings = run.readings | {"n3": replace(run.readings["n3"], usage={METRIC_RESOURCE: "21"})}
    return replace(cycle, runs=(replace(run, readings=readings),))


def one_victim_less(cycle: LoggedCycle) -> LoggedCycle:
    return with_notes(cycle, *list(cycle.notes)[:1])


def one_victim_more(cycle: LoggedCycle) -> LoggedCycle:
    return with_notes(cycle, *cycle.notes, LoggedPod(PodOutcome.BACKGROUND, "default/vm-39"))


def a_victim_of_another_node(cycle: LoggedCycle) -> LoggedCycle:
    first, _ = cycle.notes
    return with_notes(cycle, first, LoggedPod(PodOutcome.BACKGROUND, "default/vm-100"))


def a_victim_twice(cycle: LoggedCycle) -> LoggedCycle:
    first, _ = cycle.notes
    return with_notes(cycle, first, first)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param(another_class, "other classes for n2", id="a class"),
        pytest.param(another_percent, "percents of n3", id="a percent"),
        pytest.param(one_victim_less, "1 evictions are not", id="one victim less"),
        pytest.param(one_victim_more, "3 evictions are not", id="one victim more"),
        pytest.param(a_victim_of_another_node, "vm-100", id="a victim of another node"),
        pytest.param(a_victim_twice, "not the allowed victims", id="a victim twice"),
    ],
)
def test_a_cycle_that_is_not_as_predicted_is_named(
    change: Callable[[LoggedCycle], LoggedCycle], words: str
) -> None:
    run = a_run()
    elsewhere = PodVersion(run.pods[0].at, a_pod(100, "n3"))
    verdict = judge_steps(in_cycle(replace(run, pods=(elsewhere, *run.pods)), 3, change), RIGHT)
    about = [text for text in verdict.problems if text.startswith("cycle 3: ")]
    assert any(words in text for text in about), verdict.problems
    assert [step.right for step in verdict.steps[:3]] == [True] * 3


def test_a_pod_that_was_evicted_before_it_was_gone_is_no_victim_again() -> None:
    """What is in flight counts against the limits, so such a cycle evicts less."""
    run = a_run()
    staying = tuple(change for change in run.pods if not change.gone)
    verdict = judge_steps(replace(run, pods=staying), RIGHT)
    assert verdict.steps[0].right
    assert all(step.wrong_count for step in verdict.steps[1:])


def test_a_change_heard_just_after_the_cycle_began_may_have_been_seen() -> None:
    run = a_run()
    began = moment(run.cycles[1].began)
    late = [
        replace(change, at=began + 0.3) if change.at < began and change.gone else change
        for change in run.pods
    ]
    verdict = judge_steps(replace(run, pods=tuple(sorted(late, key=lambda c: c.at))), RIGHT)
    assert verdict.problems == ()
    assert verdict.steps[1].unsure
    assert verdict.unsure == 1


def test_a_cycle_that_failed_is_explained_by_a_missing_result_alone() -> None:
    run = a_run()
    failed = in_cycle(run, 3, lambda cycle: replace(cycle, runs=(), errors=("no metric entry",)))
    assert "percents of n1" in judge_steps(failed, RIGHT).problems[0]
    began = moment(run.cycles[3].began)
    gap = {node: without(course, began - 4.0, began) for node, course in run.scores.items()}
    verdict = judge_steps(replace(failed, scores=gap), RIGHT)
    assert [text for text in verdict.problems if text.startswith("cycle 3")] == []
    assert verdict.steps[3].unsure


def without(course: RecordedSeries, start: float, end: float) -> RecordedSeries:
    kept = [at for at, time in enumerate(course.times) if not start < time <= end]
    return RecordedSeries(
        tuple(course.times[at] for at in kept), tuple(course.values[at] for at in kept)
    )


def test_inputs_that_no_scrape_explains_are_named() -> None:
    run = a_run()
    course = run.scrapes["cpu_usage"]["n1"]
    values = (*course.values[:20], 0.81, 0.81, *course.values[22:])
    scrapes = dict(run.scrapes)
    scrapes["cpu_usage"] = {**scrapes["cpu_usage"], "n1": RecordedSeries(course.times, values)}
    verdict = judge_steps(replace(run, scrapes=scrapes), RIGHT)
    assert [text for text in verdict.problems if "that of no scrape" in text]


def test_a_run_in_which_little_happened_proves_nothing() -> None:
    run = a_run()
    verdict = judge_steps(replace(run, cycles=run.cycles[:4]), RIGHT)
    assert verdict.problems == ("only 8 evictions; a verdict needs 10",)


def test_the_verdict_on_several_runs_names_the_run() -> None:
    good = judge_steps(a_run(), RIGHT)
    bad = judge_steps(a_run(), RIGHT, doing_nothing)
    verdict = judge(Subject("by hand", SCORE), [good, bad])
    assert not verdict.passed
    assert {text.partition(":")[0] for text in verdict.problems} == {"run 2"}
    assert judge(Subject("by hand", SCORE), [good, good]).passed
