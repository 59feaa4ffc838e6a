"""A snapshot becomes the planner's problem: the scheduler's rules as arrays."""

from datetime import UTC, datetime

import numpy as np
import pytest
from msgspec.structs import replace

from trimtab.balance.document import document_of
from trimtab.balance.from_snapshot import problem_from
from trimtab.balance.planner import make_plan
from trimtab.balance.state import State
from trimtab.errors import ConfigError
from trimtab.model.nodes_and_vms import Taint
from trimtab.model.snapshot import (
    AntiAffinityTerm,
    ContainerResources,
    Expression,
    Match,
    NextPod,
    NodeTerm,
    Snapshot,
    SnapshotNode,
    SnapshotPod,
    SnapshotVm,
)


def a_node(name: str, **changes: object) -> SnapshotNode:
    given: dict[str, object] = {
        "labels": {"kubernetes.io/hostname": name, "disk": "ssd"},
        "allocatable": {"cpu": "10", "memory": "10Gi", "pods": "20"},
    }
    return SnapshotNode(name, **(given | changes))  # type: ignore[arg-type]


def a_pod(name: str, node: object = "hot", **changes: object) -> SnapshotPod:
    given: dict[str, object] = {
        "node": node,
        "containers": (ContainerResources(requests={"cpu": "1", "memory": "1Gi"}),),
    }
    return SnapshotPod("default", name, f"uid-{name}", **(given | changes))  # type: ignore[arg-type]


def a_vm(name: str, cpu: str = "2", **changes: object) -> SnapshotVm:
    return SnapshotVm("default", name, f"uid-{name}", cpu=cpu, memory="1Gi", **changes)  # type: ignore[arg-type]


def a_cluster(
    nodes: list[SnapshotNode], pods: list[SnapshotPod], vms: list[SnapshotVm]
) -> Snapshot:
    taken = datetime(2026, 1, 1, tzinfo=UTC)
    return Snapshot(taken_at=taken, nodes=tuple(nodes), pods=tuple(pods), vms=tuple(vms))


def four_on_the_first(*nodes: SnapshotNode, **changes: object) -> Snapshot:
    names = ["a", "b", "c", "d"]
    pods = [a_pod(name, **changes) for name in names]
    return a_cluster(list(nodes), pods, [a_vm(name) for name in names])


def targets(snapshot: Snapshot) -> set[str]:
    problem = problem_from(snapshot)
    return {problem.nodes[move.target] for move in make_plan(problem).moves}


def test_half_of_the_load_leaves_the_hot_node() -> None:
    problem = problem_from(four_on_the_first(a_node("hot"), a_node("cold")))
    plan = document_of(problem, make_plan(problem))
    assert [move.target for move in plan.moves] == ["cold", "cold"]
    assert plan.bound is not None
    assert plan.bound.moves == 2
    hot = plan.nodes[0]
    assert (hot.cpu_before, hot.cpu_after, hot.vms_before, hot.vms_after) == (80.0, 40.0, 4, 2)


@pytest.mark.parametrize(
    ("closed", "pod"),
    [
        pytest.param(a_node("no", unschedulable=True), {}, id="cordoned"),
        pytest.param(a_node("no", ready=False), {}, id="not ready"),
        pytest.param(a_node("no", taints=(Taint("gpu"),)), {}, id="a taint nobody tolerates"),
        pytest.param(a_node("no", labels={}), {"node_selector": {"disk": "ssd"}}, id="selector"),
        pytest.param(
            a_node("no", allocatable={"cpu": "10", "memory": "10Gi", "pods": "0"}), {}, id="pods"
        ),
        pytest.param(
            a_node("no", allocatable={"cpu": "10", "memory": "512Mi", "pods": "20"}),
            {},
            id="no room for the memory request",
        ),
        pytest.param(
            a_node("no"),
            {
                "containers": (
                    ContainerResources(requests={"cpu": "1", "memory": "1Gi", "vendor/gpu": "1"}),
                )
            },
            id="a device it has not",
        ),
    ],
)
def test_a_node_that_the_scheduler_would_refuse_is_no_target(
    closed: SnapshotNode, pod: dict[str, object]
) -> None:
    gpu = {"cpu": "10", "memory": "10Gi", "pods": "20", "vendor/gpu": "8"}
    good = [a_node("hot", allocatable=gpu), a_node("good", allocatable=gpu)]
    assert targets(four_on_the_first(*good, closed, **pod)) == {"good"}


def test_vms_that_keep_apart_are_never_brought_together() -> None:
    apart = AntiAffinityTerm(
        topology_key="kubernetes.io/hostname", label_selector=Match(match_labels={"app": "db"})
    )
    labelled = {"labels": {"app": "db"}, "anti_affinity": (apart,)}
    pods = [
        a_pod("a", **labelled),
        a_pod("b"),
        a_pod("c"),
        a_pod("d"),
        a_pod("e", "cold", **labelled),
    ]
    vms = [a_vm("a", "7"), *(a_vm(name, "1") for name in "bcd"), a_vm("e", "0")]
    problem = problem_from(a_cluster([a_node("hot"), a_node("cold")], pods, vms))
    assert 0 not in {move.vm for move in make_plan(problem).moves}


def test_a_vm_that_keeps_its_like_out_of_its_zone_must_leave_the_zone() -> None:
    zone = "topology.kubernetes.io/zone"
    apart = AntiAffinityTerm(topology_key=zone, label_selector=Match(match_labels={"app": "db"}))
    labelled = {"labels": {"app": "db"}, "anti_affinity": (apart,)}
    nodes = [
        a_node("hot", labels={zone: "a"}),
        a_node("near", labels={zone: "a"}),
        a_node("far", labels={zone: "b"}),
    ]
    pods = [a_pod("a", **labelled), a_pod("b"), a_pod("c")]
    vms = [a_vm("a", "7"), a_vm("b", "1"), a_vm("c", "1")]
    state = State(problem_from(a_cluster(nodes, pods, vms)))
    # Both pods of a VM that is copied exist, and the old one keeps the new one out.
    assert state.fits(np.array([0]), np.arange(3)).tolist() == [[False, False, True]]
    assert state.fits(np.array([1]), np.arange(3)).tolist() == [[False, True, True]]
    assert state.breaks_rule(0) is None


def test_a_vm_that_moves_already_counts_at_its_target_and_is_left_alone() -> None:
    pods = [a_pod(name) for name in "abcd"]
    vms = [a_vm("a", moving_to="cold"), a_vm("b", moving_to="cold"), a_vm("c"), a_vm("d")]
    problem = problem_from(a_cluster([a_node("hot"), a_node("cold")], pods, vms))
    assert make_plan(problem).moves == ()


def test_the_pod_that_waits_for_a_vm_is_not_counted_beside_it() -> None:
    pods = [a_pod("a"), a_pod("a-target", "cold")]
    moving = a_vm("a", moving_to="cold", target_pod_uid=pods[1].uid)
    problem = problem_from(a_cluster([a_node("hot"), a_node("cold")], pods, [moving]))
    assert problem.taken.sum() == 0
    assert problem.ground.sum() == 0
    assert problem.nodes[problem.where[0]] == "cold"


def test_a_drained_node_is_emptied_first() -> None:
    problem = problem_from(
        four_on_the_first(a_node("hot"), a_node("cold"), a_node("other")), emptied=["hot"]
    )
    plan = make_plan(problem)
    assert {move.goal for move in plan.moves} == {"drain"}
    assert {move.vm for move in plan.moves} == {0, 1, 2, 3}


def test_pods_that_are_no_vms_are_ground_that_stays() -> None:
    snapshot = four_on_the_first(a_node("hot"), a_node("cold"))
    others = [a_pod(f"web-{n}", "cold") for n in range(8)]
    problem = problem_from(
        a_cluster(list(snapshot.nodes), [*snapshot.pods, *others], list(snapshot.vms))
    )
    assert make_plan(problem).moves == ()


def test_where_a_pod_was_placed_first_does_not_bind_its_vm() -> None:
    only_here = (NodeTerm(match_fields=(Expression("metadata.name", "In", ("hot",)),)),)
    snapshot = four_on_the_first(a_node("hot"), a_node("cold"), node_affinity=only_here)
    assert targets(snapshot) == set()
    free = tuple(replace(vm, next_pod=NextPod()) for vm in snapshot.vms)
    assert targets(replace(snapshot, vms=free)) == {"cold"}


def test_a_node_that_is_not_there_is_named() -> None:
    with pytest.raises(ConfigError, match="there is no node nope"):
        problem_from(four_on_the_first(a_node("hot")), emptied=["nope"])


def test_a_snapshot_without_loads_of_vms_says_what_to_do() -> None:
    with pytest.raises(ConfigError, match="trimtab snapshot -o F"):
        problem_from(a_cluster([a_node("hot")], [], []))


def test_a_cordon_is_no_broken_rule_of_the_vms_that_are_there() -> None:
    cordon = Taint("node.kubernetes.io/unschedulable")
    closed = a_node("hot", taints=(cordon,), unschedulable=True)
    problem = problem_from(four_on_the_first(closed, a_node("cool")))
    state = State(problem)
    assert [state.breaks_rule(vm) for vm in range(4)] == [None] * 4
    away = problem_from(four_on_the_first(a_node("hot"), replace(closed, name="closed")))
    assert not State(away).fits(np.arange(4), np.array([1])).any()
