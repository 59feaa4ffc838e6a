"""One cycle on a running cluster: the decision, from what Prometheus and the exporter say."""

import numpy as np
import pytest

from builders.worlds.policy import default_policy
from trimtab.cli.simulation.sim.live import live_nodes
from trimtab.errors import ConfigError
from trimtab.exporter.http.api import NodeVms, Scene, VmUse
from trimtab.observe.live_cycle import LiveNode, LiveVm, Targets, decide_live, query_of
from trimtab.policy.file.default import DEFAULT_POLICY
from trimtab.policy.file.reader import read_policy
from trimtab.policy.file.settings import Policy
from trimtab.policy.view import QueryFailure, Vector

POLICY = default_policy()


def a_node(name: str, *vms: float, use: tuple[float, float] | None = (0.5, 0.5)) -> LiveNode:
    """VMs by their CPU share; memory the same."""
    own = tuple(LiveVm(f"{name}-vm{i}", load, load) for i, load in enumerate(vms))
    return LiveNode(name, own, use)


def vector(**scores: float) -> Vector:
    return Vector(list(scores), np.array(list(scores.values())))


HOT = [a_node("hot", 0.3, 0.3, 0.3), a_node("mild", 0.2), a_node("cold", 0.1, use=(0.1, 0.1))]


def test_vms_leave_the_hot_node_within_the_limits() -> None:
    decision = decide_live(HOT, vector(hot=0.9, mild=0.2, cold=0.1), POLICY)
    assert [(n.node, n.percent, n.kind) for n in decision.nodes] == [
        ("hot", 90.0, "over"), ("mild", 20.0, "under"), ("cold", 10.0, "under"),
    ]  # fmt: skip
    assert (decision.low, decision.high) == (40.0, 50.0)
    assert [move.from_node for move in decision.intended_moves] == ["hot", "hot"]  # two a node
    assert {move.vm_id for move in decision.intended_moves} <= {"hot-vm0", "hot-vm1", "hot-vm2"}


def test_the_seed_decides_who_goes() -> None:
    answer = vector(hot=0.9, mild=0.2, cold=0.1)
    chosen = {decide_live(HOT, answer, POLICY, seed).intended_moves for seed in range(20)}
    assert len(chosen) > 1
    assert decide_live(HOT, answer, POLICY, 3) == decide_live(HOT, answer, POLICY, 3)


def test_each_vm_is_meant_for_the_node_that_is_then_the_least_used() -> None:
    targets = Targets([a_node("a", 0.2, use=(0.2, 0.2)), a_node("b", 0.3, use=(0.3, 0.3))])
    vm = LiveVm("v", 0.15, 0.15)
    assert [targets.take(vm) for _ in range(3)] == ["a", "b", "a"]


def test_a_vm_weighs_more_on_a_small_node() -> None:
    # Both use 20 %, but on the small one that is half as much.
    targets = Targets([a_node("small", 0.1, use=(0.2, 0.2)), a_node("large", 0.2, use=(0.2, 0.2))])
    assert targets.take(LiveVm("v", 0.1, 0.1)) == "large"


def test_without_measurements_the_vms_themselves_tell_the_use() -> None:
    targets = Targets([a_node("full", 0.8, use=None), a_node("free", use=None)])
    assert targets.take(LiveVm("v", 0.1, 0.1)) == "free"


def test_without_a_target_the_scheduler_alone_decides() -> None:
    assert Targets([]).take(LiveVm("v", 0.1, 0.1)) is None


def test_a_level_cluster_says_why_nobody_goes() -> None:
    decision = decide_live(HOT, vector(hot=0.4, mild=0.4, cold=0.3), POLICY)
    assert decision.intended_moves == ()
    assert "under target utilization" in decision.quiet


def test_over_utilised_nodes_without_vms_are_no_source() -> None:
    nodes = [a_node("hot"), *HOT[1:]]
    decision = decide_live(nodes, vector(hot=0.9, mild=0.2, cold=0.1), POLICY)
    assert decision.intended_moves == ()
    assert decision.quiet == "no VM may go (hot: no candidates)"


def test_a_node_that_nobody_measures_is_not_ready_and_not_looked_at() -> None:
    nodes = [*HOT, a_node("lost", 0.2, use=None)]
    decision = decide_live(nodes, vector(hot=0.9, mild=0.2, cold=0.1), POLICY)
    assert decision.error == ""
    assert decision.nodes[3].kind == "not looked at"
    assert decision.intended_moves


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        pytest.param(vector(hot=0.9, cold=0.1), "unable to find metric entry for mild", id="gap"),
        pytest.param(vector(hot=1.2, mild=0, cold=0), "outside of <0; 1>", id="above 1"),
        pytest.param(vector(hot=float("nan"), mild=0, cold=0), "a sample is NaN", id="NaN"),
        pytest.param(QueryFailure("no such record"), "no such record", id="no answer"),
    ],
)
def test_what_would_fail_the_descheduler_fails_here(
    answer: Vector | QueryFailure, error: str
) -> None:
    decision = decide_live(HOT, answer, POLICY)
    assert error in decision.error
    assert decision.intended_moves == ()


def policy_with(old: str, new: str) -> Policy:
    assert old in DEFAULT_POLICY
    return read_policy(DEFAULT_POLICY.replace(old, new))


def test_a_policy_that_needs_capacities_is_refused() -> None:
    with pytest.raises(ConfigError, match="nodeFit needs"):
        query_of(policy_with("podProtections:", "nodeFit: true\n          podProtections:"))


def test_a_policy_that_does_not_ask_prometheus_is_refused() -> None:
    requests = read_policy(REQUESTS)
    with pytest.raises(ConfigError, match="must ask Prometheus"):
        query_of(requests)


REQUESTS = """\
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: p
  pluginConfig:
  - name: LowNodeUtilization
    args: {thresholds: {cpu: 20}, targetThresholds: {cpu: 50}}
  plugins: {balance: {enabled: [LowNodeUtilization]}}
"""


def test_a_policy_that_reads_labels_which_nobody_tells_is_refused() -> None:
    policy = policy_with("nodeSelector: kubevirt.io/schedulable=true", "nodeSelector: zone=a")
    with pytest.raises(ConfigError, match="'zone=a' matches no node"):
        decide_live(HOT, vector(hot=0.9, mild=0.2, cold=0.1), policy)


def test_the_exporters_nodes_are_joined_with_what_prometheus_measured() -> None:
    scene = Scene([NodeVms("n1", [VmUse("v", 0.1, 0.2)]), NodeVms("n2", [])], [])
    found = live_nodes(scene, [{"n1": 0.5}, {"n1": 0.6, "n2": 0.1}])
    assert found == [
        LiveNode("n1", (LiveVm("v", 0.1, 0.2),), (0.5, 0.6)),
        LiveNode("n2", (), None),
    ]
