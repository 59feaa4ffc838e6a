"""The cluster of one worker: made to look as a case wishes, and followed as an informer would.

`become` changes what differs and returns when the same watch events that the descheduler gets
have arrived here. The in-flight cache is fed by those events alone, and by the webhook's answers.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import httpx2
import msgspec
from msgspec import Struct

from conformance.descheduler.objects import (
    Manifest,
    for_good,
    merge,
    node_manifest,
    node_spec,
    node_status,
    pod_manifest,
    pod_metadata,
    pod_status,
)
from conformance.descheduler.plane import Plane
from conformance.descheduler.recording import Told
from trimtab.kube.resources import Node
from trimtab.model.snapshot import SnapshotNode, SnapshotPod
from trimtab.observe import wire
from trimtab.observe.objects import node_of, pod_of
from trimtab.policy.inflight import InFlight, PodEvent
from trimtab.policy.snapshot_view import state_of

_AT_ONCE = 8
_LIMIT_S = 60.0
_MERGE = {"content-type": "application/merge-patch+json"}
Key = tuple[str, str]


class _GoneError(Exception):
    """The object is not there any more."""


class _Event(Struct):
    type: str
    object: msgspec.Raw


class Cluster:
    """Nodes and pods as they are by the last event."""

    def __init__(self, plane: Plane) -> None:
        self.plane = plane
        self._http = httpx2.AsyncClient(
            base_url=plane.url,
            verify=plane.tls(),
            timeout=httpx2.Timeout(_LIMIT_S, read=None),
        )
        self.nodes: dict[str, SnapshotNode] = {}
        self.pods: dict[Key, SnapshotPod] = {}
        self.inflight = InFlight()
        self.history: list[Told] = []
        """What the in-flight cache of the running descheduler has met."""
        self._wished: dict[Key, SnapshotPod] = {}
        self._shaped: dict[str, SnapshotNode] = {}
        self._populated = False
        self._seen: dict[str, int] = {}
        self._gone: set[str] = set()
        self._news = asyncio.Condition()
        self._turns = asyncio.Semaphore(_AT_ONCE)

    def begin_to_follow(self) -> None:
        """A new descheduler: it knows of evictions under way from annotations only (2.4)."""
        self.inflight, self.history = InFlight(), []
        for pod in self.pods.values():
            self._observe(PodEvent("added", state_of(pod)))

    def take(self, told: Told) -> None:
        """Something happened that the in-flight cache hears of."""
        self.history.append(told)
        if told.event is not None:
            self.inflight = self.inflight.observe(told.event)
        if (one := told.assumed) is not None:
            self.inflight = self.inflight.assume(one.uid, one.node, one.namespace, one.time)

    def _observe(self, event: PodEvent) -> None:
        states = [event.pod] if event.old is None else [event.pod, event.old]
        if any(s.request_evict_only or s.eviction_in_progress for s in states):
            self.take(Told(event=event))

    async def left(self, pods: Sequence[str]) -> None:
        """Wait until these (namespace/name) are gone, or are seen to be going."""

        def all_left() -> bool:
            found = (self.pods.get((n, name)) for n, _, name in (p.partition("/") for p in pods))
            return all(pod is None or pod.terminating for pod in found)

        await self._until(all_left)

    async def create(self, manifest: Manifest) -> None:
        """Any object that stays as it is."""
        await self._send("POST", _collection(manifest), manifest)

    async def become(
        self,
        nodes: Sequence[SnapshotNode],
        pods: Mapping[Key, SnapshotPod],
        renewed: Collection[Key] = (),
    ) -> None:
        """Change nodes and pods to what is wished, and wait for the events."""
        for key in renewed:
            self._wished.pop(key, None)
        written = await asyncio.gather(
            *(self._turn(self._shape(node)) for node in nodes if self._is_news(node)),
            *(
                self._turn(self._make(key, pod))
                for key, pod in pods.items()
                if self._differs(key, pod)
            ),
        )
        self._populated = True
        wanted = [w for of_one in written for w in of_one]
        await self._until(lambda: all(self._has_seen(w) for w in wanted))

    async def _until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(_LIMIT_S), self._news:
            await self._news.wait_for(holds)

    def _is_news(self, node: SnapshotNode) -> bool:
        return self._shaped.get(node.name) != node

    def _differs(self, key: Key, pod: SnapshotPod) -> bool:
        there = self.pods.get(key)
        return there is None or there.terminating != pod.terminating or self._wished.get(key) != pod

    def _has_seen(self, written: tuple[str, int]) -> bool:
        uid, version = written
        return uid in self._gone if version < 0 else self._seen.get(uid, 0) >= version

    async def _turn(self, one: Coroutine[Any, Any, list[tuple[str, int]]]) -> list[tuple[str, int]]:
        async with self._turns:
            return await one

    async def _shape(self, node: SnapshotNode) -> list[tuple[str, int]]:
        path, old = f"/api/v1/nodes/{node.name}", self._shaped.get(node.name)
        written = []
        if old is None:
            written.append(await self._send("POST", "/api/v1/nodes", node_manifest(node)))
        elif (old.labels, node_spec(old)) != (node.labels, node_spec(node)):
            patch = {
                "metadata": {"labels": merge(old.labels, node.labels)},
                "spec": node_spec(node),
            }
            written.append(await self._send("PATCH", path, patch))
        if old is None or node_status(old) != node_status(node):
            written.append(
                await self._send("PATCH", f"{path}/status", {"status": node_status(node)})
            )
        self._shaped[node.name] = node
        return written

    async def _make(self, key: Key, pod: SnapshotPod) -> list[tuple[str, int]]:
        """Patch where a patch will do; a pod that is gone or must be another is made anew."""
        there = self.pods.get(key)
        try:
            return await self._try_to_make(key, pod, there)
        except _GoneError:  # evicted a moment ago
            await self._until(lambda: self.pods.get(key) is not there)
            return await self._try_to_make(key, pod, self.pods.get(key))

    async def _try_to_make(
        self, key: Key, pod: SnapshotPod, there: SnapshotPod | None
    ) -> list[tuple[str, int]]:
        path = f"/api/v1/namespaces/{key[0]}/pods/{key[1]}"
        old, written = self._wished.get(key), []
        if there is not None and (old is None or not _can_become(old, there, pod)):
            await self._send("DELETE", path, {"gracePeriodSeconds": 0})
            written.append((there.uid, -1))
            there = None
        if there is None or old is None:
            made = await self._send("POST", path.rpartition("/")[0], pod_manifest(pod, _grace(pod)))
            written.append(made)
            old = pod_as_made(pod)
            if self._populated and not pod.finished:
                # a new pod may stay pending: that saves a request, and no rule minds
                old = msgspec.structs.replace(pod, terminating=False)
        self._wished[key] = pod
        return written + [await change for change in self._changes(path, old, pod)]

    def _changes(
        self, path: str, old: SnapshotPod, pod: SnapshotPod
    ) -> list[Coroutine[Any, Any, tuple[str, int]]]:
        changes = []
        if pod_metadata(old) != pod_metadata(pod):
            patch = pod_metadata(pod) | {
                "labels": merge(old.labels, pod.labels),
                "annotations": merge(old.annotations, pod.annotations),
            }
            changes.append(self._send("PATCH", path, {"metadata": patch}))
        if pod_status(old) != pod_status(pod):
            changes.append(self._send("PATCH", f"{path}/status", {"status": pod_status(pod)}))
        if pod.terminating and not old.terminating:
            changes.append(self._send("DELETE", path, {"gracePeriodSeconds": 3600}))
        return changes

    async def _send(self, method: str, path: str, body: Manifest) -> tuple[str, int]:
        """The uid and version of what was written."""
        kind = _MERGE if method == "PATCH" else {"content-type": "application/json"}
        content = msgspec.json.encode(body)
        answer = await self._http.request(method, path, content=content, headers=kind)
        if answer.status_code == 404 and method != "POST":
            raise _GoneError
        if answer.status_code >= 300:
            raise AssertionError(f"{method} {path}: {answer.status_code} {answer.text}")
        meta = msgspec.json.decode(answer.content).get("metadata", {})
        return meta.get("uid", ""), int(meta.get("resourceVersion", "0"))

    @asynccontextmanager
    async def followed(self) -> AsyncIterator[None]:
        """Watch pods and nodes for the time of the block."""
        tasks = [
            asyncio.create_task(self._watch("/api/v1/pods", self._on_pod)),
            asyncio.create_task(self._watch("/api/v1/nodes", self._on_node)),
        ]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            for task in tasks:
                with suppress(asyncio.CancelledError, httpx2.HTTPError):
                    await task
            await self._http.aclose()

    async def _watch(self, path: str, take: Any) -> None:
        params = {"watch": "true", "resourceVersion": "0", "timeoutSeconds": "86400"}
        async with self._http.stream("GET", path, params=params) as stream:
            async for line in stream.aiter_lines():
                event = msgspec.json.decode(line, type=_Event)
                async with self._news:
                    take(event)
                    self._news.notify_all()

    def _on_node(self, event: _Event) -> None:
        node = msgspec.json.decode(event.object, type=Node)
        self._seen[node.metadata.uid] = int(node.metadata.resource_version)
        self.nodes[node.metadata.name] = node_of(node)

    def _on_pod(self, event: _Event) -> None:
        told = msgspec.json.decode(event.object, type=wire.Pod)
        pod, old = pod_of(told), self.pods.get((told.metadata.namespace, told.metadata.name))
        self._seen[pod.uid] = int(told.metadata.resource_version)
        key = (pod.namespace, pod.name)
        if event.type == "DELETED":
            self._gone.add(pod.uid)
            self.pods.pop(key, None)
            self._observe(PodEvent("deleted", state_of(pod)))
            return
        self.pods[key] = pod
        before = None if old is None or old.uid != pod.uid else state_of(old)
        kind: Any = "added" if before is None else "updated"
        self._observe(PodEvent(kind, state_of(pod), before))


def pod_as_made(pod: SnapshotPod) -> SnapshotPod:
    """What the API server makes of a new pod: pending, and not yet started."""
    return msgspec.structs.replace(pod, phase="Pending", start_time=None, terminating=False)


def _can_become(old: SnapshotPod, there: SnapshotPod, pod: SnapshotPod) -> bool:
    """A pod cannot come back from termination, nor from its end, nor change its spec."""
    if there.terminating and not pod.terminating:
        return False
    if there.finished and there.phase != pod.phase:
        return False
    return for_good(old) == for_good(pod) and (old.start_time is None) >= (pod.start_time is None)


def _grace(pod: SnapshotPod) -> int:
    return 3600 if pod.terminating else 0


def _collection(manifest: Manifest) -> str:
    group, kind = manifest["apiVersion"], manifest["kind"].lower()
    prefix = f"/api/{group}" if "/" not in group else f"/apis/{group}"
    namespace = manifest["metadata"].get("namespace")
    plural = f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"
    return f"{prefix}/namespaces/{namespace}/{plural}" if namespace else f"{prefix}/{plural}"
