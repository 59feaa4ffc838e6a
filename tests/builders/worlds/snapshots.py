"""Snapshots of clusters with virt-launcher pods, and a strategy that makes all sorts of them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import yaml
from hypothesis import strategies as st
from msgspec.structs import replace

from trimtab.model.nodes_and_vms import Taint
from trimtab.model.snapshot import (
    CONFIG_SOURCE,
    EVICT,
    EVICTION_IN_PROGRESS,
    MIRROR,
    PREFER_NO_EVICTION,
    REQUEST_EVICT_ONLY,
    AntiAffinityTerm,
    Claim,
    ContainerResources,
    Expression,
    InFlightEviction,
    Match,
    NodeTerm,
    Owner,
    QueryResult,
    Sample,
    Snapshot,
    SnapshotNamespace,
    SnapshotNode,
    SnapshotPod,
    SnapshotVm,
    Toleration,
    Volume,
)
from trimtab.policy.cycle import Cycle
from trimtab.policy.decision import decide
from trimtab.policy.snapshot_view import SnapshotView, inflight_of, policy_of
from trimtab.truth.explain.outcome_texts import answers_of

NOON = datetime(2026, 7, 1, 12, 0, 0, tzinfo=UTC)
WORKER = {"kubevirt.io/schedulable": "true"}
ROOM = {"cpu": "32", "memory": "128Gi", "pods": "110"}
SOFT = Taint("nodeutilization.descheduler.openshift.io/appropriate", "true", "PreferNoSchedule")


def a_launcher(name: str, node: str, **fields: Any) -> SnapshotPod:
    """A virt-launcher pod as KubeVirt makes them."""
    return SnapshotPod(
        **{
            "namespace": "default",
            "name": name,
            "uid": f"uid-{name}",
            "node": node,
            "start_time": NOON - timedelta(hours=1),
            "labels": {"kubevirt.io": "virt-launcher"},
            "owners": (Owner("VirtualMachineInstance", f"vmi-{name}"),),
            "annotations": {REQUEST_EVICT_ONLY: ""},
            "volumes": (Volume("emptyDir"),),
            "qos_class": "Burstable",
            "containers": (ContainerResources({"cpu": "100m", "memory": "1Gi"}),),
            **fields,
        }
    )


def a_snapshot(
    percent: dict[str, float], policy: str | dict[str, Any] | None = None, **fields: Any
) -> Snapshot:
    """Nodes with these percents (in the middle of each), three pods a node."""
    samples = tuple(Sample({"instance": n}, repr((p + 0.5) / 100)) for n, p in percent.items())
    text = policy if isinstance(policy, str) else _written(policy or a_policy())
    return Snapshot(
        **{
            "taken_at": NOON,
            "policy": text,
            "query": QueryResult(time=NOON, query="score", samples=samples),
            "nodes": tuple(SnapshotNode(n, WORKER, allocatable=ROOM) for n in percent),
            "pods": tuple(a_launcher(f"vm-{n}-{at}", n) for n in percent for at in range(3)),
            "namespaces": (SnapshotNamespace("default"),),
            **fields,
        }
    )


def _written(policy: dict[str, Any]) -> str:
    text: str = yaml.dump(policy, Dumper=yaml.CSafeDumper)
    return text


def with_vms(snapshot: Snapshot, cpu: str = "2", memory: str = "4Gi") -> Snapshot:
    """Each pod a VM of that size."""
    vms = tuple(
        SnapshotVm("default", pod.name, pod.uid, cpu=cpu, memory=memory) for pod in snapshot.pods
    )
    return replace(snapshot, vms=vms)


def a_policy(
    low: float = 0,
    high: float = 10,
    *,
    evictor: dict[str, Any] | None = None,
    args: dict[str, Any] | None = None,
    **policy: Any,
) -> dict[str, Any]:
    """A policy like trimtab's default, as a tree; `args` are the plugin's, None removes one."""
    plugin = {
        "useDeviationThresholds": True,
        "thresholds": {"MetricResource": low},
        "targetThresholds": {"MetricResource": high},
        "metricsUtilization": {"source": "Prometheus", "prometheus": {"query": "score"}},
        "evictionLimits": {"node": 2},
        **(args or {}),
    }
    protections = {"podProtections": {"defaultDisabled": ["PodsWithLocalStorage"]}}
    server = {
        "source": "Prometheus",
        "prometheus": {"url": "http://prometheus.monitoring.svc:9090"},
    }
    tree = {
        "apiVersion": "descheduler/v1alpha2",
        "kind": "DeschedulerPolicy",
        "nodeSelector": "kubevirt.io/schedulable=true",
        "maxNoOfPodsToEvictTotal": 5,
        "maxNoOfPodsToEvictPerNode": 2,
        "metricsProviders": [server],
        "profiles": [
            {
                "name": "p",
                "pluginConfig": [
                    {
                        "name": "LowNodeUtilization",
                        "args": {k: v for k, v in plugin.items() if v is not None},
                    },
                    {
                        "name": "DefaultEvictor",
                        "args": protections if evictor is None else evictor,
                    },
                ],
                "plugins": {"balance": {"enabled": ["LowNodeUtilization"]}},
            }
        ],
        **policy,
    }
    return {k: v for k, v in tree.items() if v is not None}


# All sorts of clusters, small enough that everything meets everything

_LABELS = st.dictionaries(
    st.sampled_from(("team", "acme.example/zone", "rank", "kubernetes.io/hostname")),
    st.sampled_from(("red", "blue", "7", "12", "n-b", "")),
    max_size=3,
)
_EXPRESSIONS = st.one_of(
    st.builds(Expression, st.sampled_from(("team", "rank")), st.just("Exists")),
    st.builds(
        Expression,
        st.sampled_from(("team", "acme.example/zone")),
        st.sampled_from(("In", "NotIn")),
        st.tuples(st.sampled_from(("red", "blue", "n-b"))),
    ),
    st.builds(
        Expression,
        st.just("rank"),
        st.sampled_from(("Gt", "Lt")),
        st.tuples(st.sampled_from(("7", "10", "12"))),
    ),
)
_TAINTS = st.builds(
    Taint,
    st.sampled_from(("dedicated", "acme.example/gpu", SOFT.key)),
    st.sampled_from(("red", "7", "")),
    st.sampled_from(("NoSchedule", "PreferNoSchedule", "NoExecute")),
)
_TOLERATIONS = st.builds(
    Toleration,
    st.sampled_from(("dedicated", "acme.example/gpu", SOFT.key, "")),
    st.sampled_from(("Exists", "Equal", "Lt", "Gt")),
    st.sampled_from(("red", "7", "12", "")),
    st.sampled_from(("", "NoSchedule", "PreferNoSchedule")),
)
_ANNOTATIONS = st.dictionaries(
    st.sampled_from(
        (
            EVICT,
            PREFER_NO_EVICTION,
            REQUEST_EVICT_ONLY,
            REQUEST_EVICT_ONLY,
            EVICTION_IN_PROGRESS,
            MIRROR,
            CONFIG_SOURCE,
        )
    ),
    st.sampled_from(("", "api", "file")),
    max_size=2,
)
_VOLUMES = ((), (Volume("emptyDir"),), (Volume("persistentVolumeClaim", "ledger"),))
NAMES = ("n-a", "n-b", "n-c", "n-d", "n-e")


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    """Clusters of two to five nodes with a query, and any policy that is not refused."""
    names = draw(st.permutations(NAMES[: draw(st.integers(2, 5))]))
    nodes = tuple(
        SnapshotNode(
            name,
            {**WORKER, **draw(_LABELS)},
            tuple(draw(st.lists(_TAINTS, max_size=1))),
            unschedulable=draw(st.sampled_from((False, False, False, True))),
            ready=draw(st.sampled_from((True, True, True, None, False))),
            allocatable=ROOM,
        )
        for name in names
    )
    pods = tuple(
        _a_pod(draw, f"vm-{number}", draw(st.sampled_from(names)))
        for number in range(draw(st.integers(0, 8)))
    )
    flying = draw(st.lists(st.sampled_from(pods), max_size=2)) if pods else []
    return a_snapshot(
        {},
        draw(policies()),
        nodes=nodes,
        pods=pods,
        query=_a_query(draw, names),
        namespaces=(
            SnapshotNamespace("default", {"kubernetes.io/metadata.name": "default"}),
            SnapshotNamespace("payroll", draw(_LABELS)),
        ),
        claims=(Claim("payroll", "ledger", "gold"), Claim("default", "ledger")),
        priority_classes={"important": 1000},
        in_flight=tuple(InFlightEviction(p.uid, p.node, p.namespace) for p in flying),
        evictions_in_background=draw(st.booleans()),
    )


def _a_query(draw: st.DrawFn, names: list[str]) -> QueryResult:
    percents = st.integers(0, 99).map(lambda p: (p + 0.5) / 100)
    values = percents | st.sampled_from((0.0, 0.28, 0.29, 0.9, 1.0, 1.5))
    samples = [
        Sample({"instance": n, "node": n, "pod": "exporter"}, repr(draw(values))) for n in names
    ]
    flaw = draw(st.sampled_from(("", "", "", "", "missing", "unnamed", "twice")))
    if flaw == "missing":
        samples = samples[1:]
    elif flaw == "unnamed":
        samples[0] = Sample({"node": names[0]}, samples[0].value)
    elif flaw == "twice":
        samples.append(Sample({"instance": names[0]}, "0.5"))
    return QueryResult(time=NOON, query='score{cluster="payroll-prod"}', samples=tuple(samples))


def _a_pod(draw: st.DrawFn, name: str, node: str) -> SnapshotPod:
    terms = st.builds(NodeTerm, st.lists(_EXPRESSIONS, min_size=1, max_size=2).map(tuple))
    selector = st.builds(Match, st.just({"team": "red"}))
    return a_launcher(
        name,
        node,
        namespace=draw(st.sampled_from(("default", "payroll"))),
        labels=draw(_LABELS),
        annotations={REQUEST_EVICT_ONLY: "", **draw(_ANNOTATIONS)},
        priority=draw(st.sampled_from((None, 0, 0, 500, 2_000_000_000))),
        start_time=NOON - timedelta(minutes=draw(st.sampled_from((1, 30, 600)))),
        volumes=tuple(
            draw(
                st.lists(
                    st.sampled_from(
                        (Volume("emptyDir"), Volume("persistentVolumeClaim", "ledger"))
                    ),
                    max_size=2,
                )
            )
        ),
        tolerations=tuple(draw(st.lists(_TOLERATIONS, max_size=2))),
        node_affinity=draw(st.none() | st.lists(terms, max_size=2).map(tuple)),
        anti_affinity=tuple(
            draw(
                st.lists(
                    st.builds(
                        AntiAffinityTerm,
                        st.sampled_from(("kubernetes.io/hostname", "team")),
                        selector,
                    ),
                    max_size=1,
                )
            )
        ),
    )


@st.composite
def policies(draw: st.DrawFn) -> dict[str, Any]:
    """Policies with any of the settings that can stop an eviction."""
    evictor: dict[str, Any] = {
        "nodeFit": draw(st.booleans()),
        "podProtections": draw(
            st.sampled_from(
                (
                    {"defaultDisabled": ["PodsWithLocalStorage"]},
                    {"defaultDisabled": ["PodsWithLocalStorage"], "extraEnabled": ["PodsWithPVC"]},
                    {},
                    {"extraEnabled": ["PodsWithoutPDB"]},
                )
            )
        ),
    }
    settings: list[dict[str, Any]] = [
        {},
        {},
        {"noEvictionPolicy": "Mandatory"},
        {"labelSelector": {"matchLabels": {"team": "red"}}},
        {"minPodAge": "10m"},
        {"priorityThreshold": {"name": "important"}},
        {"namespaceLabelSelector": {"matchLabels": {"team": "blue"}}},
        {"nodeSelector": "acme.example/zone in (red,blue)"},
    ]
    evictor |= draw(st.sampled_from(settings))
    deviation = draw(st.booleans())
    low, high = sorted(draw(st.tuples(st.integers(0, 30), st.integers(0, 90))))
    limits = st.sampled_from((None, None, 0, 1, 3))
    return a_policy(
        low,
        high,
        evictor=evictor,
        args={
            "useDeviationThresholds": deviation,
            "evictionLimits": draw(st.sampled_from((None, {"node": 0}, {"node": 2}))),
            "numberOfNodes": draw(st.sampled_from((0, 0, 1))),
            "evictableNamespaces": draw(st.sampled_from((None, {"exclude": ["payroll"]}))),
        },
        maxNoOfPodsToEvictTotal=draw(limits),
        maxNoOfPodsToEvictPerNode=draw(limits),
        maxNoOfPodsToEvictPerNamespace=draw(limits),
        nodeSelector=draw(st.sampled_from((None, "kubevirt.io/schedulable=true", "team!=red"))),
    )


def decide_as_answered(snapshot: Snapshot) -> Cycle:
    """The cycle on this snapshot, with the answers that its VMs would get."""
    return decide(
        SnapshotView(snapshot),
        policy_of(snapshot),
        inflight_of(snapshot),
        background=snapshot.evictions_in_background,
        answer=answers_of(snapshot),
    )
