"""The controller in docs/reference/kube.md, run as it is printed there."""

import asyncio
import re
from pathlib import Path
from typing import Any

from builders.labs.following import following
from builders.values.kube import pod_to_create
from builders.waiting import until
from conformance.apiserver import ApiServer
from trimtab.kube.client import Client
from trimtab.kube.resources import CONFIG_MAPS, EVENTS, NAMESPACES, PODS, ConfigMap
from trimtab.kube.runtime.reflector import Reflector

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "kube.md"


def first_example() -> dict[str, Any]:
    found = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None
    names: dict[str, Any] = {}
    exec(found.group(1).replace("port=8080", "port=0"), names)
    return names


async def test_the_example_counts_pods(apiserver: ApiServer, client: Client) -> None:
    await client.create(NAMESPACES, {"metadata": {"name": "trimtab-system"}})
    await client.create(CONFIG_MAPS, {"metadata": {"name": "pod-counts"}}, "default")
    counts = Reflector(client, CONFIG_MAPS, namespace="default")
    events = Reflector(client, EVENTS, namespace="default")
    service = asyncio.create_task(first_example()["main"](apiserver.kubeconfig))
    async with following(counts), following(events):
        for number in range(3):
            pod = pod_to_create(f"example-{number}", "default", labels={"app": "virt-launcher"})
            pod["spec"]["nodeName"] = "example-node"
            await client.create(PODS, pod)

        def counted() -> str | None:
            found = counts.store.get("pod-counts", "default") or ConfigMap()
            return found.data.get("example-node")

        await until(lambda: counted() == "3")
        await client.delete(PODS, "example-0", "default", grace_s=0)
        await until(lambda: counted() == "2")
        await until(lambda: any(event.note == "example-node: 2" for event in events.store))
    service.cancel()
    await asyncio.gather(service, return_exceptions=True)
