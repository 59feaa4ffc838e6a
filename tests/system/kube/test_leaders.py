"""Leaders in processes of their own: frozen, ended, and in contest with client-go."""

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import groupby
from pathlib import Path

import pytest

from builders.labs.following import following
from builders.programs import contender
from builders.waiting import LIMIT_S, until
from conformance.apiserver import ApiServer
from trimtab.engines import locate
from trimtab.kube.client import Client
from trimtab.kube.resources import (
    CONFIG_MAPS,
    LEASES,
    NAMESPACES,
    ConfigMap,
    Lease,
    Namespace,
    ObjectMeta,
)
from trimtab.kube.runtime.lease import Elector, Terms
from trimtab.kube.runtime.reflector import Reflector

pytestmark = pytest.mark.engines


@contextmanager
def process(*command: str | Path) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as running:
        try:
            yield running
        finally:
            running.send_signal(signal.SIGCONT)
            running.kill()


def a_contender(
    server: ApiServer, namespace: str, identity: str
) -> AbstractContextManager[subprocess.Popen[bytes]]:
    script = str(contender.__file__)
    return process(sys.executable, script, server.kubeconfig, namespace, identity)


async def a_namespace(client: Client, name: str) -> str:
    await client.create(NAMESPACES, Namespace(metadata=ObjectMeta(name=name)))
    return name


def freeze(leader: subprocess.Popen[bytes]) -> None:
    """Stop it just after a write, when its next one is due before its next renewal."""
    assert leader.stdout is not None
    waited_s = 0.0
    while waited_s < contender.PAUSE_S / 2:  # lines that come at once are old ones
        asked = time.monotonic()
        leader.stdout.readline()
        waited_s = time.monotonic() - asked
    leader.send_signal(signal.SIGSTOP)


def actors(acts: Reflector[ConfigMap]) -> list[str]:
    """Who acted, in the API server's order."""
    ordered = sorted(acts.store, key=lambda act: int(act.metadata.resource_version))
    return [act.metadata.labels["by"] for act in ordered]


async def test_a_frozen_leader_never_acts_beside_its_successor(
    apiserver: ApiServer, client: Client
) -> None:
    namespace = await a_namespace(client, "frozen")
    acts = Reflector(client, CONFIG_MAPS, namespace=namespace, labels="by")
    async with following(acts):
        with a_contender(apiserver, namespace, "first") as first:
            await until(lambda: actors(acts).count("first") >= 3)
            with a_contender(apiserver, namespace, "second") as second:
                await asyncio.to_thread(freeze, first)
                await until(lambda: actors(acts).count("second") >= 3)
                first.send_signal(signal.SIGCONT)
                await until(lambda: actors(acts).count("second") >= 15)
                assert first.poll() is None
                second.send_signal(signal.SIGTERM)
                assert await asyncio.to_thread(second.wait, LIMIT_S) == 0
                await until(lambda: actors(acts)[-1] == "first")
    assert [actor for actor, _ in groupby(actors(acts))] == ["first", "second", "first"]


async def test_a_leader_that_is_asked_to_end_gives_the_lease_back(
    apiserver: ApiServer, client: Client
) -> None:
    namespace = await a_namespace(client, "ended")
    acts = Reflector(client, CONFIG_MAPS, namespace=namespace, labels="by")
    async with following(acts):
        with a_contender(apiserver, namespace, "only") as only:
            await until(lambda: "only" in actors(acts))
            only.send_signal(signal.SIGTERM)
            assert await asyncio.to_thread(only.wait, LIMIT_S) == 0
    assert (await client.get(LEASES, "boss", namespace)).spec.holder_identity == ""


def scheduler_flags(server: ApiServer, namespace: str) -> list[str]:
    """kube-scheduler as a plain user of client-go's leader election."""
    return [
        f"--kubeconfig={server.kubeconfig}",
        f"--authentication-kubeconfig={server.kubeconfig}",
        f"--authorization-kubeconfig={server.kubeconfig}",
        "--secure-port=0",
        "--leader-elect=true",
        "--leader-elect-resource-name=boss",
        f"--leader-elect-resource-namespace={namespace}",
        "--leader-elect-lease-duration=3s",
        "--leader-elect-renew-deadline=2s",
        "--leader-elect-retry-period=300ms",
    ]


async def test_client_go_and_we_respect_each_others_lease(
    apiserver: ApiServer, client: Client
) -> None:
    namespace = await a_namespace(client, "mixed")
    leases = Reflector(client, LEASES, namespace=namespace)
    acting = asyncio.Event()
    renewals = 0

    def count(old: Lease | None, new: Lease | None) -> None:
        nonlocal renewals
        renewals += 1

    leases.store.subscribe(count)

    async def lead() -> None:
        acting.set()
        try:
            await asyncio.Event().wait()
        finally:
            acting.clear()

    def holder() -> str:
        lease = leases.store.get("boss", namespace) or Lease()
        return lease.spec.holder_identity or ""

    elector = Elector(client, "boss", namespace, "ours", terms=Terms(10, 8, 1))
    async with following(leases):
        ours = asyncio.create_task(elector.run(lead))
        await asyncio.wait_for(acting.wait(), LIMIT_S)
        with process(locate("kube-scheduler"), *scheduler_flags(apiserver, namespace)) as theirs:
            await until(lambda: renewals >= 12, "longer than a lease lasts")
            assert acting.is_set()
            assert holder() == "ours"
            await stopped(ours)
            await until(lambda: holder() not in ("", "ours"), "client-go takes a released lease")
            ours = asyncio.create_task(elector.run(lead))
            theirs.kill()
            await until(acting.is_set, "we take an expired lease")
        await stopped(ours)
    assert (await client.get(LEASES, "boss", namespace)).spec.lease_transitions == 2


async def stopped(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
