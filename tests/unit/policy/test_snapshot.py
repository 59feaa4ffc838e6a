"""Snapshots: the same in JSON and YAML, and decided as the cluster they were taken from."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.examples import examples
from builders.worlds.policy import decide_snapshot
from builders.worlds.snapshots import NOON, WORKER, a_launcher
from trimtab.errors import ConfigError
from trimtab.model.nodes_and_vms import Taint
from trimtab.model.snapshot import (
    EVICT,
    EVICTION_IN_PROGRESS,
    REQUEST_EVICT_ONLY,
    AntiAffinityTerm,
    Claim,
    ContainerResources,
    Expression,
    InFlightEviction,
    Match,
    NodeMetrics,
    NodeTerm,
    Owner,
    PodMetrics,
    QueryResult,
    Sample,
    Snapshot,
    SnapshotNamespace,
    SnapshotNode,
    SnapshotPod,
    Toleration,
    Volume,
    decode,
    dump,
    encode,
    load,
)
from trimtab.policy.cycle import PodOutcome
from trimtab.policy.file.default import DEFAULT_POLICY
from trimtab.policy.pods.requests import qos_of, requests_of
from trimtab.policy.snapshot_view import SnapshotView, inflight_of, traits_of
from trimtab.policy.view import Qos, QueryFailure, Vector


def a_snapshot(scores: dict[str, str], **fields: Any) -> Snapshot:
    samples = tuple(Sample({"instance": name}, value) for name, value in scores.items())
    return Snapshot(
        **{
            "taken_at": NOON,
            "policy": DEFAULT_POLICY,
            "query": QueryResult(time=NOON, samples=samples),
            "nodes": tuple(SnapshotNode(name, WORKER) for name in scores),
            "pods": tuple(a_launcher(f"vm-{n}-{at}", n) for n in scores for at in range(3)),
            **fields,
        }
    )


FULL = a_snapshot(
    {"n1": "0.91", "n2": "NaN"},
    versions={"descheduler": "v0.36.0"},
    nodes=(
        SnapshotNode(
            "n1",
            WORKER,
            (Taint(key="a", value="b", effect="NoExecute"),),
            unschedulable=True,
            ready=None,
            allocatable={"cpu": "8", "memory": "32Gi"},
            capacity={"cpu": "8"},
        ),
    ),
    pods=(
        a_launcher(
            "vm",
            "n1",
            start_time=NOON,
            priority=-3,
            labels={"a": "b"},
            init_containers=(ContainerResources({"cpu": "1"}, {"cpu": "2"}, "Always"),),
            pod_requests={"cpu": "3"},
            overhead={"cpu": "250m"},
            resource_claims=1,
            tolerations=(Toleration("k", "Exists"),),
            node_selector=WORKER,
            node_affinity=(NodeTerm((Expression("z", "In", ("a",)),)),),
            anti_affinity=(AntiAffinityTerm("zone", Match({"a": "b"}), ("ns",)),),
            terminating=True,
        ),
    ),
    namespaces=(SnapshotNamespace("default", {"a": "b"}),),
    claims=(Claim("default", "data", "fast"),),
    priority_classes={"gold": 5},
    node_metrics=(NodeMetrics("n1", {"cpu": "1"}),),
    pod_metrics=(PodMetrics("default", "vm", ({"cpu": "5m"},)),),
    in_flight=(InFlightEviction("uid-vm", "n1", "default", NOON),),
    evictions_in_background=False,
)


@pytest.mark.parametrize("name", ["s.json", "s.yaml"])
def test_a_snapshot_file_holds_everything(name: str, tmp_path: Path) -> None:
    dump(FULL, tmp_path / name)
    assert load(tmp_path / name) == FULL


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_a_file_begins_with_what_it_is(form: Any) -> None:
    text = encode(FULL, form).decode()
    assert text.index("apiVersion") < text.index("kind") < text.index("takenAt")


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=8)


@given(
    values=st.lists(
        st.floats().map(repr) | st.sampled_from(["NaN", "+Inf", "0.29", "1e5", "yes", "null"]),
        max_size=4,
    ),
    labels=st.dictionaries(TEXTS, TEXTS, max_size=3),
    policy=TEXTS,
    ready=st.sampled_from([None, True, False]),
)
@settings(max_examples=examples(40))
def test_whatever_is_written_is_read_again(
    values: list[str], labels: dict[str, str], policy: str, ready: bool | None
) -> None:
    samples = tuple(Sample(labels, value) for value in values)
    snapshot = Snapshot(
        taken_at=NOON,
        policy=policy,
        query=QueryResult(NOON, samples=samples),
        nodes=(SnapshotNode("n", labels, ready=ready),),
    )
    assert decode(encode(snapshot, "json")) == snapshot
    assert decode(encode(snapshot, "yaml")) == snapshot


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("{", "neither JSON nor YAML", id="cut off"),
        pytest.param('{"kind": "Snapshot"}', "takenAt", id="a field is missing"),
        pytest.param('{"kind": "Other"}', "kind", id="something else"),
        pytest.param('{"takenAt": "2026-07-01T12:00:00Z", "nodez": []}', "nodez", id="unknown"),
        pytest.param(
            '{"takenAt": "2026-07-01T12:00:00Z", "nodes": [{"name": 1}]}',
            "nodes[0].name",
            id="the place is named",
        ),
    ],
)
def test_a_broken_file_is_one_clear_line(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        decode(text, "s.json")
    assert str(refused.value).startswith("s.json: ")
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_missing_file_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path / "none.json")


def test_a_snapshot_is_decided() -> None:
    snapshot = a_snapshot({"n1": "0.91", "n2": "0.12", "n3": "0.15"})
    cycle = decide_snapshot(snapshot)
    assert [eviction.node for eviction in cycle.evictions] == ["n1", "n1"]
    assert all(eviction.background for eviction in cycle.evictions)


def test_a_snapshot_knows_whether_the_gate_was_on() -> None:
    snapshot = a_snapshot({"n1": "0.91", "n2": "0.12"}, evictions_in_background=False)
    assert decide_snapshot(snapshot).evictions == ()


def test_a_decision_survives_the_file() -> None:
    snapshot = a_snapshot({"n1": "0.91", "n2": "0.12", "n3": "0.15"})
    again = decode(encode(snapshot, "yaml"))
    names = [[e.pod.name for e in decide_snapshot(s).evictions] for s in (snapshot, again)]
    assert names[0] == names[1] != []


def test_pods_that_say_they_are_being_evicted_are_in_flight() -> None:
    going = {REQUEST_EVICT_ONLY: "", EVICTION_IN_PROGRESS: "true"}
    snapshot = a_snapshot(
        {"n1": "0.9", "n2": "0.1"},
        pods=(a_launcher("a", "n1", annotations=going), a_launcher("b", "n1")),
        in_flight=(InFlightEviction("other", "n2", "default", NOON),),
    )
    entries = inflight_of(snapshot).entries
    assert entries["uid-a"].assumed_at is None
    assert entries["other"].assumed_at == NOON.timestamp()
    (run,) = decide_snapshot(snapshot).runs
    assert [step.outcome for step in run.visits[0].steps] == [
        PodOutcome.IN_FLIGHT,
        PodOutcome.BACKGROUND,
    ]


def test_finished_and_unplaced_pods_are_not_listed_but_finished_ones_are_counted() -> None:
    """P10."""
    owner = (Owner("ReplicaSet", "rs"),)
    snapshot = a_snapshot(
        {"n1": "0.9", "n2": "0.1"},
        pods=(
            a_launcher("done", "n1", phase="Succeeded", owners=owner),
            a_launcher("failed", "n1", phase="Failed", owners=owner),
            a_launcher("pending", "", phase="Pending", owners=owner),
            a_launcher("running", "n1", owners=owner),
        ),
    )
    view = SnapshotView(snapshot)
    assert [pod.name for pod in view.pods_on("n1")] == ["running"]
    assert view.replicas("rs") == 4


def test_pods_alike_share_their_traits() -> None:
    pods = tuple(a_launcher(f"vm-{at}", "n1") for at in range(50))
    view = SnapshotView(a_snapshot({"n1": "0.9"}, pods=pods))
    assert len({id(pod.traits) for pod in view.pods_on("n1")}) == 1


@pytest.mark.parametrize(
    ("query", "message"),
    [
        pytest.param(None, "the snapshot has none", id="no query"),
        pytest.param(QueryResult(NOON, error="timeout"), "metrics: timeout", id="an error"),
        pytest.param(QueryResult(NOON, result_type="scalar"), 'got "scalar" instead', id="scalar"),
        pytest.param(QueryResult(NOON, result_type="matrix"), 'got "matrix" instead', id="matrix"),
        pytest.param(QueryResult(NOON, result_type="string"), "unmarshalerDecoder", id="string"),
    ],
)
def test_a_query_without_vector(query: QueryResult | None, message: str) -> None:
    """P2."""
    answer = SnapshotView(a_snapshot({}, query=query)).samples()
    assert isinstance(answer, QueryFailure)
    assert message in answer.message


def test_samples_keep_their_order_and_their_gaps() -> None:
    samples = (Sample({"node": "n1"}, "0.5"), Sample({"instance": "n2"}, "+Inf"))
    snapshot = a_snapshot({}, query=QueryResult(NOON, samples=samples))
    answer = SnapshotView(snapshot).samples()
    assert isinstance(answer, Vector)
    assert list(answer.instances) == [None, "n2"]
    assert answer.values.tolist() == [0.5, float("inf")]


def test_what_the_rules_read_of_a_pod() -> None:
    traits = traits_of(
        a_launcher(
            "x",
            "n1",
            annotations={EVICT: "false", "kubernetes.io/config.source": "file"},
            owners=(Owner("DaemonSet", "d"), Owner("Other", "o")),
            volumes=(Volume("hostPath"), Volume("persistentVolumeClaim", "data"), Volume("nfs")),
        )
    )
    # Presence of the annotation is enough, whatever its value.
    assert (traits.evict, traits.static, traits.mirror) == (True, True, False)
    assert (traits.owners, traits.daemon_set) == (2, True)
    assert (traits.local_storage, traits.claims) == (True, ("data",))
    assert not traits_of(
        a_launcher("y", "n1", annotations={"kubernetes.io/config.source": "api"})
    ).static


def requests(**fields: Any) -> dict[str, float]:
    pod = SnapshotPod("ns", "p", "u", **fields)
    return {name: nano / 1e9 for name, nano in requests_of(pod).items()}


CPU_1, CPU_2, CPU_5 = (ContainerResources({"cpu": str(n)}) for n in (1, 2, 5))
SIDECAR_2 = ContainerResources({"cpu": "2"}, {}, "Always")


@pytest.mark.parametrize(
    ("fields", "cpu"),
    [
        pytest.param({"containers": (CPU_1, CPU_2)}, 3, id="containers add up"),
        pytest.param(
            {"containers": (CPU_1,), "init_containers": (CPU_5, CPU_2)},
            5,
            id="init containers run one after the other",
        ),
        pytest.param(
            {"containers": (CPU_1,), "init_containers": (SIDECAR_2,)}, 3, id="a sidecar stays"
        ),
        pytest.param(
            {"containers": (CPU_1,), "init_containers": (SIDECAR_2, CPU_5)},
            7,
            id="an init container beside the sidecar before it",
        ),
        pytest.param(
            {"containers": (CPU_1,), "init_containers": (CPU_5, SIDECAR_2)},
            5,
            id="a sidecar that starts later does not count for it",
        ),
        pytest.param(
            {"containers": (CPU_5,), "pod_requests": {"cpu": "2"}}, 2, id="pod level replaces"
        ),
        pytest.param(
            {"containers": (CPU_5,), "pod_requests": {"cpu": "2"}, "overhead": {"cpu": "1"}},
            3,
            id="overhead comes on top",
        ),
    ],
)
def test_effective_requests(fields: Any, cpu: float) -> None:
    assert requests(**fields) == {"cpu": cpu}


def test_pod_level_requests_replace_supported_resources_only() -> None:
    gpu = ContainerResources({"example.com/gpu": "1"})
    level = {"example.com/gpu": "5", "hugepages-2Mi": "4Mi"}
    assert requests(containers=(gpu,), pod_requests=level) == {
        "example.com/gpu": 1.0,
        "hugepages-2Mi": 4 * 1024**2,
    }


BOTH = {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("containers", "expected"),
    [
        pytest.param((ContainerResources(),), Qos.BEST_EFFORT, id="nothing asked for"),
        pytest.param((ContainerResources({"cpu": "0"}),), Qos.BEST_EFFORT, id="zero is nothing"),
        pytest.param(
            (ContainerResources({"x/gpu": "1"}),), Qos.BEST_EFFORT, id="only cpu and memory count"
        ),
        pytest.param((ContainerResources(BOTH, BOTH),), Qos.GUARANTEED, id="limits equal requests"),
        pytest.param(
            (ContainerResources(BOTH, BOTH), ContainerResources()), Qos.BURSTABLE, id="not of each"
        ),
        pytest.param((ContainerResources(BOTH),), Qos.BURSTABLE, id="requests alone"),
        pytest.param((ContainerResources({}, BOTH),), Qos.BURSTABLE, id="limits alone"),
        pytest.param(
            (ContainerResources(BOTH, {**BOTH, "cpu": "2"}),), Qos.BURSTABLE, id="more allowed"
        ),
    ],
)
def test_qos_is_derived_where_the_status_is_silent(
    containers: tuple[ContainerResources, ...], expected: Qos
) -> None:
    assert qos_of(SnapshotPod("ns", "p", "u", containers=containers)) is expected


def test_the_stated_qos_wins() -> None:
    pod = SnapshotPod("ns", "p", "u", qos_class="Guaranteed", containers=(ContainerResources(),))
    assert qos_of(pod) is Qos.GUARANTEED
