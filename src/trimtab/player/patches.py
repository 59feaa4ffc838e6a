"""A step's changes as a JSON patch of the VMI.

Steps say what is to change like a merge patch, but they cannot be sent as one: the API server
drops nulls inside lists when it merges, and virt-controller then finds conditions that differ
from what it read (`lastProbeTime: null`) and repeats its own patch for ever.
"""

from collections.abc import Iterator
from typing import Any

from trimtab.kube.kubevirt import Vmi
from trimtab.kube.resources import Free

Operation = dict[str, Any]


def json_patch(vmi: Vmi, changes: Free) -> list[Operation]:
    """The operations; Conflict if the VMI is not the one that `changes` was made for."""
    meta, status = vmi.metadata, vmi.status
    metadata = changes.get("metadata", {})
    operations: list[Operation] = [_set("/metadata/resourceVersion", meta.resource_version)]
    operations += _entries("/metadata/labels", meta.labels, metadata.get("labels", {}))
    notes = metadata.get("annotations", {})
    operations += _entries("/metadata/annotations", meta.annotations, notes)
    present = {
        "evacuationNodeName": status.evacuation_node_name,
        "launcherContainerImageVersion": status.launcher_container_image_version,
    }
    for name, value in changes.get("status", {}).items():
        path = f"/status/{name}"
        if value is None:
            operations += [_remove(path)] if present[name] else []
        elif name == "migrationState":  # it exists: virt-controller has made it
            operations += [_set(f"{path}/{each}", fact) for each, fact in value.items()]
        elif name == "memory":
            operations.append(_set(path, {**status.memory, **value}))
        else:
            operations.append(_set(path, value))
    return operations


def _entries(path: str, has: dict[str, str], changes: Free) -> Iterator[Operation]:
    wanted = {name: value for name, value in changes.items() if value is not None}
    if wanted and not has:
        yield _set(path, wanted)
        return
    for name, value in changes.items():
        key = f"{path}/{name.replace('~', '~0').replace('/', '~1')}"
        if value is not None:
            yield _set(key, value)
        elif name in has:
            yield _remove(key)


def _set(path: str, value: Any) -> Operation:
    """`add` also replaces."""
    return {"op": "add", "path": path, "value": value}


def _remove(path: str) -> Operation:
    return {"op": "remove", "path": path}
