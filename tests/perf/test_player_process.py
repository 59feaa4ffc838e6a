"""The player as one process for 1,000 nodes and 10,000 VMIs, on a real API server.

The API server knows VMIs by name only (no schema, no webhooks of KubeVirt), because what is
measured is the player. VMIs are Scheduled to begin with, so it starts every guest once.
"""

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import msgspec
import psutil
import pytest

from builders.waiting import wait_until
from conformance.apiserver import ApiServer, running_apiserver
from trimtab.kube.client import Client
from trimtab.kube.kubevirt import CREATED_BY_LABEL, VMIS
from trimtab.kube.resources import NODES, PODS, Free
from trimtab.kube.virtual_machines import DOMAIN, LAUNCHER_LABEL

pytestmark = pytest.mark.engines

NODE_COUNT, GUESTS = 1_000, 10_000
WRITERS = 12
IDLE_S = 30.0
SCRAPES = 4
CRD: Free = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"{VMIS.plural}.{VMIS.group}"},
    "spec": {
        "group": VMIS.group,
        "scope": "Namespaced",
        "names": {"plural": VMIS.plural, "kind": VMIS.kind},
        "versions": [
            {
                "name": VMIS.version,
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}


def a_node(number: int) -> Free:
    size = {"cpu": "32", "memory": "128Gi", "pods": "110"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    return {
        "metadata": {"name": f"kwok-node-{number}"},
        "status": {"capacity": size, "allocatable": size, "conditions": [ready]},
    }


def a_vmi(number: int) -> Free:
    node = f"kwok-node-{number % NODE_COUNT + 1}"
    return {
        "apiVersion": VMIS.api_version,
        "kind": VMIS.kind,
        "metadata": {
            "name": f"vm-{number}",
            "namespace": "default",
            "labels": {"kubevirt.io/nodeName": node},
        },
        "spec": {"domain": {"cpu": {"cores": 2}, "memory": {"guest": "4Gi"}}},
        "status": {"phase": "Scheduled", "nodeName": node, "conditions": []},
    }


def a_launcher(number: int, vmi: str) -> Free:
    name = f"vm-{number}"
    return {
        "metadata": {
            "name": f"virt-launcher-{name}",
            "namespace": "default",
            "labels": {LAUNCHER_LABEL[0]: LAUNCHER_LABEL[1], CREATED_BY_LABEL: vmi},
            "annotations": {DOMAIN: name},
        },
        "spec": {
            "nodeName": f"kwok-node-{number % NODE_COUNT + 1}",
            "containers": [{"name": "compute", "image": "virt-launcher"}],
        },
    }


async def populate(server: ApiServer) -> None:
    async with Client.from_kubeconfig(server.kubeconfig, writes_per_s=1e6, burst=1 << 20) as client:
        crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        await client.request("POST", crds, body=msgspec.json.encode(CRD))
        await _served(client)
        nodes, guests = iter(range(1, NODE_COUNT + 1)), iter(range(GUESTS))

        async def writer() -> None:
            for number in nodes:
                await client.create(NODES, a_node(number))
            for number in guests:
                made = await client.create(VMIS, a_vmi(number))
                await client.create(PODS, a_launcher(number, made.metadata.uid))

        await asyncio.gather(*(writer() for _ in range(WRITERS)))


async def _served(client: Client) -> None:
    from trimtab.errors import TrimtabError

    while True:
        try:
            await client.list(VMIS)
        except TrimtabError:
            await asyncio.sleep(0.2)
        else:
            return


@contextmanager
def player(server: ApiServer) -> Iterator[tuple[psutil.Process, str]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    known = f"--kubeconfig={server.kubeconfig}"
    handler = f"--handler-kubeconfig={server.kubeconfig}"
    command = [sys.executable, "-m", "trimtab.cli", "run", "virt-handler-player", known, handler]
    with subprocess.Popen([*command, f"--port={port}"], stderr=subprocess.DEVNULL) as process:
        try:
            yield psutil.Process(process.pid), f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def started(url: str) -> float:
    """How many guests it has started."""
    try:
        page = httpx2.get(f"{url}/metrics", trust_env=False, timeout=60).text
    except httpx2.HTTPError:
        return 0.0
    name = 'trimtab_player_steps_total{step="guest started"}'
    found = [line for line in page.splitlines() if line.startswith(name)]
    return sum(float(line.rpartition(" ")[2]) for line in found)


def used(process: psutil.Process) -> float:
    times: Any = process.cpu_times()
    return float(times.user + times.system)


def test_one_process_plays_ten_thousand_guests() -> None:
    with running_apiserver() as server:
        asyncio.run(populate(server))
        with player(server) as (process, url):
            began = time.monotonic()
            wait_until(lambda: started(url) >= GUESTS, "not every guest starts", 3600.0)
            took, cpu = time.monotonic() - began, used(process)
            say(process, f"{GUESTS} guests on {NODE_COUNT} nodes started in {took:.0f} s", cpu)
            before = used(process)
            for _ in range(SCRAPES):
                page = httpx2.get(f"{url}/guests/metrics", trust_env=False, timeout=120).text
                assert page.count("kubevirt_vmi_memory_domain_bytes{") == GUESTS
            say(process, "one scrape of all guests", (used(process) - before) / SCRAPES)
            before = used(process)
            time.sleep(IDLE_S)
            say(process, f"{IDLE_S:.0f} s with heartbeats only", used(process) - before)


def say(process: psutil.Process, what: str, cpu_s: float) -> None:
    size = process.memory_info().rss / 2**20
    print(f"\n{what}: {cpu_s:.2f} s CPU, {size:.0f} MiB; load {os.getloadavg()[0]:.1f}")
