"""A recorded cluster in the simulator: replayed as it was, and asked what if."""

from pathlib import Path

import msgspec
import numpy as np
import pytest
import yaml
from msgspec.structs import replace

from builders.worlds.recordings import START, a_recording
from builders.worlds.whatifs import a_whatif
from trimtab.advisor.api import Options
from trimtab.errors import ConfigError
from trimtab.model.load.curve import Trace
from trimtab.model.load.curve_means import mean
from trimtab.model.recorded.archive import write_recording
from trimtab.model.recorded.recording import ClusterRecording, Finding, RecordedMigration
from trimtab.model.scenarios.scenario import name_problems
from trimtab.model.snapshot import SnapshotKubeVirt
from trimtab.sim import simulate_one
from trimtab.sim.spec import RunSpec, Timing
from trimtab.stacks.loop.scenario.objects import script_of
from trimtab.study.execution.engines import Engine
from trimtab.study.execution.rerun import rerun
from trimtab.study.execution.run import run_missing, write_results
from trimtab.study.inputs.file import load_study, parse_study
from trimtab.study.inputs.plan import make_plan
from trimtab.study.recorded.effect import with_options
from trimtab.study.recorded.lab import lab_scenario
from trimtab.study.recorded.outputs import kubedescheduler_patch, platform_config, winning_policy
from trimtab.study.recorded.questions import (
    Question,
    WhatifOptions,
    policy_in_use,
    ready_questions,
)
from trimtab.study.recorded.replay import replay
from trimtab.study.recorded.scenario import recorded_scenario
from trimtab.study.results.record import DAY_S, figures_of_days
from trimtab.study.results.store import StudyStore


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
    vms = scenario.vms
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
def test_the_ground_load_stays_on_its_node(victims: str) -> None:
    scenario = recorded_scenario(a_recording(hot=2.0, beside=2.0))
    spec = RunSpec(scenario, victims=victims, timing=Timing(descheduling_s=300))  # type: ignore[arg-type]
    outcome = simulate_one(spec, 1)
    assert outcome.moves
    assert outcome.course.cpu.min() >= 2.0 / 8


def test_vms_that_cannot_migrate_stay() -> None:
    recording = a_recording(hot=2.0)
    fixed = tuple(
        replace(vm, not_movable="it is not live-migratable: a local disk")
        for vm in recording.snapshot.vms
    )
    recording = replace(recording, snapshot=replace(recording.snapshot, vms=fixed))
    spec = RunSpec(recorded_scenario(recording), timing=Timing(descheduling_s=300))
    assert simulate_one(spec, 1).moves == ()


def test_the_answer_begins_with_what_to_do() -> None:
    found = a_whatif(a_recording(hot=2.0), WhatifOptions(sweep=False, drain="n2")).answer
    assert found.words[0].startswith(("Keep your policy", "Change to"))
    lines = {line.name: line for line in found.lines}
    assert lines["nothing"].migrations[0] == 0
    assert lines["my policy"].level[0] < lines["nothing"].level[0]
    assert lines["+20 % load"].level[0] > 0
    assert "one node fewer" in lines
    assert lines["drain n2"].drained_s is not None


def test_a_level_cluster_needs_no_other_setting() -> None:
    recording = a_recording(moments=6)
    level = replace(recording, vm_cpu=np.full_like(recording.vm_cpu, 1.0))
    found = a_whatif(level, WhatifOptions(more=0), runs=7).answer
    assert found.winner == "my policy"
    assert "nothing is surely better" in found.words[0]
    assert {versus.sureness for versus in found.beside} == {"none"}


def test_figures_of_days_add_up_to_those_of_the_run() -> None:
    scenario = recorded_scenario(a_recording(hot=2.0, moments=100, step_s=1800.0))
    spec = RunSpec(scenario, timing=Timing(descheduling_s=900))
    outcome = simulate_one(spec, 1)
    days = figures_of_days(scenario, outcome)
    assert len(days) == 2  # 50 hours
    assert np.mean([day.level for day in days]) == pytest.approx(
        100 * outcome.card.load_std_mean, rel=0.1
    )
    moved = np.mean([day.migrations for day in days]) * scenario.duration_s / DAY_S
    assert moved == pytest.approx(outcome.card.migrations)


def test_a_study_asks_its_own_questions_of_a_recording(tmp_path: Path) -> None:
    write_recording(a_recording(hot=2.0), tmp_path / "my.trimtab")
    text = "name: mine\nrecording: my.trimtab\nscores: [cpu_focused]\nseeds: 2\n"
    (tmp_path / "mine.yaml").write_text(text)
    plan = make_plan(load_study(tmp_path / "mine.yaml"), tmp_path)
    assert [scenario.name for scenario in plan.scenarios] == ["my"]
    assert [candidate.policy for candidate in plan.candidates] == ["recorded"] * 2
    assert plan.spec(0, 1).policy == policy_in_use(a_recording()).text
    assert "can be trusted" in plan.notes[0]
    store = StudyStore(tmp_path / "results")
    nobody = {"begun": lambda to_do, known: None, "advanced": lambda count: None}
    assert run_missing(plan, text, store, Engine(workers=1), **nobody) == 0  # type: ignore[arg-type]
    result = write_results(store)
    assert result.warnings[0] == plan.notes[0]
    assert not rerun(store, Engine(workers=1), lambda count: None).differences


def test_a_study_without_scenarios_or_recording_is_refused() -> None:
    with pytest.raises(ConfigError, match="or a recording"):
        parse_study("name: mine\n")


def test_all_settings_that_can_be_chosen_begin_from_the_same_cluster() -> None:
    recording = a_recording()
    questions = ready_questions(recording, policy_in_use(recording), WhatifOptions())
    choices = [each for each in questions if each.is_choice]
    assert len(choices) > 8
    assert len({each.name for each in questions}) == len(questions)
    assert {len(each.spec.scenario.vms) for each in choices} == {9}


def test_a_drain_of_a_node_that_is_not_there_is_refused() -> None:
    recording = a_recording()
    with pytest.raises(ConfigError, match="no such node"):
        ready_questions(recording, policy_in_use(recording), WhatifOptions(drain="n9"))


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


def test_the_winner_is_a_virtplatformconfig_that_means_the_same_run() -> None:
    recording = a_recording()
    mine = policy_in_use(recording)
    spec = RunSpec(
        recorded_scenario(recording), "cpu_focused", mine.text, thresholds=(0.0, 20.0),
        limits=(10, 4), timing=Timing(descheduling_s=300),
    )  # fmt: skip
    text = platform_config(mine, spec)
    assert text is not None
    options = msgspec.convert(yaml.safe_load(text)["spec"]["options"], Options).load_aware
    assert options is not None
    assert options.target == "upstream"
    again = with_options(RunSpec(spec.scenario, mine.score, mine.text), options)
    assert (again.score, again.thresholds, again.limits) == ("cpu_focused", (0.0, 20.0), (10, 4))
    assert options.descheduling_interval_seconds == 300
    assert platform_config(mine, replace(spec, thresholds=(3.0, 7.0))) is None


def test_a_lab_plays_the_recorded_loads_faster_and_on_some_of_the_nodes() -> None:
    recording = a_recording(nodes=6, vms=24, hot=2.0, moments=2016)
    whole, part = (
        lab_scenario(recording, "mine"),
        lab_scenario(recording, "m", compress=12, nodes=2),
    )
    assert len(script_of(whole).vms) == 24 + 6
    assert {len(vm.cpu_load.values) for vm in whole.vms if isinstance(vm.cpu_load, Trace)} == {1008}
    assert part.duration_s == whole.duration_s / 12
    assert len(part.nodes) == 2
    assert part.nodes[0].name == "n1"  # the hot one
    assert {vm.node for vm in part.vms} == {node.name for node in part.nodes}
    slow, fast = (
        next(vm.cpu_load for vm in each.vms if vm.name == "shop.vm-00") for each in (whole, part)
    )
    assert mean(fast, 0, 3600) == pytest.approx(mean(slow, 0, 12 * 3600), rel=1e-3)


@pytest.mark.parametrize("nodes", [0, 7])
def test_a_part_that_the_recording_does_not_have_is_refused(nodes: int) -> None:
    with pytest.raises(ConfigError, match="has 6 nodes that run VMs"):
        lab_scenario(a_recording(nodes=6), "mine", nodes=nodes)


def test_runs_keep_kubevirts_limits_on_migrations_and_one_asks_for_others() -> None:
    recording = a_recording()
    seen = SnapshotKubeVirt(migrations_per_cluster=3, migrations_per_node=1)
    recording = replace(recording, snapshot=replace(recording.snapshot, kubevirt=seen))
    options = WhatifOptions(sweep=False)
    questions = {q.name: q for q in ready_questions(recording, policy_in_use(recording), options)}
    assert _limits(questions["my policy"]) == (3, 1)
    assert _limits(questions["migrations 6/2"]) == (6, 2)


def _limits(question: Question) -> tuple[int, int]:
    migration = question.spec.scenario.migration
    return migration.per_cluster, migration.per_node_outbound


def test_a_replay_says_what_is_optimistic_and_of_which_days_it_speaks() -> None:
    recording = a_recording()
    full = Finding("moments at which a node's CPU was full", 12, "answers are optimistic")
    manifest = replace(recording.manifest, findings=(full, Finding("moves of VMs", 1, "")))
    claims = replay(replace(recording, manifest=manifest)).claims
    assert [claim for claim in claims if "optimistic" in claim] == [
        "moments at which a node's CPU was full (12): answers are optimistic"
    ]
    assert [claim for claim in claims if "of other days only" in claim]


def test_a_replay_says_what_happened_for_a_what_if_to_be_compared_with() -> None:
    recording = a_recording(moments=2 * 288)
    placement = recording.placement.copy()
    placement[100:, 0], placement[200:, 1], placement[300:, 0] = 1, 2, 0
    failed = RecordedMigration(vm="shop/vm-00", asked=START, phase="Failed")
    manifest = replace(recording.manifest, migrations=(failed, replace(failed, phase="Succeeded")))
    claims = replay(replace(recording, placement=placement, manifest=manifest)).claims
    assert [claim for claim in claims if "VMs moved 1.5 times a day" in claim]
    assert [claim for claim in claims if claim.startswith("recorded migrations that failed: 1")]
