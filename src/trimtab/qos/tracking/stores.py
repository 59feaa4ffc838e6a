"""What the service watches: pods, whatever may own them, namespaces and nodes.

Of owners only the metadata is read. Kinds that a cluster may lack (VMs of ours and KubeVirt's)
are followed if and when they are served; nothing waits for them.
"""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import msgspec

from trimtab.kube.client import Client
from trimtab.kube.errors import ApiError, NotFound
from trimtab.kube.resources import (
    NAMESPACES,
    NODES,
    Kind,
    Object,
    ObjectMeta,
    OwnerReference,
    Wire,
    metadata,
)
from trimtab.kube.runtime.reflector import Reflector
from trimtab.kube.virtual_machines import GROUP as VM_GROUP
from trimtab.kube.virtual_machines import KUBEVIRT
from trimtab.obs import get_logger
from trimtab.qos.ledger.account import AccountOwner
from trimtab.qos.ledger.pod_life import LIFE_PODS, LifePod
from trimtab.qos.ledger.time_to_violation import SECOND

# Whether this process was looking: one that is paused or starved hears of things late.
#
# What it then hears is as old as the pause at most. Most of it says when it happened; the removal
# of an object does not.
EVERY_S = 1.0
STALL = 3 * SECOND
"""A loop of one second that was silent for so long was held up."""
BACKLOG = 5 * SECOND
"""For so long after a pause what is heard may be from before its end."""


class PauseDetector:
    def __init__(self) -> None:
        self._last: int | None = None
        self._from = self._until = 0

    def look(self, now: int) -> None:
        """The process is there; whoever calls this once must go on."""
        self._note(now)
        self._last = now

    def unseen(self, now: int) -> int:
        """For how many nanoseconds before `now` something may have happened unseen."""
        self._note(now)
        return now - self._from if now - self._until < BACKLOG else 0

    def _note(self, now: int) -> None:
        if self._last is not None and now - self._last > STALL:
            self._from, self._until = self._last, now
            self._last = now


log = get_logger()
SERVED_S = 30.0
"""How often it is asked whether a kind is served by now."""
BASIC = (
    Kind("apps", "v1", "replicasets", "ReplicaSet", Object),
    Kind("apps", "v1", "deployments", "Deployment", Object),
    Kind("apps", "v1", "statefulsets", "StatefulSet", Object),
    Kind("apps", "v1", "daemonsets", "DaemonSet", Object),
    Kind("batch", "v1", "jobs", "Job", Object),
)


class VmRunSpec(Wire, frozen=True):
    running: bool | None = None
    run_strategy: str = ""


class VmRunStatus(Wire, frozen=True):
    printable_status: str = ""


class AnyVm(Object, frozen=True):
    """A VirtualMachine, ours or KubeVirt's: is it to run?"""

    API: ClassVar[str] = f"{KUBEVIRT}/v1"
    spec: VmRunSpec = VmRunSpec()
    status: VmRunStatus = VmRunStatus()

    @property
    def owner(self) -> AccountOwner:
        meta = self.metadata
        return AccountOwner(meta.uid, "VirtualMachine", meta.name, meta.namespace, self.API)

    @property
    def wanted(self) -> bool:
        if self.metadata.deletion_timestamp is not None:
            return False
        if self.spec.running is False or self.spec.run_strategy == "Halted":
            return False
        return self.spec.running is True or self.status.printable_status != "Stopped"


class OurVm(AnyVm, frozen=True):
    """Of ours `running` has a default, and nothing but it decides."""

    API: ClassVar[str] = f"{VM_GROUP}/v1alpha1"

    @property
    def wanted(self) -> bool:
        return self.spec.running is not False and self.metadata.deletion_timestamp is None


VMS: tuple[Kind[Any], ...] = (
    Kind(VM_GROUP, "v1alpha1", "virtualmachines", "VirtualMachine", OurVm),
    Kind(KUBEVIRT, "v1", "virtualmachines", "VirtualMachine", AnyVm),
)
INSTANCES: Kind[Any] = Kind(
    KUBEVIRT, "v1", "virtualmachineinstances", "VirtualMachineInstance", Object
)


class QosStores:
    """All reflectors, and the look-ups that go over several of them."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.pods: Reflector[LifePod] = Reflector(client, LIFE_PODS)
        self.namespaces = Reflector(client, NAMESPACES)
        self.nodes = Reflector(client, NODES)
        self._owners = {_id(kind): Reflector(client, kind) for kind in BASIC}
        self._vms = {_id(k): Reflector(client, k, name=f"{k.plural}.{k.group}") for k in VMS}
        self._instances = {_id(INSTANCES): Reflector(client, INSTANCES)}
        self._all: dict[tuple[str, str], Reflector[Any]] = (
            self._owners | self._vms | self._instances
        )

    @property
    def needed(self) -> list[Reflector[Any]]:
        return [self.pods, self.namespaces, self.nodes, *self._owners.values()]

    @property
    def optional(self) -> list[Reflector[Any]]:
        return [*self._vms.values(), *self._instances.values()]

    @property
    def owners(self) -> Iterator[Reflector[Any]]:
        yield from (*self._owners.values(), *self._instances.values())

    @property
    def vms(self) -> list[Reflector[Any]]:
        return list(self._vms.values())

    async def served(self) -> list[Reflector[Any]]:
        """The optional ones that the API server has now."""
        return [each for each in self.optional if await self._is_served(each.kind)]

    async def follow_later(self, absent: list[Reflector[Any]]) -> None:
        """Follow each of these as soon as its kind is served."""
        async with asyncio.TaskGroup() as group:
            while absent:
                await asyncio.sleep(SERVED_S)
                for each in absent:
                    if await self._is_served(each.kind):
                        group.create_task(each.run())
                        absent = [other for other in absent if other is not each]

    async def _is_served(self, kind: Kind[Any]) -> bool:
        try:
            answer = await self._client.request("GET", f"/apis/{kind.api_version}")
        except ApiError as error:
            if not isinstance(error, NotFound):
                log.warning("kind not looked up", kind=kind.kind, error=str(error))
            return False
        listed = msgspec.json.decode(answer)["resources"]
        return any(each["name"] == kind.plural for each in listed)

    def pod_version(self) -> int:
        """Up to which resourceVersion the pods are known; bookmarks count."""
        return int(self.pods.version or 0)

    def owner_of(self, pod: LifePod) -> AccountOwner:
        return top_owner(pod.metadata, self.known)

    def known(self, reference: OwnerReference, namespace: str) -> ObjectMeta | None:
        """The metadata behind a reference, if a store has it."""
        store = self._all.get((reference.api_version.partition("/")[0], reference.kind))
        found = store.store.get(reference.name, namespace) if store else None
        return None if found is None else metadata(found)

    def owner_meta(self, owner: AccountOwner) -> ObjectMeta | None:
        """The owner's metadata, if it is the very same object."""
        reference = OwnerReference(
            api_version=owner.api_version, kind=owner.kind, name=owner.name, uid=owner.uid
        )
        if owner.kind == "Pod":
            pod = self.pods.store.get(owner.name, owner.namespace)
            found: ObjectMeta | None = pod.metadata if pod else None
        else:
            found = self.known(reference, owner.namespace)
        return found if found is not None and found.uid == owner.uid else None

    def follows(self, owner: AccountOwner) -> bool:
        """Whether we would know if this owner were gone."""
        if owner.kind == "Pod":
            return True
        store = self._all.get((owner.api_version.partition("/")[0], owner.kind))
        return store is not None and store.synced.is_set()

    def vm(self, owner: AccountOwner) -> AnyVm | None:
        store = self._vms.get((owner.api_version.partition("/")[0], owner.kind))
        found: AnyVm | None = store.store.get(owner.name, owner.namespace) if store else None
        return found if found is not None and found.metadata.uid == owner.uid else None


def _id(kind: Kind[Any]) -> tuple[str, str]:
    return kind.group, kind.kind


# Whose a pod is: the controller at the top, found by uid.
#
# A rollout makes a new ReplicaSet but no new account, a KubeVirt pod belongs to its VM. A Job is
# an account even if a CronJob made it. What the caches do not know yet is taken from the
# reference; when it becomes known, the account moves.
Lookup = Callable[[OwnerReference, str], ObjectMeta | None]
"""The metadata of an owner in a namespace, if it is known."""
THROUGH = frozenset(("ReplicaSet", "VirtualMachineInstance"))
DEEPEST = 5


def top_owner(pod: ObjectMeta, lookup: Lookup) -> AccountOwner:
    """The pod's account: its top controller, or the pod itself if it has none."""
    above = pod.controller
    if above is None:
        return AccountOwner(pod.uid, "Pod", pod.name, pod.namespace)
    seen: set[str] = set()
    while above.kind in THROUGH and len(seen) < DEEPEST and above.uid not in seen:
        seen.add(above.uid)
        known = lookup(above, pod.namespace)
        if known is None or known.uid != above.uid or known.controller is None:
            break
        above = known.controller
    return AccountOwner(above.uid, above.kind, above.name, pod.namespace, above.api_version)
