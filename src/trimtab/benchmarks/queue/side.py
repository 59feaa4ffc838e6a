"""One side of an experiment on a running cluster: who got how much, as the watch shows it.

The recording is its own: it knows nothing of the ledger, so it can be used to judge it.
A Deployment runs from the moment one of its pods is bound to the moment that pod is deleted;
all other time, from the Deployment's creation on, it waits.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
from msgspec import Struct

from trimtab.benchmarks.queue.experiment import QueueExperiment, Served, Side, SideRun, life_s
from trimtab.kube.client import Client
from trimtab.kube.errors import ApiError, Conflict, NotFound
from trimtab.kube.resources import DEPLOYMENTS, NAMESPACES, PODS, PRIORITY_CLASSES, Pod
from trimtab.kube.runtime.reflector import Reflector
from trimtab.qos.promise import ANNOTATION

NAMESPACE = "qos-experiment"
LABEL = "qos-experiment"
AGAIN_S = 0.2


class RunningTimes:
    """Running time and incarnations of every Deployment, kept from pods that come and go."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._pods: dict[str, _Life] = {}
        self._without_pod: dict[str, float] = {}
        self.wanted_since: dict[str, float] = {}
        self.incarnations: Counter[str] = Counter()
        self._running: defaultdict[str, float] = defaultdict(float)
        self._queueing: defaultdict[str, float] = defaultdict(float)
        self._replacing: defaultdict[str, float] = defaultdict(float)

    def see(self, pod: Pod, *, gone: bool) -> bool:
        """Take note of a pod; whether it has just been bound."""
        now, owner = self._clock(), pod.metadata.labels[LABEL]
        life = self._pods.get(pod.metadata.uid)
        if life is None:
            life = self._pods[pod.metadata.uid] = _Life(owner, now)
            self._replacing[owner] += now - self._without_pod.pop(owner, now)
        if life.over:
            return False
        if gone or pod.metadata.deletion_timestamp is not None:
            life.over = True
            self._without_pod[owner] = now
            self._count(life, now)
            return False
        if not pod.spec.node_name or life.bound is not None:
            return False
        life.bound = now
        self.incarnations[owner] += 1
        return True

    def _count(self, life: "_Life", now: float) -> None:
        bound = now if life.bound is None else life.bound
        self._queueing[life.owner] += bound - life.seen
        self._running[life.owner] += now - bound

    def served(self) -> dict[str, Served]:
        """The sums up to now."""
        now = self._clock()
        kept = self._running.copy(), self._queueing.copy()
        for life in self._pods.values():
            if not life.over:
                self._count(life, now)
        found = {name: self._served(name, now - since) for name, since in self.wanted_since.items()}
        self._running, self._queueing = kept
        return found

    def _served(self, name: str, wanted_s: float) -> Served:
        return Served(
            running_s=self._running[name],
            wanted_s=wanted_s,
            incarnations=self.incarnations[name],
            queueing_s=self._queueing[name],
            replacing_s=self._replacing[name],
        )


class _Life(Struct):
    owner: str
    seen: float
    bound: float | None = None
    over: bool = False


class Play:
    """The driver of one side: makes the Deployments, ends pods when their life is over."""

    def __init__(self, client: Client, experiment: QueueExperiment, seed: int, side: Side) -> None:
        self._client, self._experiment = client, experiment
        self._seed, self._side = seed, side
        self._loop = asyncio.get_running_loop()
        self._pods = Reflector(client, PODS, namespace=NAMESPACE)
        self.recording = RunningTimes(self._loop.time)
        self._numbers = {name: i for i, name in enumerate(experiment.deployments)}
        self._deletions: set[asyncio.Task[None]] = set()
        self._over = False

    async def run(self) -> SideRun:
        """Play for the experiment's time and say what came of it."""
        async with self.playing():
            await asyncio.sleep(self._experiment.duration_s)
            return SideRun(side=self._side, seed=self._seed, served=self.served())

    @asynccontextmanager
    async def playing(self) -> AsyncIterator[None]:
        """All Deployments are there, and their pods come and go until this ends."""
        await self._prepare()
        self._pods.store.subscribe(self._see)
        watching = asyncio.create_task(self._pods.run())
        try:
            await self._pods.synced.wait()
            await self._arrive()
            yield
        finally:
            self._over = True
            tasks = [watching, *self._deletions]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def served(self) -> dict[str, Served]:
        """What everybody got up to now."""
        return self.recording.served()

    async def _prepare(self) -> None:
        await self._client.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        if self._side == "rank":
            for each in priority_classes(self._experiment):
                await self._client.create(PRIORITY_CLASSES, each)

    async def _arrive(self) -> None:
        """All Deployments in an order that depends on the seed alone."""
        names = list(self._experiment.deployments)
        for i in np.random.default_rng([self._seed]).permutation(len(names)):
            self.recording.wanted_since[names[i]] = self._loop.time()
            manifest = deployment(self._experiment, names[i], self._side)
            await self._client.create(DEPLOYMENTS, manifest, NAMESPACE)

    def _see(self, old: Pod | None, new: Pod | None) -> None:
        pod = new or old
        if pod is None or self._over:
            return
        owner = pod.metadata.labels[LABEL]
        if self.recording.see(pod, gone=new is None):
            incarnation = self.recording.incarnations[owner]
            number = self._numbers[owner]
            life = life_s(self._experiment, self._seed, number, incarnation)
            self._loop.call_later(life, self._end, pod)

    def _end(self, pod: Pod) -> None:
        if not self._over:
            task = self._loop.create_task(self._delete(pod))
            self._deletions.add(task)
            task.add_done_callback(self._deletions.discard)

    async def _delete(self, pod: Pod) -> None:
        """Another try if the API server is busy; a pod that somebody else removed is fine."""
        meta = pod.metadata
        while not self._over:
            try:
                await self._client.delete(PODS, meta.name, NAMESPACE, uid=meta.uid)
            except (NotFound, Conflict):
                return
            except ApiError:
                await asyncio.sleep(AGAIN_S)
            else:
                return


def priority_classes(experiment: QueueExperiment) -> list[dict[str, Any]]:
    """The SLO as a pod priority; nobody is preempted."""
    return [
        {
            "metadata": {"name": f"slo-{name}"},
            "value": round(group.slo * 1000),
            "preemptionPolicy": "Never",
            "description": f"SLO {group.slo}",
        }
        for name, group in experiment.classes.items()
    ]


def deployment(experiment: QueueExperiment, name: str, side: Side) -> dict[str, Any]:
    """One replica that takes one slot."""
    group = experiment.deployments[name]
    labels = {LABEL: name}
    requests = {"cpu": "1"}
    spec: dict[str, Any] = {
        "terminationGracePeriodSeconds": 0,
        "containers": [{"name": "c", "image": "none", "resources": {"requests": requests}}],
    }
    if side == "rank":
        spec["priorityClassName"] = f"slo-{group}"
    annotations = {ANNOTATION: str(experiment.classes[group].slo)}
    return {
        "metadata": {"name": name, "annotations": annotations},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }
