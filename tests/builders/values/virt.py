"""VMs and their pods as tests need them: valid, running, and different in one respect."""

from datetime import UTC, datetime
from typing import Any

from trimtab.kube.resources import ObjectMeta, Pod, PodSpec, PodStatus
from trimtab.kube.virtual_machines import (
    APP_LABEL,
    DOMAIN,
    GUARD_LABEL,
    LAUNCHER_LABEL,
    VM_NAME_LABEL,
    VirtualMachine,
    VmSpec,
    VmStatus,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def a_vm(
    name: str = "web",
    *,
    node: str = "n1",
    pod: str = "virt-launcher-web-aaaaa",
    mark: str = "",
    deleted: bool = False,
    **spec: Any,
) -> VirtualMachine:
    return VirtualMachine(
        metadata=ObjectMeta(
            name=name,
            namespace="default",
            uid=f"uid-{name}",
            deletion_timestamp=NOW if deleted else None,
        ),
        spec=VmSpec(**spec),
        status=VmStatus(
            phase="Running", node_name=node, pod_name=pod, incarnation=1, evacuation_node_name=mark
        ),
    )


def a_launcher(
    vm: str = "web",
    *,
    name: str = "virt-launcher-web-aaaaa",
    node: str = "n1",
    phase: str = "Running",
    deleted: bool = False,
) -> Pod:
    labels = dict(
        [APP_LABEL, LAUNCHER_LABEL, (DOMAIN, vm), (VM_NAME_LABEL, vm), (GUARD_LABEL, "true")]
    )
    return Pod(
        metadata=ObjectMeta(
            name=name,
            namespace="default",
            uid=f"uid-{name}",
            labels=labels,
            annotations={DOMAIN: vm},
            deletion_timestamp=NOW if deleted else None,
        ),
        spec=PodSpec(node_name=node),
        status=PodStatus(phase=phase),
    )
