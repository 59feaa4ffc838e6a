"""Whether a VMI can be migrated live, and KubeVirt's reason if not.

The checks are virt-handler's, in its order; those that need the host (TSC, host-model) are
left out. For tests a VMI may say itself that it cannot: the annotation NOT_MIGRATABLE names
the reason.
"""

from msgspec import Struct

from trimtab.kube.kubevirt import LIVE_MIGRATABLE, NOT_MIGRATABLE, Vmi
from trimtab.kube.resources import Free

BRIDGE_ALLOWED = "kubevirt.io/allow-pod-bridge-network-live-migration"
STORAGE_LIVE_MIGRATABLE = "StorageLiveMigratable"
SHARED = "ReadWriteMany"


class Obstacle(Struct, frozen=True):
    """Why a VMI cannot be migrated, in KubeVirt's words."""

    reason: str
    message: str


def obstacle(vmi: Vmi) -> Obstacle | None:
    """The first reason that virt-handler would find, or None."""
    for check in (_asked_for, _interface, _host_device, _confidential, _hyperv, _disks):
        if found := check(vmi):
            return found
    return None


def migration_conditions(vmi: Vmi) -> list[Free]:
    """The two conditions that virt-handler keeps about migrations."""
    found = obstacle(vmi)
    if found is None:
        return [_condition(LIVE_MIGRATABLE), _condition(STORAGE_LIVE_MIGRATABLE)]
    live = _condition(LIVE_MIGRATABLE, found.reason, found.message)
    if found.reason == "DisksNotLiveMigratable":  # with storage migration the disks move too
        return [live, _condition(STORAGE_LIVE_MIGRATABLE)]
    return [live, _condition(STORAGE_LIVE_MIGRATABLE, "NotMigratable", found.message)]


def _condition(kind: str, reason: str = "", message: str = "") -> Free:
    """As Go writes it: times that are not set are null."""
    made: Free = {"type": kind, "status": "False" if reason else "True"}
    made |= {"lastProbeTime": None, "lastTransitionTime": None}
    return made | ({"reason": reason, "message": message} if reason else {})


def block_migration(vmi: Vmi) -> bool:
    """Whether disks that are not shared would be copied too: those without a claim."""
    return any(
        not ({"persistentVolumeClaim", "dataVolume", "hostDisk"} & volume.keys())
        and not _is_read_only(vmi, volume["name"])
        for volume in vmi.spec.volumes
    )


def _asked_for(vmi: Vmi) -> Obstacle | None:
    reason = vmi.metadata.annotations.get(NOT_MIGRATABLE, "")
    return Obstacle(reason, "the VMI's annotation says so") if reason else None


def _interface(vmi: Vmi) -> Obstacle | None:
    pod_network = next((n["name"] for n in vmi.spec.networks if "pod" in n), None)
    if pod_network is None or not vmi.spec.domain.devices.interfaces:
        return None
    interfaces = vmi.spec.domain.devices.interfaces
    primary = next((i for i in interfaces if i.get("name") == pod_network), None)
    if primary is None:
        text = f"no primary interface found for network {pod_network}"
        return Obstacle("InterfaceNotLiveMigratable", text)
    if "masquerade" in primary or "passtBinding" in primary:
        return None
    if "bridge" in primary and BRIDGE_ALLOWED in vmi.metadata.annotations:
        return None
    return Obstacle(
        "InterfaceNotLiveMigratable",
        "cannot migrate VMI which does not use masquerade or a migratable plugin to connect "
        "to the pod network",
    )


def _host_device(vmi: Vmi) -> Obstacle | None:
    devices = vmi.spec.domain.devices
    if not devices.host_devices and not devices.gpus:
        return None
    return Obstacle("HostDeviceNotLiveMigratable", "VMI uses a PCI host devices")


def _confidential(vmi: Vmi) -> Obstacle | None:
    security = vmi.spec.domain.launch_security
    for kind, name in (("sev", "SEV"), ("snp", "SEV"), ("tdx", "TDX")):
        if security.get(kind) is not None:
            return Obstacle(f"{name}NotLiveMigratable", f"VMI uses {name}")
    return None


def _hyperv(vmi: Vmi) -> Obstacle | None:
    passthrough = vmi.spec.domain.features.get("hypervPassthrough") or {}
    if not passthrough.get("enabled"):
        return None
    return Obstacle("HypervPassthroughNotLiveMigratable", "VMI uses hyperv passthrough")


def _disks(vmi: Vmi) -> Obstacle | None:
    for volume in vmi.spec.volumes:
        if message := _not_shared(vmi, volume):
            return Obstacle("DisksNotLiveMigratable", message)
    return None


def _not_shared(vmi: Vmi, volume: Free) -> str:
    if disk := volume.get("hostDisk"):
        return "" if disk.get("shared") else "cannot migrate VMI with non-shared HostDisk"
    claim = volume.get("persistentVolumeClaim") or volume.get("dataVolume")
    if claim is None:
        return ""
    name = claim.get("claimName") or claim.get("name")
    needs = "live migration requires that all PVCs must be shared (using ReadWriteMany access mode)"
    status = next((s for s in vmi.status.volume_status if s.get("name") == volume["name"]), {})
    info = status.get("persistentVolumeClaimInfo")
    if info is None:
        return f"cannot migrate VMI: Unable to determine if PVC {name} is shared, {needs}"
    if SHARED not in (info.get("accessModes") or ()):
        return f"cannot migrate VMI: PVC {name} is not shared, {needs}"
    return ""


def _is_read_only(vmi: Vmi, name: str) -> bool:
    for disk in vmi.spec.domain.devices.disks:
        if disk.get("name") == name:
            target = disk.get("disk") or disk.get("lun") or {}
            return "cdrom" in disk or bool(target.get("readonly"))
    return False
