"""One side of a comparison, in a process of its own: `kube_bench.py SIDE TASK KUBECONFIG COUNT`.

Prints JSON: CPU seconds of the task (imports, connection and TLS handshake done before), how
many objects it saw, and the process' peak memory.
"""

import asyncio
import resource
import sys
import time
from collections.abc import Callable
from contextlib import aclosing
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

MEBI = 1 << 20
WATCHED = "fifth=0"
"""Which pods a watch is measured with: a fifth of them."""


class Figure(Struct, frozen=True):
    cpu_s: float
    seen: int
    peak_mib: float


def measured(task: Callable[[], int]) -> Figure:
    before = time.process_time()
    seen = task()
    cpu_s = time.process_time() - before
    return Figure(cpu_s, seen, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MEBI)


def ours(task: str, kubeconfig: Path, count: int) -> Figure:
    import uvloop

    from trimtab.kube.client import Client
    from trimtab.kube.resources import NAMESPACES, PODS
    from trimtab.kube.runtime.reflector import Reflector

    client = Client.from_kubeconfig(kubeconfig)

    async def listed() -> int:
        return len(await client.list(PODS))

    async def watched() -> int:
        store = Reflector(client, PODS).store
        params = {"resourceVersion": "0", "timeoutSeconds": "60", "labelSelector": WATCHED}
        async with aclosing(client.watch(PODS, None, params, 60)) as batches:
            async for batch in batches:
                for event in batch:
                    store.put(event.object)
                if len(store) >= count:
                    break
        return len(store)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(client.get(NAMESPACES, "default"))
        figure = measured(lambda: runner.run(watched() if task == "watch" else listed()))
        runner.run(client.close())
    return figure


def theirs(task: str, kubeconfig: Path, count: int) -> Figure:
    kubernetes: Any = import_module("kubernetes")
    kubernetes.config.load_kube_config(str(kubeconfig))
    api = kubernetes.client.CoreV1Api()

    def listed() -> int:
        page = api.list_pod_for_all_namespaces(limit=500)
        pods = list(page.items)
        while page.metadata._continue:
            page = api.list_pod_for_all_namespaces(limit=500, _continue=page.metadata._continue)
            pods += page.items
        return len(pods)

    def watched() -> int:
        store: dict[tuple[str, str], Any] = {}
        options = {"resource_version": "0", "timeout_seconds": 60, "label_selector": WATCHED}
        for event in kubernetes.watch.Watch().stream(api.list_pod_for_all_namespaces, **options):
            meta = event["object"].metadata
            store[meta.namespace, meta.name] = event["object"]
            if len(store) >= count:
                break
        return len(store)

    api.read_namespace("default")
    return measured(watched if task == "watch" else listed)


if __name__ == "__main__":
    side, task, kubeconfig, count = sys.argv[1:]
    run = ours if side == "ours" else theirs
    print(msgspec.json.encode(run(task, Path(kubeconfig), int(count))).decode())
