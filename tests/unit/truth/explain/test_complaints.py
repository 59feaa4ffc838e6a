"""Complaints that the descheduler's users bring to its maintainers: the cause in three lines.

Each case is the cluster of such a thread in small; the cause is the one the maintainers found.
The numbers are those of kubernetes-sigs/descheduler's issues and pull requests.
"""

from typing import Any

import pytest

from builders.worlds.snapshots import NOON, WORKER, a_launcher, a_policy, a_snapshot
from trimtab.model.nodes_and_vms import Taint
from trimtab.model.snapshot import (
    ContainerResources,
    Expression,
    NodeMetrics,
    NodeTerm,
    Owner,
    QueryResult,
    Sample,
    Snapshot,
    SnapshotNode,
    SnapshotPod,
    Toleration,
)
from trimtab.truth.explain.explanation import explain
from trimtab.view.explain import show_explanation

ROOM = {"cpu": "8", "memory": "16Gi", "pods": "110"}
HOT: dict[str, float] = {"n1": 80, "n2": 30, "n3": 10}
NVIDIA = Taint("nvidia.com/gpu", "", "NoSchedule")
REQUESTS = "Usage is the sum of the pods' requests"
TEAM = Taint("dedicated", "team-a", "NoSchedule")


def requests_policy(low: dict[str, float], high: dict[str, float], **more: Any) -> dict[str, Any]:
    """A policy without metricsUtilization."""
    args = {
        "useDeviationThresholds": None,
        "thresholds": low,
        "targetThresholds": high,
        "metricsUtilization": None,
        "evictionLimits": None,
    }
    return a_policy(args=args, metricsProviders=None, nodeSelector=None, **more)


def a_pod(name: str, node: str, memory: str, **fields: Any) -> SnapshotPod:
    """A pod of a Deployment, which is made again when it is evicted."""
    return a_launcher(
        name,
        node,
        labels={"app": name},
        owners=(Owner("ReplicaSet", f"rs-{name}"),),
        annotations={},
        volumes=(),
        containers=(ContainerResources({"cpu": "100m", "memory": memory}),),
        **fields,
    )


def by_requests(pods: tuple[SnapshotPod, ...], low: float, high: float) -> Snapshot:
    policy = requests_policy({"memory": low}, {"memory": high})
    nodes = tuple(SnapshotNode(n, WORKER, allocatable=ROOM) for n in ("n1", "n2", "n3"))
    return a_snapshot(HOT, policy, query=None, nodes=nodes, pods=pods)


SMALL = tuple(a_pod(f"app-{at}", "n1", "1Gi") for at in range(7))
HOST = Expression("kubernetes.io/hostname", "In", ("n1",))
PINNED = a_pod("pinned", "n1", "13Gi", node_affinity=(NodeTerm(match_expressions=(HOST,)),))
LARGE = a_pod("large", "n1", "13Gi")
SPREAD = tuple(a_pod(f"app-{at}", "n1", "3Gi") for at in range(5))
GPU_PODS = tuple(
    a_launcher(f"vm-{at}", "n1", tolerations=(Toleration(operator="Exists"),)) for at in range(2)
)


def answered(*instances: str) -> QueryResult:
    samples = tuple(Sample({"instance": i}, "0.5") for i in instances)
    return QueryResult(time=NOON, query="descheduler:node:max_metrics:avg1m", samples=samples)


COMPLAINTS = [
    pytest.param(by_requests(SMALL, 20, 60), REQUESTS, id="118 kubectl top"),
    pytest.param(by_requests(SMALL[:3], 20, 60), REQUESTS, id="270, idle by log"),
    pytest.param(by_requests((), 75, 90), REQUESTS, id="628, all under-utilised"),
    pytest.param(by_requests(SMALL, 20, 50), REQUESTS, id="1234, memory differs"),
    pytest.param(by_requests(SMALL, 60, 70), REQUESTS, id="1248, nothing happens"),
    pytest.param(
        by_requests(SPREAD, 20, 60), "may take the same node again", id="994, placed as before"
    ),
    pytest.param(
        by_requests((PINNED,), 20, 60), "puts it back where it was", id="994, only one node fits"
    ),
    pytest.param(
        by_requests((LARGE,), 25, 70), "evicted again wherever it lands", id="1695, large pods"
    ),
    pytest.param(
        a_snapshot(
            HOT,
            nodes=tuple(SnapshotNode(n, WORKER, (NVIDIA, TEAM), allocatable=ROOM) for n in HOT),
            pods=GPU_PODS,
        ),
        "at least as many tolerations as taints",
        id="1898, one toleration for all",
    ),
    pytest.param(
        a_snapshot(HOT, query=answered("10.0.0.1:9100", "10.0.0.2:9100", "10.0.0.3:9100")),
        "instance is not the node's name: all 3 instances are addresses with a port",
        id="instance is an address",
    ),
    pytest.param(
        a_snapshot(HOT, query=answered()),
        "The query gives nothing",
        id="a query that nobody answers",
    ),
    pytest.param(
        a_snapshot(HOT, {k: v for k, v in a_policy().items() if k != "apiVersion"}),
        "has no apiVersion",
        id="a policy without apiVersion",
    ),
]


@pytest.mark.parametrize(("snapshot", "cause"), COMPLAINTS)
def test_the_cause_is_in_the_first_three_lines(
    snapshot: Snapshot, cause: str, capsys: pytest.CaptureFixture[str]
) -> None:
    show_explanation(explain(snapshot).explanation)
    assert cause in "\n".join(capsys.readouterr().out.splitlines()[:3])


def test_a_small_pod_that_fits_elsewhere_is_not_called_a_loop() -> None:
    said = " ".join(explain(by_requests(SPREAD, 20, 60)).explanation.remarks)
    assert "puts it back" not in said
    assert "wherever it lands" not in said


def test_a_vm_that_migrates_is_not_said_to_come_back() -> None:
    remarks = explain(a_snapshot(HOT)).explanation.remarks
    assert not any("same node" in remark for remark in remarks)


def test_which_of_equal_pods_go_is_called_chance() -> None:
    explanation = explain(a_snapshot(HOT)).explanation
    assert explanation.verdict == "2 pods would be evicted."
    assert any("Which 2 of 3 equal pods of n1 go is chance" in r for r in explanation.remarks)


def test_a_cordoned_node_says_so() -> None:
    nodes = tuple(SnapshotNode(n, WORKER, allocatable=ROOM, unschedulable=n == "n3") for n in HOT)
    (run,) = explain(a_snapshot(HOT, nodes=nodes)).explanation.runs
    notes = {node.name: node.note for node in run.nodes}
    assert "cordoned" in notes["n3"]
    assert notes["n2"] == ""


def metered(*known: str) -> Snapshot:
    policy = requests_policy({"cpu": 20}, {"cpu": 50})
    args = policy["profiles"][0]["pluginConfig"][0]["args"]
    args["metricsUtilization"] = {"source": "KubernetesMetrics"}
    policy["metricsProviders"] = [{"source": "KubernetesMetrics"}]
    usage = {"n1": "7", "n2": "1", "n3": "1"}
    metrics = tuple(NodeMetrics(n, {"cpu": usage[n], "memory": "1Gi"}) for n in known)
    nodes = tuple(SnapshotNode(n, WORKER, allocatable=ROOM) for n in HOT)
    return a_snapshot(HOT, policy, query=None, nodes=nodes, node_metrics=metrics)


def test_the_node_without_metrics_is_named_in_its_own_line() -> None:
    (run,) = explain(metered("n1", "n2")).explanation.runs
    notes = {node.name: node.note for node in run.nodes}
    assert notes["n3"] == "the metrics server tells nothing of it (P7)"
    assert notes["n1"] == ""


@pytest.mark.parametrize("distance", [-0.04, 0.04, -0.0])
def test_a_distance_is_never_a_negative_zero(distance: float) -> None:
    from trimtab.view.explain import _points

    assert _points(distance) == "0.0"


def test_the_last_line_hands_over_to_lint(capsys: pytest.CaptureFixture[str]) -> None:
    show_explanation(explain(a_snapshot(HOT, query=answered())).explanation)
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == (
        "lint finds 1 problem: query-no-samples. "
        "Why, and the cure: docs/reference/lint.md#query-no-samples"
    )


@pytest.mark.parametrize("node_fit", [True, False])
def test_a_launcher_that_a_directed_migration_bound_is_named_where_nodefit_asks(
    node_fit: bool,
) -> None:
    selector = {"kubernetes.io/hostname": "n1"}
    bound = a_launcher("vm-bound", "n1", node_selector=selector)
    free = a_launcher("vm-free", "n1")
    policy = a_policy(evictor={"nodeFit": node_fit})
    remarks = explain(a_snapshot(HOT, policy, pods=(bound, free))).explanation.remarks
    about = [text for text in remarks if "host name" in text]
    assert len(about) == (1 if node_fit else 0)
    assert all("vm-bound" in text and "vm-free" not in text for text in about)
