"""A recorded cluster in the simulator: replayed as it was, and asked what if."""

import numpy as np
import pytest
from msgspec.structs import replace

from builders.worlds.recordings import a_recording
from trimtab.errors import ConfigError
from trimtab.model.recorded.recording import ClusterRecording
from trimtab.model.scenarios.scenario import name_problems
from trimtab.sim import simulate_one
from trimtab.sim.spec import RunSpec, Timing
from trimtab.study.execution.tasks import Task, run_task
from trimtab.study.recorded.answer import Answer, conclude
from trimtab.study.recorded.outputs import kubedescheduler_patch, winning_policy
from trimtab.study.recorded.questions import Asked, policy_in_use, ready_questions
from trimtab.study.recorded.replay import replay
from trimtab.study.recorded.scenario import GROUND, recorded_scenario
from trimtab.study.results.record import FullChunk, decode


def with_a_move(recording: ClusterRecording, vm: int, moment: int, target: int) -> ClusterRecording:
    """The VM is on another node from a moment on, and its load with it."""
    placement = recording.placement.copy()
    node_cpu, node_memory = recording.node_cpu.copy(), recording.node_memory.copy()
    source = int(placement[0, vm])
    placement[moment:, vm] = target
    for table, load in ((node_cpu, recording.vm_cpu), (node_memory, recording.vm_memory)):
        table[moment:, source] -= load[moment:, vm]
        table[moment:, target] += load[moment:, vm]
    return replace(recording, placement=placement, node_cpu=node_cpu, node_memory=node_memory)


def test_the_scenario_has_valid_names_and_the_recorded_requests() -> None:
    scenario = recorded_scenario(a_recording())
    assert list(name_problems(scenario)) == []
    vms = [vm for vm in scenario.vms if not vm.name.startswith(GROUND)]
    assert len(vms) == 9
    assert {vm.cpu.milli_value() for vm in vms} == {2000}  # of which a tenth is requested
    assert {str(vm.memory) for vm in vms} == {"5Gi"}


def test_a_replay_of_what_was_recorded_is_exact() -> None:
    found = replay(a_recording())
    assert found.trusted
    assert found.cpu_mean < 0.01
    assert found.memory_mean < 0.01


def test_recorded_moves_are_replayed() -> None:
    found = replay(with_a_move(a_recording(), vm=0, moment=10, target=2))
    assert found.cpu_mean < 0.1
    assert max(found.over_time) < 1.0


def test_vms_that_come_and_go_do_so_in_a_replay() -> None:
    recording = a_recording()
    placement, node_cpu = recording.placement.copy(), recording.node_cpu.copy()
    placement[:6, 3] = -1
    placement[15:, 4] = -1
    for vm, away in ((3, slice(0, 6)), (4, slice(15, None))):
        node = int(recording.placement[0, vm])
        node_cpu[away, node] -= recording.vm_cpu[away, vm]
    found = replay(replace(recording, placement=placement, node_cpu=node_cpu))
    assert found.cpu_mean < 0.1


def test_load_that_no_vm_explains_and_that_changes_is_not_to_be_trusted() -> None:
    recording = a_recording()
    node_cpu = recording.node_cpu.copy()
    node_cpu[::2] += 4.0  # half of the time every node does something else with half of its cores
    found = replay(replace(recording, node_cpu=node_cpu))
    assert not found.trusted
    assert "points off" in found.why[0]


def test_without_node_loads_nothing_can_be_trusted() -> None:
    recording = a_recording()
    found = replay(replace(recording, node_cpu=np.full_like(recording.node_cpu, np.nan)))
    assert not found.trusted
    assert "cannot be checked" in found.why[0]


@pytest.mark.parametrize("victims", ["stock", "planned"])
def test_the_ground_load_never_moves(victims: str) -> None:
    scenario = recorded_scenario(a_recording(hot=2.0))
    spec = RunSpec(scenario, victims=victims, timing=Timing(descheduling_s=300))  # type: ignore[arg-type]
    outcome = simulate_one(spec, 1)
    assert outcome.moves
    assert not [move for move in outcome.moves if move.vm.startswith(GROUND)]


def test_vms_that_cannot_migrate_stay() -> None:
    recording = a_recording(hot=2.0)
    fixed = tuple(
        replace(vm, not_movable="it is not live-migratable: a local disk")
        for vm in recording.snapshot.vms
    )
    recording = replace(recording, snapshot=replace(recording.snapshot, vms=fixed))
    spec = RunSpec(recorded_scenario(recording), timing=Timing(descheduling_s=300))
    assert simulate_one(spec, 1).moves == ()


def answered(recording: ClusterRecording, **asked: object) -> Answer:
    mine = policy_in_use(recording)
    wanted = Asked(**{"sweep": False, **asked})  # type: ignore[arg-type]
    questions = ready_questions(recording, mine, wanted)
    chunks = [decode(run_task(Task(each.name, each.spec, (0, 1))), FullChunk) for each in questions]
    return conclude(questions, chunks, replay(recording), mine)


def test_the_answer_begins_with_what_to_do() -> None:
    found = answered(a_recording(hot=2.0), drain="n2")
    assert found.words[0].startswith(("Keep your policy", "Change to"))
    lines = {line.name: line for line in found.lines}
    assert lines["nothing"].migrations[0] == 0
    assert lines["my policy"].level[0] < lines["nothing"].level[0]
    assert lines["+20 % load"].level[0] > 0
    assert "one node fewer" in lines
    assert lines["drain n2"].drained_s is not None


def test_all_settings_that_can_be_chosen_begin_from_the_same_cluster() -> None:
    recording = a_recording()
    questions = ready_questions(recording, policy_in_use(recording), Asked())
    choices = [each for each in questions if each.is_choice]
    assert len(choices) > 8
    assert len({each.name for each in questions}) == len(questions)
    assert {len(each.spec.scenario.vms) for each in choices} == {12}


def test_a_drain_of_a_node_that_is_not_there_is_refused() -> None:
    recording = a_recording()
    with pytest.raises(ConfigError, match="no such node"):
        ready_questions(recording, policy_in_use(recording), Asked(drain="n9"))


@pytest.mark.parametrize(
    ("thresholds", "limits", "patched"),
    [
        pytest.param((0.0, 20.0), None, "AsymmetricMedium", id="named thresholds"),
        pytest.param((20.0, 20.0), (10, 4), "Medium", id="thresholds and limits"),
    ],
)
def test_the_winner_is_a_policy_that_reads_back_as_itself(
    thresholds: tuple[float, float], limits: tuple[int, int] | None, patched: str
) -> None:
    recording = a_recording()
    mine = policy_in_use(recording)
    spec = RunSpec(
        recorded_scenario(recording), mine.score, mine.text, thresholds=thresholds, limits=limits
    )
    again = policy_in_use(recording, winning_policy(mine, spec))
    assert again.thresholds == thresholds
    assert again.limits == (limits or mine.limits)
    assert again.score == mine.score
    patch = kubedescheduler_patch(mine, spec)
    assert patch is not None
    assert f"devDeviationThresholds: {patched}" in patch
