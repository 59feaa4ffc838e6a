"""The 20 nodes and 200 pods that every case starts from: all kinds of pods on all nodes.

Half of the pods are plain VMs; the others each have something that some rule looks at. A pod
is never near a limit of age, so that the length of a run decides nothing.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from random import Random
from typing import Any

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
    Match,
    NodeTerm,
    Owner,
    SnapshotNamespace,
    SnapshotNode,
    SnapshotPod,
    Toleration,
    Volume,
)

OLD = datetime(2025, 1, 1, tzinfo=UTC)
NAMESPACES = (
    SnapshotNamespace("a", {"team": "t"}),
    SnapshotNamespace("b", {}),
    SnapshotNamespace("c", {"team": "u"}),
)
CLAIMS = tuple(
    Claim(namespace.name, name, "" if name == "none" else name)
    for namespace in NAMESPACES
    for name in ("fast", "slow", "none")
)
PODS_PER_NODE = (16,) * 5 + (10,) * 10 + (4,) * 5
"""Heavy, middling and light nodes: what a balance of requests has to do with."""
_VM = {REQUEST_EVICT_ONLY: ""}
_TOLERATIONS = (
    Toleration("soft", "Exists"),
    Toleration("", "Exists"),
    Toleration("hard", "Equal", "x", "NoSchedule"),
    Toleration("other", "Exists"),
)
_SIZES = (
    ContainerResources({"cpu": "100m", "memory": "256Mi"}),
    ContainerResources({"cpu": "250m", "memory": "100M"}, {"cpu": "500m"}),
    ContainerResources({"cpu": "33m", "memory": "1Gi"}),
    ContainerResources({"cpu": "150m", "memory": "300Mi"}, {"cpu": "150m", "memory": "300Mi"}),
    ContainerResources(),
)
MISFITS: tuple[Mapping[str, Any], ...] = (
    {"node_selector": {"zone": "nowhere"}},
    {"node_affinity": (NodeTerm((Expression("cores", "Gt", ("99",)),)),)},
    {"containers": (ContainerResources({"cpu": "3950m"}),)},
    {"containers": (ContainerResources({"example.com/gpu": "9"}, {"example.com/gpu": "9"}),)},
    {
        "anti_affinity": (
            AntiAffinityTerm("cores", Match({}, (Expression("app", "Exists"),)), ("a",)),
        )
    },
    {"node_selector": {"zone": "a"}},
)
"""Pods that few or no other nodes would take (2.2)."""
CLAIMANTS: tuple[Mapping[str, Any], ...] = (
    *({"volumes": (Volume("persistentVolumeClaim", name),)} for name in ("fast", "slow", "none")),
    {"volumes": (Volume("persistentVolumeClaim", "missing"),)},
    *({"resource_claims": 1} for _ in range(4)),
)
"""Pods with claims of either kind (2.1.4)."""
UNMEASURED: tuple[Mapping[str, Any], ...] = (
    {"containers": (ContainerResources(),)},
    {"containers": (ContainerResources({"example.com/disk": "1"}, {"example.com/disk": "1"}),)},
)
"""Pods that request neither cpu nor memory (1.7)."""
SPECIALS: tuple[Mapping[str, Any], ...] = (
    {"annotations": {EVICT: "", REQUEST_EVICT_ONLY: ""}},
    {"annotations": {PREFER_NO_EVICTION: "", REQUEST_EVICT_ONLY: ""}},
    {"annotations": {MIRROR: "x"}},
    {"annotations": {CONFIG_SOURCE: "file"}},
    {"annotations": {CONFIG_SOURCE: "api"}},
    {"annotations": {}},
    {"volumes": (Volume("emptyDir"),)},
    {"volumes": (Volume("hostPath"),)},
    {"volumes": (Volume("persistentVolumeClaim", "fast"),)},
    {"volumes": (Volume("persistentVolumeClaim", "slow"),)},
    {"volumes": (Volume("persistentVolumeClaim", "none"),)},
    {"volumes": (Volume("persistentVolumeClaim", "missing"),)},
    {"owners": ()},
    {"owners": (Owner("DaemonSet", "ds"),)},
    {"owners": (Owner("A", "a1"), Owner("B", "b1"))},
    {"owners": (Owner("VirtualMachineInstance", "single-0"),)},
    {"priority": 2_000_000_000},
    {"priority": 2_000_000_000, "annotations": {EVICT: ""}},
    {"priority": 1_000},
    {"priority": None},
    {"priority": -7, "annotations": {PREFER_NO_EVICTION: ""}},
    {"resource_claims": 1},
    {"start_time": None},
    {"phase": "Succeeded"},
    {"phase": "Failed", "owners": ()},
    {"phase": "Pending", "start_time": None},
    {"terminating": True},
    {"terminating": True, "annotations": {EVICT: ""}},
    {"labels": {"tier": "y"}},
    {"node_selector": {"zone": "a"}},
    {"node_affinity": (NodeTerm((Expression("zone", "NotIn", ("a",)),)),)},
    {
        "node_affinity": (
            NodeTerm((Expression("cores", "Gt", ("6",)),)),
            NodeTerm((), (Expression("metadata.name", "In", ("n03",)),)),
        )
    },
    {"anti_affinity": (AntiAffinityTerm("rack", Match({"app": "x"}), ()),)},
    {
        "anti_affinity": (
            AntiAffinityTerm("zone", Match({}, (Expression("tier", "Exists"),)), ("b",)),
        )
    },
    {
        "containers": (
            ContainerResources({"cpu": "100m", "example.com/gpu": "1"}, {"example.com/gpu": "1"}),
        )
    },
    {"containers": (ContainerResources({"cpu": "3500m"}),)},
    {"containers": (ContainerResources({"cpu": "7m"}), ContainerResources({"memory": "123456"}))},
    {
        "init_containers": (
            ContainerResources({"cpu": "300m"}),
            ContainerResources({"memory": "64Mi"}, {}, "Always"),
        ),
    },
    {"overhead": {"cpu": "10m"}},
    {"pod_requests": {"cpu": "90m"}, "containers": (ContainerResources({"cpu": "20m"}),)},
)


def base_nodes(seed: str) -> tuple[SnapshotNode, ...]:
    """Twenty nodes that differ in zone, rack, size and in what they can hold."""
    random = Random(f"{seed}: nodes")
    return tuple(_node(random, number) for number in range(len(PODS_PER_NODE)))


def _node(random: Random, number: int) -> SnapshotNode:
    labels = {"zone": random.choice("aab"), "cores": random.choice(["4", "8", "x"])}
    if random.random() < 0.5:
        labels["rack"] = random.choice("rs")
    room = {
        "cpu": random.choice(["4", "3920m", "2", "4"]),
        "memory": random.choice(["8Gi", "7999999999", "6Gi"]),
        "pods": random.choice(["10", "17", "20", "110"]),
    }
    if random.random() < 0.4:
        room["example.com/gpu"] = random.choice(["2", "4", "0"])
    whole = {**room, "cpu": "8", "memory": "32Gi"}
    return SnapshotNode(f"n{number:02}", labels, (), False, True, room, whole)


def base_pods(seed: str) -> dict[tuple[str, str], SnapshotPod]:
    """Two hundred pods; names say on which node they are."""
    random = Random(f"{seed}: pods")
    pods = [
        _pod(random, f"n{number:02}", at)
        for number, count in enumerate(PODS_PER_NODE)
        for at in range(count)
    ]
    return {(pod.namespace, pod.name): pod for pod in pods}


def _pod(random: Random, node: str, at: int) -> SnapshotPod:
    # in turn, so that a few nodes have all kinds
    turn = [SPECIALS[(at // 2 + 8 * int(node[1:])) % len(SPECIALS)]] if at % 2 else []
    return new_pod(random, node, f"p{at:02}-{node}", specials=turn)


def new_pod(
    random: Random,
    node: str,
    name: str,
    namespace: str = "",
    specials: Sequence[Mapping[str, Any]] = (),
) -> SnapshotPod:
    """A VM, or one that differs in one of these things."""
    fields: dict[str, Any] = {
        "annotations": _VM if random.random() < 0.8 else {},
        "owners": (Owner("VirtualMachineInstance", f"o{random.randrange(150)}"),),
        "priority": random.choice([0, 0, 0, 0, 5, None]),
        "containers": (random.choice(_SIZES),),
        "start_time": OLD,
        "labels": {"app": random.choice("xxy")},
        "tolerations": tuple(
            random.choice(_TOLERATIONS) for _ in range(random.choice([0, 0, 1, 2]))
        ),
    }
    if specials:
        fields.update(random.choice(specials))
    namespace = namespace or random.choice("aabc")
    return SnapshotPod(namespace, name, "", node, **{"phase": "Running", **fields})


def in_progress(pod: SnapshotPod) -> dict[str, str]:
    """Its annotations while a migration of it is under way."""
    return {**pod.annotations, EVICTION_IN_PROGRESS: "true"}
