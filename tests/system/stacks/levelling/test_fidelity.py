"""The lab is predicted: each cycle from what was recorded just before it, and a whole run by
what-ifs on a recording of the lab."""

import pytest

from builders.labs.loops import ONE_HOT_NODE, LoopLab
from builders.labs.round_trip import (
    RecordedRun,
    play_and_record,
    predicted,
    sampling_error,
)
from builders.worlds.fidelity import doing_nothing
from trimtab.fidelity.lab import LabRunOrder
from trimtab.fidelity.runs import RunFigures, figures_of_lab, interval
from trimtab.fidelity.verdict import judge_steps
from trimtab.model.recorded.cleaning import recorded_moves
from trimtab.model.scenarios.io import load_scenario
from trimtab.policy.file.default import DEFAULT_POLICY
from trimtab.scores import find_score
from trimtab.study.recorded.replay import replay

pytestmark = pytest.mark.engines
ORDER = LabRunOrder(
    scenario=load_scenario(ONE_HOT_NODE),
    score=find_score("linear_amplified_ippd_k3"),
    policy=DEFAULT_POLICY,
    cycles=12,
)


@pytest.fixture(scope="module")
def played(shared: LoopLab, tmp_path_factory: pytest.TempPathFactory) -> RecordedRun:
    shared.lab.await_ready()
    return play_and_record(shared, ORDER, tmp_path_factory.mktemp("recorded"))


def test_every_cycle_of_a_hot_node_is_predicted(played: RecordedRun) -> None:
    """Everything is predicted; neither nothing nor another score would have been."""
    run = played.run
    verdict = judge_steps(run, find_score(run.score))
    print(
        f"\n{run.scenario}: {len(verdict.steps)} cycles, {verdict.evictions} evictions, "
        f"{verdict.scores} scores, largest error {verdict.largest_error:.1e}, "
        f"{verdict.late_scrapes} late scrapes, {verdict.unsure} unsure"
    )
    assert verdict.problems == ()
    assert not judge_steps(run, find_score(run.score), doing_nothing).passed
    wrong = judge_steps(run, find_score("pressure_focused"))
    assert not wrong.passed
    assert any(step.wrong_usage for step in wrong.steps)


def test_a_recording_of_a_lab_at_rest_is_replayed_to_what_the_exporter_said(
    played: RecordedRun,
) -> None:
    found = replay(played.before)
    print(f"\nat rest: {found.cpu_mean:.2g} points of CPU, {found.memory_mean:.2g} of memory")
    assert found.trusted
    assert found.cpu_p95 < 0.01
    assert found.memory_mean < 0.01


def test_a_recording_of_a_lab_that_levels_is_replayed_within_the_sampling_error(
    played: RecordedRun,
) -> None:
    found, bound = replay(played.during), sampling_error(played.during)
    print(
        f"\nwhile it levels: {found.cpu_mean:.2f} points of CPU, 95 % below {found.cpu_p95:.1f}; "
        f"moves explain up to {bound:.2f}"
    )
    assert bound > 0.1, "nothing moved"
    assert found.trusted
    assert found.cpu_mean < bound + 0.05


def test_a_recording_of_a_lab_has_the_migrations_behind_its_moves(played: RecordedRun) -> None:
    manifest = played.during.manifest
    done = [each for each in manifest.migrations if each.phase == "Succeeded"]
    moves = recorded_moves(played.during.placement)
    assert moves
    assert {(manifest.vms[vm], manifest.nodes[target]) for _, vm, _, target in moves} <= {
        (each.vm, each.target) for each in done
    }
    assert {each.by for each in done} == {"eviction"}
    assert all(each.asked <= (each.ended or 0.0) for each in done)


def test_what_a_lab_does_next_is_what_a_what_if_on_its_recording_predicts(
    played: RecordedRun, shared: LoopLab
) -> None:
    """One run proves little by statistics: the limits are wide, and doing nothing is beyond."""
    interval_s = played.run.interval_s * played.run.scale
    lab = figures_of_lab(played.run, ORDER.cycles)
    settings = predicted(played, ORDER, interval_s)
    nothing = predicted(played, ORDER, interval_s, score=None)
    print(f"\nlab {lab}\npredicted {_ranges(settings)}")
    assert agrees(lab, settings)
    assert not agrees(lab, nothing)


def agrees(lab: RunFigures, simulated: list[RunFigures]) -> bool:
    """Whether evictions and level are within twice of what the simulator predicts."""
    ranges = _ranges(simulated)
    evictions, deviation = ranges["evictions"], ranges["deviation"]
    return (
        evictions[0] / 2 <= lab.evictions <= evictions[1] * 2
        and lab.deviation <= deviation[1] * 2 + 0.01
    )


def _ranges(simulated: list[RunFigures]) -> dict[str, tuple[float, float]]:
    return {
        name: interval([float(getattr(each, name)) for each in simulated])
        for name in RunFigures.__struct_fields__
    }
