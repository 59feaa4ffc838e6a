"""The rules of a recorded cluster in its scenario, and in what is answered from it."""

from typing import Any

import pytest
from msgspec.structs import replace

from builders.worlds.recordings import a_recording
from trimtab.model.nodes_and_vms import Taint
from trimtab.model.recorded.recording import ClusterRecording
from trimtab.model.snapshot import (
    AntiAffinityTerm,
    Claim,
    ContainerResources,
    Match,
    SnapshotPod,
    Toleration,
    Volume,
)
from trimtab.policy.pods.anti_affinity import groups_of
from trimtab.sim import simulate_one
from trimtab.sim.spec import RunSpec, Timing
from trimtab.study.execution.tasks import Task, run_task
from trimtab.study.recorded.answer import QuestionResult, WhatifAnswer, conclude
from trimtab.study.recorded.constraints import not_modelled, recorded_constraints
from trimtab.study.recorded.questions import WhatifOptions, policy_in_use, ready_questions
from trimtab.study.recorded.replay import replay
from trimtab.study.recorded.scenario import recorded_scenario
from trimtab.study.results.record import FullChunk, decode
from trimtab.truth.explain.outcome_texts import EVICTION_ANSWER

HOSTNAME = "kubernetes.io/hostname"


def ruled(recording: ClusterRecording, **pod: Any) -> ClusterRecording:
    """All VMs' pods with these fields, and nodes with the labels that every node has."""
    snapshot = recording.snapshot
    nodes = tuple(replace(node, labels={HOSTNAME: node.name}) for node in snapshot.nodes)
    pods = tuple(replace(each, **pod) for each in snapshot.pods)
    return replace(recording, snapshot=replace(snapshot, nodes=nodes, pods=pods))


def with_pod(recording: ClusterRecording, node: str, **fields: Any) -> ClusterRecording:
    """One more pod, which is no VM."""
    snapshot = recording.snapshot
    pod = SnapshotPod(**{"namespace": "shop", "name": "other", "uid": "o", "node": node, **fields})
    return replace(recording, snapshot=replace(snapshot, pods=(*snapshot.pods, pod)))


def test_what_a_pods_spec_says_becomes_the_vms_constraints() -> None:
    recording = ruled(
        a_recording(),
        labels={"app": "db", "vm.kubevirt.io/name": "x"},
        node_selector={"disk": "fast"},
        tolerations=(Toleration("gpu", "Exists"),),
        volumes=(Volume("emptyDir"), Volume("persistentVolumeClaim", "data")),
        annotations={"descheduler.alpha.kubernetes.io/prefer-no-eviction": ""},
        priority=7,
    )
    claims = (Claim("shop", "data", "ceph"),)
    recording = replace(recording, snapshot=replace(recording.snapshot, claims=claims))
    vms = recorded_scenario(recording).vms
    found = vms[0].constraints
    assert found is not None
    assert all(vm.constraints is found for vm in vms)
    assert (found.namespace, found.labels, found.node_selector) == (
        "shop",
        {"app": "db"},
        {"disk": "fast"},
    )
    assert found.tolerations == (Toleration("gpu", "Exists"),)
    assert (found.local_storage, found.storage_classes) == (True, ("ceph",))
    assert found.prefer_no_eviction
    assert {vm.priority for vm in vms} == {7}


def test_a_label_of_single_vms_is_kept_where_a_rule_reads_it() -> None:
    apart = AntiAffinityTerm(HOSTNAME, Match({"vm.kubevirt.io/name": "x"}))
    labels = {"vm.kubevirt.io/name": "x", "kubevirt.io/created-by": "y"}
    recording = ruled(a_recording(), labels=labels, anti_affinity=(apart,))
    found = recorded_constraints(recording.snapshot, ["n1", "n2", "n3"])
    assert found["shop/vm-00"].labels == {"vm.kubevirt.io/name": "x"}


def test_kubevirts_own_term_of_a_migrated_vm_restricts_nothing() -> None:
    recording = a_recording()
    pods = tuple(
        replace(
            pod,
            labels={"kubevirt.io/created-by": pod.uid},
            anti_affinity=(AntiAffinityTerm(HOSTNAME, Match({"kubevirt.io/created-by": pod.uid})),),
        )
        for pod in recording.snapshot.pods
    )
    snapshot = replace(recording.snapshot, pods=pods)
    found = recorded_constraints(snapshot, ["n1", "n2", "n3"]).values()
    assert {(rules.anti_affinity, len(rules.labels)) for rules in found} == {((), 0)}
    assert groups_of(pods, [{HOSTNAME: name} for name in ("n1", "n2", "n3")]) is None


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"labels": {"app": "gate"}}, id="a pod that VMs keep away from"),
        pytest.param(
            {"anti_affinity": (AntiAffinityTerm(HOSTNAME, Match({"app": "db"})),)},
            id="a pod that keeps VMs away",
        ),
    ],
)
def test_pods_that_are_no_vms_close_their_node(other: dict[str, Any]) -> None:
    away = AntiAffinityTerm(HOSTNAME, Match({"app": "gate"}))
    recording = ruled(a_recording(hot=2.0), labels={"app": "db"}, anti_affinity=(away,))
    recording = with_pod(recording, "n2", **other)
    spec = RunSpec(recorded_scenario(recording), timing=Timing(descheduling_s=300))
    targets = {move.target for move in simulate_one(spec, 1).moves}
    assert targets
    assert targets <= {"n1", "n3", None}


def test_other_pods_are_the_ground_load_of_their_node() -> None:
    asked = ContainerResources(requests={"cpu": "500m", "memory": "1Gi"})
    recording = with_pod(a_recording(beside=1.0), "n2", containers=(asked, ContainerResources()))
    ground = recorded_scenario(recording).nodes[1].ground
    assert ground is not None
    assert (str(ground.cpu), str(ground.requested_cpu)) == ("1", "500m")
    assert (ground.pods, ground.without_cpu, ground.without_memory) == (1, 1, 1)


@pytest.mark.parametrize(
    ("answer", "strategy"),
    [
        ("", "LiveMigrate"),
        ("refused: the VM is not live-migratable", "LiveMigrate"),
        ("evicted: the VM has no eviction strategy, so it is stopped", "None"),
        ("evicted: the VM cannot migrate and does not insist", "LiveMigrateIfPossible"),
    ],
)
def test_an_eviction_leads_to_what_was_observed(answer: str, strategy: str) -> None:
    annotations = {EVICTION_ANSWER: answer} if answer else {}
    scenario = recorded_scenario(ruled(a_recording(), annotations=annotations))
    assert {vm.eviction_strategy for vm in scenario.vms} == {strategy}


def test_vms_that_come_later_are_placed_by_the_scheduler_but_not_in_a_replay() -> None:
    recording = a_recording()
    placement = recording.placement.copy()
    placement[:6, 3] = -1
    recording = replace(recording, placement=placement)
    later = [vm for vm in recorded_scenario(recording).vms if vm.node is None]
    assert [vm.name for vm in later] == ["shop.vm-03"]
    assert all(vm.node for vm in recorded_scenario(recording, follow_moves=True).vms)


def test_a_replay_follows_the_recording_whatever_the_rules_say_by_now() -> None:
    recording = ruled(a_recording(), node_selector={"disk": "none"})
    nodes = tuple(
        replace(node, unschedulable=True, taints=(Taint("gone"),))
        for node in recording.snapshot.nodes
    )
    placement = recording.placement.copy()
    placement[:6, 3] = -1
    snapshot = replace(recording.snapshot, nodes=nodes)
    found = replay(replace(recording, snapshot=snapshot, placement=placement))
    assert found.cpu_mean < 2.0  # the VM that comes later counts as ground load until then


def test_what_is_not_modelled_is_told() -> None:
    gpu = ContainerResources(requests={"cpu": "1", "example.com/gpu": "1"})
    recording = ruled(a_recording(), containers=(gpu,))
    some = replace(recording.snapshot, vms=recording.snapshot.vms[:-2])
    told = not_modelled(replace(recording, snapshot=some))
    assert told == [
        "VMs request example.com/gpu: the simulator counts CPU, memory and pods only",
        "2 VMs were gone when the objects were read: what restricted them is not known",
    ]
    assert not_modelled(a_recording()) == []


def answered(
    recording: ClusterRecording, drain: str
) -> tuple[WhatifAnswer, dict[str, QuestionResult]]:
    mine = policy_in_use(recording)
    questions = ready_questions(recording, mine, WhatifOptions(sweep=False, drain=drain))
    chunks = [decode(run_task(Task(each.name, each.spec, (0, 1))), FullChunk) for each in questions]
    found = conclude(questions, chunks, replay(recording), mine)
    return found, {line.name: line for line in found.lines}


def test_a_drain_and_a_node_fewer_tell_of_vms_that_no_node_takes() -> None:
    recording = ruled(a_recording(moments=12))
    snapshot = recording.snapshot
    # vm-00 is tied to n1, vm-03 (there too) cannot migrate; n1 is made the largest node.
    pods = (replace(snapshot.pods[0], node_selector={HOSTNAME: "n1"}), *snapshot.pods[1:])
    fixed = replace(snapshot.vms[3], not_movable="it is not live-migratable: a device")
    vms = (*snapshot.vms[:3], fixed, *snapshot.vms[4:])
    large = replace(snapshot.nodes[0], allocatable={"cpu": "9", "memory": "64Gi", "pods": "110"})
    nodes = (large, *snapshot.nodes[1:])
    snapshot = replace(snapshot, pods=pods, vms=vms, nodes=nodes)
    answer, lines = answered(replace(recording, snapshot=snapshot), "n1")
    drained = lines["drain n1"]
    assert (drained.stayed, drained.fixed) == (2, 1)
    assert any("1 VM cannot migrate; no other node takes 1 VM" in line for line in answer.words)
    assert lines["one node fewer"].homeless == 1
    (said,) = (line for line in answer.words if "1 VM would find no node" in line)
    assert said.startswith("One node fewer is too much")
