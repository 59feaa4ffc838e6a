"""Random small clusters as API objects, with whatever restricts where pods may go."""

from random import Random
from typing import Any

from msgspec import Struct

Object = dict[str, Any]
NAMESPACES = ("shop", "other")
ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
SCHEDULABLE = "kubevirt.io/schedulable"
_APPS = ("db", "web", "cache")
_TAINTS = (
    {"key": "dedicated", "value": "db", "effect": "NoSchedule"},
    {"key": "gpu", "effect": "NoSchedule"},
    {"key": "repair", "effect": "NoExecute"},
    {"key": "old", "value": "very", "effect": "PreferNoSchedule"},
    {"key": "noisy", "effect": "PreferNoSchedule"},
)
_TOLERATIONS = (
    {"key": "dedicated", "operator": "Equal", "value": "db", "effect": "NoSchedule"},
    {"key": "dedicated", "operator": "Equal", "value": "web"},
    {"key": "gpu", "operator": "Exists"},
    {"key": "repair", "operator": "Exists", "effect": "NoExecute"},
    {"key": "repair", "operator": "Exists", "effect": "NoSchedule"},
    {"key": "old", "operator": "Exists"},
    {"key": "noisy", "operator": "Exists", "effect": "PreferNoSchedule"},
    {"operator": "Exists", "effect": "NoSchedule"},
    {"operator": "Exists"},
)


class Placement(Struct, frozen=True):
    """A cluster before a few pods are scheduled: `ground` and `vms` are bound to nodes."""

    nodes: list[Object]
    ground: list[Object]
    vms: list[Object]
    wanted: list[Object]


def a_placement(rng: Random, name: str, *, wanted: int) -> Placement:
    """Names of nodes and pods begin with `name`."""
    nodes = [_node(rng, f"{name}-n{at}") for at in range(rng.randint(4, 7))]
    if rng.random() < 0.5:  # where nodes are alike, small differences decide
        for node in nodes:
            node["status"] = nodes[0]["status"]
    names = [node["metadata"]["name"] for node in nodes]
    ground = [
        _bound(_pod(rng, f"{name}-ground-{at}", plain=True), rng.choice(names))
        for at in range(rng.randint(0, 8))
    ]
    vms = [
        _bound(_pod(rng, f"{name}-vm-{at}", plain=False), rng.choice(names))
        for at in range(rng.randint(0, 4))
    ]
    new = [_pod(rng, f"{name}-new-{at}", plain=False) for at in range(wanted)]
    return Placement(nodes, ground, vms, new)


def _node(rng: Random, name: str) -> Object:
    labels = {HOSTNAME: name, "disk": rng.choice(("fast", "slow"))}
    labels[SCHEDULABLE] = "false" if rng.random() < 0.06 else "true"
    labels["generation"] = str(rng.randint(1, 4))
    if rng.random() < 0.85:
        labels[ZONE] = rng.choice("abc")
    has = {
        "cpu": str(rng.choice((4, 8, 16))),
        "memory": f"{rng.choice((8, 16, 32))}Gi",
        "pods": str(rng.choice((6, 10, 20))),
    }
    taints = [taint for taint in _TAINTS if rng.random() < 0.13]
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"unschedulable": rng.random() < 0.1, "taints": taints},
        "status": {"capacity": has, "allocatable": has},
    }


def _pod(rng: Random, name: str, *, plain: bool) -> Object:
    """A virt-launcher pod; a plain one is another pod that may request nothing."""
    spec: Object = {"containers": [_container(rng, plain)]}
    affinity: Object = {}
    if not plain:
        spec["nodeSelector"] = {SCHEDULABLE: "true"}
        if rng.random() < 0.25:
            spec["nodeSelector"]["disk"] = rng.choice(("fast", "slow"))
        spec["tolerations"] = [each for each in _TOLERATIONS if rng.random() < 0.12]
        if rng.random() < 0.3:
            terms = [_node_term(rng, name) for _ in range(rng.randint(1, 2))]
            required = {"nodeSelectorTerms": terms}
            affinity["nodeAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": required}
    if rng.random() < (0.1 if plain else 0.35):
        terms = [_anti_affinity(rng) for _ in range(rng.randint(1, 2))]
        affinity["podAntiAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    labels = {"app": rng.choice(_APPS)} if rng.random() < 0.8 else {}
    return {
        "metadata": {"name": name, "namespace": rng.choice(NAMESPACES), "labels": labels},
        "spec": spec | ({"affinity": affinity} if affinity else {}),
    }


def _container(rng: Random, plain: bool) -> Object:
    requests = {
        "cpu": f"{rng.choice((100, 250, 500, 1000, 1500))}m",
        "memory": f"{rng.choice((256, 512, 1024, 3072))}Mi",
    }
    if plain:
        requests = {key: value for key, value in requests.items() if rng.random() < 0.4}
    return {"name": "compute", "image": "none", "resources": {"requests": requests}}


def _node_term(rng: Random, name: str) -> Object:
    conditions = (
        {"key": "disk", "operator": "In", "values": ["fast"]},
        {"key": ZONE, "operator": "In", "values": rng.sample("abc", 2)},
        {"key": ZONE, "operator": "NotIn", "values": [rng.choice("abc")]},
        {"key": ZONE, "operator": "Exists"},
        {"key": ZONE, "operator": "DoesNotExist"},
        {"key": "generation", "operator": "Gt", "values": ["2"]},
        {"key": "generation", "operator": "Lt", "values": ["3"]},
    )
    if rng.random() < 0.2:
        node = f"{name.partition('-')[0]}-n{rng.randint(0, 3)}"
        field = {"key": "metadata.name", "operator": "NotIn", "values": [node]}
        return {"matchFields": [field]}
    return {"matchExpressions": rng.sample(conditions, rng.randint(1, 2))}


def _anti_affinity(rng: Random) -> Object:
    app = rng.choice(_APPS)
    selector = rng.choice(
        (
            {"matchLabels": {"app": app}},
            {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": [app]}]},
            {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]},
        )
    )
    term: Object = {"topologyKey": rng.choice((HOSTNAME, ZONE)), "labelSelector": selector}
    if rng.random() < 0.25:
        term["namespaces"] = [rng.choice(NAMESPACES)]
    return term


def _bound(pod: Object, node: str) -> Object:
    return pod | {"spec": pod["spec"] | {"nodeName": node}}
