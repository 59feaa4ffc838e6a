"""Much noise around few objects: the operator looks once a second and writes nothing."""

import asyncio
import re
import time
import urllib.request
from pathlib import Path

import pytest

from builders.labs.advisor import (
    EXAMPLE,
    LOAD_AWARE,
    Kubectl,
    OperatorProcess,
    a_config,
    advisor_cluster,
    operator,
)
from conformance.apiserver import free_port
from trimtab.advisor.api import TargetRef
from trimtab.advisor.cluster.objects import kind_of
from trimtab.advisor.kinds import (
    CONFIG_MAPS,
    DESCHEDULER,
    HYPERCONVERGED,
    MACHINE_CONFIGS,
    resource_of,
)
from trimtab.advisor.kinds import EXAMPLE as EXAMPLE_CONFIG
from trimtab.kube.client import Client
from trimtab.kube.resources import Free

pytestmark = [pytest.mark.engines, pytest.mark.full]
FOREIGN, UPDATES_PER_S, FOR_S = 5_000, 500, 15
HOME = "openshift-cnv"
NOISY = (EXAMPLE_CONFIG, MACHINE_CONFIGS.ref("99-worker-psi-karg"), DESCHEDULER, HYPERCONVERGED)


async def foreign(client: Client) -> None:
    """Objects of the kinds that profiles manage, and none of them ours."""
    configs, machines = kind_of(CONFIG_MAPS), kind_of(MACHINE_CONFIGS)

    async def create(number: int) -> None:
        body: Free = {"metadata": {"name": f"foreign-{number}"}, "data": {"x": "y" * 500}}
        if number % 5 == 0:
            await client.create(machines, {**body, "spec": {"kernelArguments": []}})
        else:
            await client.create(configs, body, HOME)

    for first in range(0, FOREIGN, 100):
        await asyncio.gather(*(create(first + each) for each in range(100)))


async def make_noise(client: Client) -> int:
    """Change what is not managed, on objects that are or that plans look at; how often."""
    noise = (make_noise_on(client, ref) for ref in NOISY)
    return sum(await asyncio.gather(*noise))


async def make_noise_on(client: Client, ref: TargetRef) -> int:
    """One after the other: writes to one object at the same time only hinder each other."""
    resource = resource_of(ref.api_version, ref.kind)
    assert resource is not None
    kind, rate = kind_of(resource), UPDATES_PER_S / len(NOISY)
    done, begun = 0, time.monotonic()
    while (now := time.monotonic() - begun) < FOR_S:
        if done > now * rate:
            await asyncio.sleep(done / rate - now)
        patch = {"metadata": {"labels": {"noise": str(done)}}}
        await client.patch(kind, ref.name, patch, ref.namespace or None)
        done += 1
    return done


def counters(port: int) -> tuple[float, float]:
    """Looks that ended, and statuses written."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    looks = re.findall(
        r'^trimtab_reconcile_seconds_count{controller="advisor".*} (\S+)$', text, re.M
    )
    writes = re.findall(r"^trimtab_advisor_status_writes_total{.*} (\S+)$", text, re.M)
    return sum(map(float, looks)), sum(map(float, writes))


def rss_mb(process: OperatorProcess) -> float:
    status = Path(f"/proc/{process.process.pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found
    return int(found[1]) / 1024


def prepare(kubectl: Kubectl) -> None:
    kubectl.apply(a_config(EXAMPLE, "Apply"), a_config(LOAD_AWARE, "Apply"))
    kubectl.await_phase(EXAMPLE, "Completed")
    kubectl.await_phase(LOAD_AWARE, "InProgress")
    time.sleep(2)
    kubectl.roll()
    kubectl.await_phase(LOAD_AWARE, "Completed")
    time.sleep(3)


def test_noise_costs_one_look_a_second_and_no_write() -> None:
    port = free_port()
    with advisor_cluster("5.32") as kubectl:

        async def noise() -> tuple[int, float, float, float]:
            config = kubectl.server.kubeconfig
            async with Client.from_kubeconfig(config, writes_per_s=5000, burst=5000) as client:
                await foreign(client)
                looks, writes = await asyncio.to_thread(counters, port)
                begun = time.monotonic()
                done = await make_noise(client)
                took = time.monotonic() - begun
                more, written = await asyncio.to_thread(counters, port)
                return done, (more - looks) / took, written - writes, took

        with operator(kubectl.server, "--open-metrics", f"--port={port}") as process:
            prepare(kubectl)
            done, looks_per_s, written, took = asyncio.run(noise())
            peak = rss_mb(process)
        print(
            f"\n{done / took:.0f} updates/s beside {FOREIGN} foreign objects: "
            f"{looks_per_s / 2:.2f} looks/s per configuration, {written:.0f} writes, {peak:.0f} MB"
        )
        assert looks_per_s <= 2 * 1.05, "two configurations, one look a second each"
        assert written == 0
        assert peak < 150
