"""Which VMIs cannot migrate, and the reason that virt-handler gives."""

from typing import Any

import pytest
from msgspec import convert

from trimtab.kube.kubevirt import Vmi
from trimtab.player.migratable import block_migration, migration_conditions, obstacle

POD_NETWORK = [{"name": "default", "pod": {}}]


def a_vmi(
    devices: dict[str, Any] | None = None,
    *,
    domain: dict[str, Any] | None = None,
    annotations: dict[str, str] | None = None,
    status: dict[str, Any] | None = None,
    **spec: Any,
) -> Vmi:
    made = {
        "metadata": {"name": "vm", "namespace": "default", "annotations": annotations or {}},
        "spec": {"domain": {"devices": devices or {}, **(domain or {})}, **spec},
        "status": status or {},
    }
    return convert(made, Vmi)


def claims(*modes: str) -> dict[str, Any]:
    info = {"persistentVolumeClaimInfo": {"accessModes": list(modes)}}
    return {"volumeStatus": [{"name": "disk", **info}]}


DISK = [{"name": "disk", "persistentVolumeClaim": {"claimName": "data"}}]


@pytest.mark.parametrize(
    ("vmi", "reason"),
    [
        pytest.param(a_vmi(), None, id="nothing special"),
        pytest.param(
            a_vmi({"interfaces": [{"name": "default", "masquerade": {}}]}, networks=POD_NETWORK),
            None,
            id="masquerade",
        ),
        pytest.param(
            a_vmi({"interfaces": [{"name": "default", "bridge": {}}]}, networks=POD_NETWORK),
            "InterfaceNotLiveMigratable",
            id="a bridge on the pod network",
        ),
        pytest.param(
            a_vmi(
                {"interfaces": [{"name": "default", "bridge": {}}]},
                networks=POD_NETWORK,
                annotations={"kubevirt.io/allow-pod-bridge-network-live-migration": ""},
            ),
            None,
            id="a bridge that is allowed",
        ),
        pytest.param(
            a_vmi({"interfaces": [{"name": "other", "masquerade": {}}]}, networks=POD_NETWORK),
            "InterfaceNotLiveMigratable",
            id="no interface for the pod network",
        ),
        pytest.param(
            a_vmi({"interfaces": [{"name": "a", "bridge": {}}]}, networks=[{"name": "a"}]),
            None,
            id="a bridge on another network",
        ),
        pytest.param(
            a_vmi({"hostDevices": [{"name": "gpu"}]}), "HostDeviceNotLiveMigratable", id="a device"
        ),
        pytest.param(
            a_vmi(domain={"launchSecurity": {"sev": {}}}), "SEVNotLiveMigratable", id="SEV"
        ),
        pytest.param(
            a_vmi(domain={"features": {"hypervPassthrough": {"enabled": True}}}),
            "HypervPassthroughNotLiveMigratable",
            id="hyperv passthrough",
        ),
        pytest.param(
            a_vmi(volumes=DISK, status=claims("ReadWriteMany")), None, id="a claim that is shared"
        ),
        pytest.param(
            a_vmi(volumes=DISK, status=claims("ReadWriteOnce")),
            "DisksNotLiveMigratable",
            id="a claim for one node",
        ),
        pytest.param(
            a_vmi(volumes=DISK), "DisksNotLiveMigratable", id="a claim that nobody knows yet"
        ),
        pytest.param(
            a_vmi(volumes=[{"name": "d", "hostDisk": {"path": "/d"}}]),
            "DisksNotLiveMigratable",
            id="a file of the node",
        ),
        pytest.param(
            a_vmi(annotations={"trimtab.dev/not-live-migratable": "TDXNotLiveMigratable"}),
            "TDXNotLiveMigratable",
            id="asked for",
        ),
    ],
)
def test_the_first_obstacle_is_the_reason(vmi: Vmi, reason: str | None) -> None:
    found = obstacle(vmi)
    assert (found.reason if found else None) == reason
    live, storage = migration_conditions(vmi)
    assert live["status"] == ("True" if reason is None else "False")
    if reason is not None:
        assert live["reason"] == reason
        assert storage["status"] == ("True" if reason == "DisksNotLiveMigratable" else "False")


@pytest.mark.parametrize(
    ("volume", "disk", "copied"),
    [
        pytest.param({"containerDisk": {}}, {"disk": {}}, True, id="a container disk"),
        pytest.param({"cloudInitNoCloud": {}}, {"cdrom": {}}, False, id="a CD"),
        pytest.param({"emptyDisk": {}}, {"disk": {"readonly": True}}, False, id="read only"),
        pytest.param({"persistentVolumeClaim": {}}, {"disk": {}}, False, id="a claim"),
    ],
)
def test_disks_without_a_claim_are_copied_too(
    volume: dict[str, Any], disk: dict[str, Any], copied: bool
) -> None:
    vmi = a_vmi({"disks": [{"name": "d", **disk}]}, volumes=[{"name": "d", **volume}])
    assert block_migration(vmi) is copied
