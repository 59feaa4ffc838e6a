"""The whole service against a real API server: accounts, stamps, checkpoints, restarts."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from builders.labs.kubectl import kubectl
from builders.proxies.faults import FaultProxy
from builders.values.kube import pod_to_create
from builders.values.qos import Running, bind, running_qos
from builders.waiting import until
from conformance.apiserver import ApiServer
from trimtab.kube.client import Client
from trimtab.kube.resources import DEPLOYMENTS, EVENTS, PODS, REPLICA_SETS, OwnerReference
from trimtab.qos.ledger.ledger import LOST
from trimtab.qos.ledger.pod_life import Incarnation
from trimtab.qos.page.text import HEADER
from trimtab.qos.promise import ANNOTATION as SLO
from trimtab.qos.queue.key import ANNOTATION, Stamp, parse
from trimtab.qos.settings import QosSettings
from trimtab.qos.wire import QOS_ACCOUNTS

SETTINGS = QosSettings(port=0, bindings="", safety_margin_s=1.0)
OWN = {"trimtab.dev/test": "true"}
Pods = tuple[Incarnation, ...]


async def a_replica_set(client: Client, namespace: str, slo: str = "") -> OwnerReference:
    """A Deployment and its ReplicaSet, as the controllers that do not run here would make it."""
    template = {
        "metadata": {"labels": OWN},
        "spec": {"containers": [{"name": "c", "image": "none"}]},
    }
    spec = {"selector": {"matchLabels": OWN}, "template": template, "replicas": 0}
    meta: dict[str, Any] = {"namespace": namespace}
    notes = {"annotations": {SLO: slo}} if slo else {}
    above = await client.create(
        DEPLOYMENTS, {"metadata": meta | {"name": "web"} | notes, "spec": spec}
    )
    owner = msgspec.to_builtins(DEPLOYMENTS.owner(above))
    below = {"name": "web-5d", "ownerReferences": [owner]}
    made = await client.create(REPLICA_SETS, {"metadata": meta | below, "spec": spec})
    return REPLICA_SETS.owner(made)


async def a_pod(client: Client, namespace: str, name: str, owner: OwnerReference) -> None:
    references = [msgspec.to_builtins(owner)]
    await client.create(PODS, pod_to_create(name, namespace, ownerReferences=references))


def stamp_of(running: Running, namespace: str, name: str) -> Stamp | None:
    pod = running.qos.stores.pods.store.get(name, namespace)
    return parse(pod.metadata.annotations.get(ANNOTATION, "")) if pod else None


def is_bound(running: Running, namespace: str, name: str) -> bool:
    pod = running.qos.stores.pods.store.get(name, namespace)
    return pod is not None and bool(pod.spec.node_name)


def row_of(answer: Any, namespace: str) -> Any:
    (row,) = [each for each in answer["controllers"] if each["namespace"] == namespace]
    return row


async def test_a_deployments_pods_share_an_account_that_outlives_them(
    client: Client, account: Client, namespace: str, apiserver: ApiServer
) -> None:
    """From the first stamp over `kubectl get qos` to a restart after the pod is gone."""
    owner = await a_replica_set(client, namespace, "0.9")
    async with running_qos(account, SETTINGS) as running:
        await a_pod(client, namespace, "p1", owner)
        await until(lambda: stamp_of(running, namespace, "p1") is not None, "it has a stamp")
        stamp = stamp_of(running, namespace, "p1")
        assert stamp is not None
        assert (stamp.tier, stamp.rank) == (0, 100_000)
        queue = await running.json(f"/v1/queue?ns={namespace}")
        assert queue["estimate"] is True
        assert [pod["name"] for pod in queue["pods"]] == ["p1"]
        explained = await running.json(f"/v1/explain?pod={namespace}/p1")
        assert explained["pod"]["controller"] == "Deployment/web"
        await bind(client, namespace, "p1")
        await until(lambda: is_bound(running, namespace, "p1"), "it is bound")
        row = row_of(await running.json("/v1/controllers"), namespace)
        assert (row["kind"], row["name"], row["slo"]) == ("Deployment", "web", 0.9)
        assert row["replicas"] == {"running": 1, "waiting": 0, "gated": 0}
        history = await running.json(f"/v1/history?uid={row['uid']}")
        assert [each["what"] for each in history["transitions"]] == ["created", "bound"]
        await client.delete(PODS, "p1", namespace, grace_s=0)
        served = running.qos.tracker.ledger.accounts[row["uid"]]
        await until(lambda: not served.at(running.qos.time()).pace.running, "it is gone")
        before = row_of(await running.json("/v1/controllers"), namespace)
        await written(client, running, namespace, lambda pods: all(p.ended for p in pods))
    shown = kubectl(apiserver, "get", "qos", "-n", namespace)
    header, line = shown.splitlines()
    assert header.split() == ["NAME", *HEADER.split()]
    assert line.split()[1].rpartition("/")[2] == "web", "others of that name may be there too"
    async with running_qos(account, SETTINGS) as running:
        after = row_of(await running.json("/v1/controllers"), namespace)
        for field in ("runningSeconds", "waitingSeconds", "incarnations"):
            assert after[field] == pytest.approx(before[field])


async def test_what_vanished_while_nobody_watched_is_replayed(
    client: Client, account: Client, namespace: str
) -> None:
    owner = await a_replica_set(client, namespace)
    async with running_qos(account, SETTINGS) as running:
        await a_pod(client, namespace, "p1", owner)
        await bind(client, namespace, "p1")
        await until(lambda: is_bound(running, namespace, "p1"), "it is bound")
        await written(client, running, namespace, lambda pods: bool(pods and pods[0].bound))
        gaps = sample(await running.text("/metrics"), "qosaware_watch_gap_total")
    await client.delete(PODS, "p1", namespace, grace_s=0)
    await a_pod(client, namespace, "p2", owner)  # lives and dies unseen
    await bind(client, namespace, "p2")
    await client.delete(PODS, "p2", namespace, grace_s=0)
    await a_pod(client, namespace, "p3", owner)
    async with running_qos(account, SETTINGS) as running:
        row = row_of(await running.json("/v1/controllers"), namespace)
        assert row["incarnations"] == 3
        assert row["replicas"] == {"running": 0, "waiting": 1, "gated": 0}
        assert sample(await running.text("/metrics"), "qosaware_watch_gap_total") == gaps


async def written(
    client: Client, running: Running, namespace: str, so: Callable[[Pods], bool]
) -> None:
    """Ask for a checkpoint until its pods are so."""
    accounts = running.qos.tracker.ledger.accounts.values()
    (uid,) = [each.owner.uid for each in accounts if each.owner.namespace == namespace]

    async def look() -> bool:
        running.qos.saving.enqueue_account(uid)
        found = await client.list(QOS_ACCOUNTS, namespace)
        ledger = found[0].status.ledger if found else None
        return ledger is not None and ledger.as_of > 0 and so(ledger.pods)

    await until(look)


async def test_what_cannot_be_replayed_is_a_gap_that_says_so(
    client: Client, account: Client, namespace: str, apiserver: ApiServer
) -> None:
    """A restarted API server remembers nothing from before its start: 410."""
    owner = await a_replica_set(client, namespace)
    async with running_qos(account, SETTINGS) as running:
        await a_pod(client, namespace, "p1", owner)
        await bind(client, namespace, "p1")
        await until(lambda: is_bound(running, namespace, "p1"), "it is bound")
        await written(client, running, namespace, lambda pods: bool(pods and pods[0].bound))
    await client.delete(PODS, "p1", namespace, grace_s=0)
    apiserver.kill()
    apiserver.start()
    async with running_qos(account, SETTINGS) as running:
        row = row_of(await running.json("/v1/controllers"), namespace)
        assert row["gapSeconds"] > 0
        assert row["replicas"] == {"running": 0, "waiting": 0, "gated": 0}
        metrics = await running.text("/metrics")
        assert sample(metrics, "qosaware_lost_pods_total") >= 1
        assert sample(metrics, "qosaware_watch_gap_total") >= 1


async def test_a_gap_under_a_running_service_is_told_too(
    client: Client, namespace: str, apiserver: ApiServer
) -> None:
    owner = await a_replica_set(client, namespace)
    settings = msgspec.structs.replace(SETTINGS, measure_only=True)
    async with (
        FaultProxy(apiserver) as proxy,
        Client.from_kubeconfig(proxy.kubeconfig) as through,
        running_qos(through, settings) as running,
    ):
        await a_pod(client, namespace, "p1", owner)
        await bind(client, namespace, "p1")
        await until(lambda: is_bound(running, namespace, "p1"), "it is bound")
        before = sample(await running.text("/metrics"), "qosaware_watch_gap_total")
        proxy.set("gone")  # no watch any more, only lists
        await client.delete(PODS, "p1", namespace, grace_s=0)
        pods = running.qos.stores.pods.store
        await until(lambda: pods.get("p1", namespace) is None, "it is missing from a list")
        proxy.heal()
        row = row_of(await running.json("/v1/controllers"), namespace)
        assert row["gapSeconds"] > 0
        assert row["replicas"] == {"running": 0, "waiting": 0, "gated": 0}
        history = await running.json(f"/v1/history?uid={row['uid']}")
        assert history["transitions"][-1]["what"] == LOST
        assert sample(await running.text("/metrics"), "qosaware_watch_gap_total") > before


def sample(metrics: str, name: str) -> float:
    """The value of a series without labels."""
    (line,) = [each for each in metrics.splitlines() if each.startswith(f"{name} ")]
    return float(line.split()[1])


async def test_a_second_replica_serves_the_same_page_and_does_not_lead(
    client: Client, account: Client, namespace: str
) -> None:
    async with running_qos(account, SETTINGS) as first:
        await client.create(PODS, pod_to_create("p1", namespace))
        await until(lambda: first.qos.elector.leading, "the first one leads")
        await until(lambda: stamp_of(first, namespace, "p1") is not None, "it stamps")
        async with running_qos(account, SETTINGS) as second:
            here, there = [await each.json("/v1/controllers") for each in (first, second)]
            assert (here["leader"], there["leader"]) == (True, False)
            one, other = row_of(here, namespace), row_of(there, namespace)
            assert one["uid"] == other["uid"]
            assert abs(one["waitingSeconds"] - other["waitingSeconds"]) < 2


async def test_an_slo_that_changes_changes_the_stamp(
    client: Client, account: Client, namespace: str
) -> None:
    owner = await a_replica_set(client, namespace, "0.9")
    async with running_qos(account, SETTINGS) as running:
        await a_pod(client, namespace, "p1", owner)
        await until(lambda: rank(running, namespace, "p1") is not None, "it is stamped")
        assert rank(running, namespace, "p1") == 100_000
        change = {"metadata": {"annotations": {SLO: "100%"}}}
        await client.patch(DEPLOYMENTS, "web", change, namespace)
        await until(lambda: rank(running, namespace, "p1") != 100_000, "it is stamped anew")
        assert rank(running, namespace, "p1") == 0


def rank(running: Running, namespace: str, name: str) -> int | None:
    stamp = stamp_of(running, namespace, name)
    return stamp.rank if stamp else None


async def test_a_broken_promise_is_told_at_the_owner(
    client: Client, account: Client, namespace: str
) -> None:
    owner = await a_replica_set(client, namespace, "0.9")
    async with running_qos(account, SETTINGS) as running:
        await a_pod(client, namespace, "p1", owner)

        async def told() -> bool:
            events = await client.list(EVENTS, namespace)
            return any(
                (each.reason, each.regarding.name) == ("SLOViolated", "web") for each in events
            )

        await until(told)
        assert running.qos.elector.leading


async def test_only_measuring_stamps_nothing(
    client: Client, account: Client, namespace: str
) -> None:
    settings = msgspec.structs.replace(SETTINGS, measure_only=True)
    async with running_qos(account, settings) as running:
        await client.create(PODS, pod_to_create("p1", namespace))
        await until(
            lambda: any(
                each.owner.namespace == namespace
                for each in running.qos.tracker.ledger.accounts.values()
            ),
            "it has an account",
        )
        await written(client, running, namespace, lambda pods: len(pods) == 1)
        assert stamp_of(running, namespace, "p1") is None
