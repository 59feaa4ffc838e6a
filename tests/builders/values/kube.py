"""Objects in a line: `a_pod("p1", node="n1", version=7)`."""

from typing import Any

import msgspec

from trimtab.kube.resources import ObjectMeta, OwnerReference, Pod, PodSpec


def meta(
    name: str,
    namespace: str = "default",
    *,
    version: int = 1,
    uid: str = "",
    owner: str = "",
    **more: Any,
) -> ObjectMeta:
    """Metadata; the uid follows the name unless given."""
    owners = (
        (OwnerReference(kind="Owner", name=owner, uid=owner, controller=True),) if owner else ()
    )
    return ObjectMeta(
        name=name,
        namespace=namespace,
        uid=uid or f"uid-{name}",
        resource_version=str(version),
        owner_references=tuple(owners),
        **more,
    )


def a_pod(name: str, *, node: str = "", **more: Any) -> Pod:
    return Pod(metadata=meta(name, **more), spec=PodSpec(node_name=node))


def event_line(type_: str, obj: object) -> bytes:
    """A line of a watch."""
    return msgspec.json.encode({"type": type_, "object": obj}) + b"\n"


def pod_to_create(name: str, namespace: str, **metadata: Any) -> dict[str, Any]:
    """The smallest pod that an API server accepts."""
    return {
        "metadata": {"name": name, "namespace": namespace} | metadata,
        "spec": {"containers": [{"name": "c", "image": "none"}]},
    }
