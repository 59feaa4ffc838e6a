"""VMs on a real API server: ours and KubeVirt's, over migrations and stops."""

import asyncio
from typing import Any

import msgspec

from builders.values.kube import pod_to_create
from builders.values.qos import Running, bind, running_qos
from builders.waiting import until
from trimtab.install.definitions import ANYTHING, Note, definition
from trimtab.install.vm.crd import crds
from trimtab.kube.apply import apply
from trimtab.kube.client import Client
from trimtab.kube.resources import CRDS, PODS, Kind, OwnerReference
from trimtab.kube.virtual_machines import VMS
from trimtab.qos.ledger.account import Account
from trimtab.qos.settings import QosSettings
from trimtab.qos.tracking.stores import INSTANCES
from trimtab.qos.tracking.stores import VMS as BOTH

SETTINGS = QosSettings(port=0, bindings="", measure_only=True)
KUBEVIRT = BOTH[1]


async def define(client: Client) -> None:
    """Our VMs' definition, and stand-ins for KubeVirt's that keep whatever they get."""
    anything = {"": Note(instead={"type": "object", **ANYTHING})}
    made = [definition(kind, anything) for kind in (KUBEVIRT, INSTANCES)]
    for each in [*crds(), *made]:
        await apply(client, CRDS, each, force=True)
        name = each["metadata"]["name"]
        while not (await client.get(CRDS, name)).established:
            await asyncio.sleep(0.05)


async def a_launcher(client: Client, namespace: str, name: str, owner: OwnerReference) -> None:
    references = [msgspec.to_builtins(owner)]
    await client.create(PODS, pod_to_create(name, namespace, ownerReferences=references))
    await bind(client, namespace, name)


def account_of(running: Running, uid: str) -> Account | None:
    return running.qos.tracker.ledger.accounts.get(uid)


def pods_in(running: Running, uid: str, *, bound: int) -> bool:
    account = account_of(running, uid)
    return account is not None and sum(p.runs for p in account.pods.values()) == bound


async def made(client: Client, kind: Kind[Any], namespace: str, name: str, **spec: Any) -> Any:
    body = {"metadata": {"name": name, "namespace": namespace}, "spec": spec}
    return await client.create(kind, body)


async def test_a_vm_is_one_account_over_migrations_and_stops_with_its_user(
    client: Client, account: Client, namespace: str
) -> None:
    await define(client)
    async with running_qos(account, SETTINGS) as running:
        size = {"cpu": "1", "memory": "1Gi"}
        vm = await made(client, VMS, namespace, "db", resources=size)
        uid = vm.metadata.uid
        await until(lambda: account_of(running, uid) is not None, "it waits without a pod")
        owner = VMS.owner(vm)
        await a_launcher(client, namespace, "virt-launcher-db-1", owner)
        await until(lambda: pods_in(running, uid, bound=1), "it runs")
        served = account_of(running, uid)
        assert served is not None
        waited = served.at(running.qos.time()).waiting
        await a_launcher(client, namespace, "virt-launcher-db-2", owner)  # a live migration
        await until(lambda: pods_in(running, uid, bound=2), "both run")
        await client.delete(PODS, "virt-launcher-db-1", namespace, grace_s=0)
        await until(lambda: pods_in(running, uid, bound=1), "it has moved")
        reading = served.at(running.qos.time())
        assert reading.waiting == waited
        assert reading.pace.running == 1
        await client.patch(VMS, "db", {"spec": {"running": False}}, namespace)
        await until(lambda: not served.life.wanted, "its user stops it")
        await client.delete(PODS, "virt-launcher-db-2", namespace, grace_s=0)
        await until(lambda: pods_in(running, uid, bound=0), "it is stopped")
        pace = served.at(running.qos.time()).pace
        assert (pace.running, pace.waiting) == (0, 0)
        row = next(
            each
            for each in (await running.json(f"/v1/controllers?ns={namespace}"))["controllers"]
            if each["uid"] == uid
        )
        assert (row["kind"], row["name"], row["incarnations"]) == ("VirtualMachine", "db", 2)


async def test_kubevirts_launchers_belong_to_the_vm_above_their_instance(
    client: Client, account: Client, namespace: str
) -> None:
    await define(client)
    async with running_qos(account, SETTINGS) as running:
        vm = await made(client, KUBEVIRT, namespace, "web", runStrategy="Always")
        above = [msgspec.to_builtins(KUBEVIRT.owner(vm))]
        body = {"metadata": {"name": "web", "namespace": namespace, "ownerReferences": above}}
        instance = await client.create(INSTANCES, body | {"spec": {}})
        await a_launcher(client, namespace, "virt-launcher-web-x", INSTANCES.owner(instance))
        uid = vm.metadata.uid
        await until(lambda: pods_in(running, uid, bound=1), "its launcher runs")
        served = account_of(running, uid)
        assert served is not None
        assert served.owner.is_vm
        assert served.owner.api_version == "kubevirt.io/v1"
