"""Kubernetes manifests of the snapshot's nodes and pods: the way back from `trimtab.observe`."""

from collections.abc import Mapping
from typing import Any

from msgspec import structs

from trimtab.model.snapshot import (
    MIRROR,
    AntiAffinityTerm,
    ContainerResources,
    Expression,
    Match,
    NodeTerm,
    SnapshotNode,
    SnapshotPod,
    Volume,
)

Manifest = dict[str, Any]
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def pod_manifest(pod: SnapshotPod, grace_s: int = 0) -> Manifest:
    """With `grace_s` 0 a pod is gone as soon as it is evicted; there is no kubelet to wait for."""
    spec: Manifest = {
        "nodeName": pod.node,
        "terminationGracePeriodSeconds": grace_s,
        "containers": [_container(f"c{at}", c) for at, c in enumerate(pod.containers)],
        "initContainers": [_container(f"i{at}", c) for at, c in enumerate(pod.init_containers)],
        "volumes": [_volume(f"v{at}", v) for at, v in enumerate(pod.volumes)],
        "tolerations": [_sparse(structs.asdict(t)) for t in pod.tolerations],
        "nodeSelector": pod.node_selector,
        "affinity": _affinity(pod),
        "overhead": pod.overhead or None,
        "resources": {"requests": pod.pod_requests} if pod.pod_requests else None,
        "resourceClaims": [
            {"name": f"r{at}", "resourceClaimName": "any"} for at in range(pod.resource_claims)
        ],
        "priority": pod.priority,
    }
    metadata = {"name": pod.name, "namespace": pod.namespace, **pod_metadata(pod)}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {key: value for key, value in spec.items() if value is not None},
    }


def pod_metadata(pod: SnapshotPod) -> Manifest:
    """What may change in the life of a pod."""
    owners = [
        {"apiVersion": "v1", "kind": owner.kind, "name": f"owner-{owner.uid}", "uid": owner.uid}
        for owner in pod.owners
    ]
    return {"labels": pod.labels, "annotations": pod.annotations, "ownerReferences": owners}


def pod_status(pod: SnapshotPod) -> Manifest:
    started = None if pod.start_time is None else pod.start_time.strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"phase": pod.phase, "startTime": started}


def for_good(pod: SnapshotPod) -> SnapshotPod:
    """What cannot change in the life of a pod; if it should, another pod takes its name."""
    mirror = {k: v for k, v in pod.annotations.items() if k == MIRROR}
    return structs.replace(
        pod,
        uid="",
        phase="",
        terminating=False,
        start_time=None,
        labels={},
        annotations=mirror,
        owners=(),
        qos_class="",
    )


def node_manifest(node: SnapshotNode) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node.name, "labels": node.labels},
        "spec": node_spec(node),
    }


def node_spec(node: SnapshotNode) -> Manifest:
    taints = [{"key": t.key, "value": t.value, "effect": t.effect} for t in node.taints]
    return {"unschedulable": node.unschedulable, "taints": taints}


def node_status(node: SnapshotNode) -> Manifest:
    ready = None if node.ready is None else [_ready(node.ready)]
    return {"allocatable": node.allocatable, "capacity": node.capacity, "conditions": ready}


def merge(old: Mapping[str, str], new: Mapping[str, str]) -> dict[str, str | None]:
    """A merge patch that turns one mapping into the other."""
    return {**dict.fromkeys(old.keys() - new.keys()), **new}


def _ready(is_ready: bool) -> Manifest:
    return {"type": "Ready", "status": "True" if is_ready else "False"}


def _container(name: str, container: ContainerResources) -> Manifest:
    resources = {"requests": container.requests, "limits": container.limits}
    made: Manifest = {"name": name, "image": "none", "resources": resources}
    if container.restart_policy:
        made["restartPolicy"] = container.restart_policy
    return made


def _volume(name: str, volume: Volume) -> Manifest:
    details: Manifest = {}
    if volume.kind == "persistentVolumeClaim":
        details = {"claimName": volume.claim}
    if volume.kind == "hostPath":
        details = {"path": "/none"}
    return {"name": name, volume.kind: details}


def _affinity(pod: SnapshotPod) -> Manifest | None:
    made: Manifest = {}
    if pod.node_affinity is not None:
        terms = [_node_term(term) for term in pod.node_affinity]
        made["nodeAffinity"] = {_REQUIRED: {"nodeSelectorTerms": terms}}
    if pod.anti_affinity:
        made["podAntiAffinity"] = {_REQUIRED: [_pod_term(term) for term in pod.anti_affinity]}
    return made or None


def _node_term(term: NodeTerm) -> Manifest:
    return {
        "matchExpressions": [_expression(e) for e in term.match_expressions],
        "matchFields": [_expression(e) for e in term.match_fields],
    }


def _pod_term(term: AntiAffinityTerm) -> Manifest:
    made: Manifest = {"topologyKey": term.topology_key, "namespaces": list(term.namespaces)}
    if term.label_selector is not None:
        made["labelSelector"] = _match(term.label_selector)
    return made


def _match(match: Match) -> Manifest:
    return {
        "matchLabels": match.match_labels,
        "matchExpressions": [_expression(e) for e in match.match_expressions],
    }


def _expression(expression: Expression) -> Manifest:
    return _sparse(
        {
            "key": expression.key,
            "operator": expression.operator,
            "values": list(expression.values),
        }
    )


def _sparse(given: Mapping[str, Any]) -> Manifest:
    return {key: value for key, value in given.items() if value}
