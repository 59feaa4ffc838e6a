"""From the API's objects to the snapshot's: the fields that some rule reads, and no others.

Annotations are the place where people put what nobody should see, so only those with a rule
are taken, and so are no environments, commands or images.
"""

from collections.abc import Mapping

from trimtab.kube.resources import Node
from trimtab.kube.resources import Toleration as WireToleration
from trimtab.model import snapshot as model
from trimtab.model.nodes_and_vms import Taint
from trimtab.observe import wire


def pod_of(pod: wire.Pod, observed: Mapping[str, str] | None = None) -> model.SnapshotPod:
    """One pod; `observed` are annotations of our own that say what was seen elsewhere."""
    meta, spec, status = pod.metadata, pod.spec, pod.status
    ruled = {k: v for k, v in meta.annotations.items() if k in model.ANNOTATIONS}
    return model.SnapshotPod(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        node=spec.node_name,
        phase=status.phase or "Pending",
        terminating=meta.deletion_timestamp is not None,
        start_time=status.start_time,
        labels=meta.labels,
        annotations={**ruled, **(observed or {})},
        owners=tuple(model.Owner(owner.kind, owner.uid) for owner in meta.owner_references),
        priority=spec.priority,
        qos_class=status.qos_class,
        containers=tuple(map(_container, spec.containers)),
        init_containers=tuple(map(_container, spec.init_containers)),
        pod_requests=spec.resources.requests if spec.resources else {},
        overhead=spec.overhead,
        volumes=tuple(map(_volume, spec.volumes)),
        resource_claims=len(spec.resource_claims),
        tolerations=tuple(map(_toleration, spec.tolerations)),
        node_selector=spec.node_selector,
        node_affinity=_node_affinity(spec.affinity),
        anti_affinity=_anti_affinity(spec.affinity),
    )


def node_of(node: Node) -> model.SnapshotNode:
    ready = [c.status == "True" for c in node.status.conditions if c.type == "Ready"]
    return model.SnapshotNode(
        name=node.metadata.name,
        labels=node.metadata.labels,
        taints=tuple(
            Taint(key=taint.key, value=taint.value, effect=taint.effect)  # type: ignore[arg-type]
            for taint in node.spec.taints
        ),
        unschedulable=node.spec.unschedulable,
        ready=ready[0] if ready else None,
        allocatable=node.status.allocatable,
        capacity=node.status.capacity,
    )


def claim_of(claim: wire.Claim) -> model.Claim:
    meta = claim.metadata
    return model.Claim(meta.namespace, meta.name, claim.spec.storage_class_name or "")


def _container(container: wire.Container) -> model.ContainerResources:
    resources = container.resources
    return model.ContainerResources(resources.requests, resources.limits, container.restart_policy)


def _volume(volume: Mapping[str, object]) -> model.Volume:
    kind = next((key for key in volume if key != "name"), "")
    source = volume.get(kind)
    if kind == "persistentVolumeClaim" and isinstance(source, dict):
        return model.Volume(kind, str(source.get("claimName", "")))
    return model.Volume(kind)


def _toleration(given: WireToleration) -> model.Toleration:
    return model.Toleration(given.key, given.operator, given.value, given.effect)


def _node_affinity(affinity: wire.Affinity | None) -> tuple[model.NodeTerm, ...] | None:
    if affinity is None or affinity.node_affinity is None:
        return None
    if affinity.node_affinity.required is None:
        return None
    return tuple(
        model.NodeTerm(_expressions(term.match_expressions), _expressions(term.match_fields))
        for term in affinity.node_affinity.required.node_selector_terms
    )


def _anti_affinity(affinity: wire.Affinity | None) -> tuple[model.AntiAffinityTerm, ...]:
    if affinity is None or affinity.pod_anti_affinity is None:
        return ()
    return tuple(
        model.AntiAffinityTerm(term.topology_key, _match(term.label_selector), term.namespaces)
        for term in affinity.pod_anti_affinity.required
    )


def _match(selector: wire.Selector | None) -> model.Match | None:
    if selector is None:
        return None
    return model.Match(selector.match_labels, _expressions(selector.match_expressions))


def _expressions(given: tuple[wire.Expression, ...]) -> tuple[model.Expression, ...]:
    return tuple(model.Expression(e.key, e.operator, e.values) for e in given)
