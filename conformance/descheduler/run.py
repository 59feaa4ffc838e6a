"""Many sessions: as many cycles as asked for, by processes with a control plane each."""

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from queue import Empty
from typing import Any

import httpx2
from msgspec import Struct, field

from conformance.descheduler.cluster import Cluster
from conformance.descheduler.draws.cases import Session
from conformance.descheduler.draws.population import CLAIMS, NAMESPACES
from conformance.descheduler.draws.themes import THEMES
from conformance.descheduler.judge.chance import Orders, orders_in
from conformance.descheduler.judge.compare import judge
from conformance.descheduler.judge.coverage import coverage, evicts
from conformance.descheduler.plane import Running, running_plane
from conformance.descheduler.recording import Recording
from conformance.descheduler.session import run_session

WORKERS = 2
_NO_MORE = -1
_WAIT_S = 30.0
"""Everything is in the queue from the start; an empty one means that its owner died."""


class Tally(Struct):
    """What came of the sessions."""

    cycles: int = 0
    evicting: int = 0
    rules: Counter[str] = field(default_factory=Counter)
    orders: Orders = field(default_factory=Counter)
    disagreements: list[tuple[Recording, tuple[str, ...]]] = field(default_factory=list)
    recordings: list[Recording] = field(default_factory=list)
    """All of them, if they were to be kept."""
    failures: list[str] = field(default_factory=list)
    """Sessions that came to no end: the harness failed, not the comparison."""

    def add(self, other: "Tally") -> None:
        self.cycles += other.cycles
        self.evicting += other.evicting
        self.rules += other.rules
        self.orders += other.orders
        self.disagreements += other.disagreements
        self.recordings += other.recordings
        self.failures += other.failures


def numbers_for(cycles: int, seed: int) -> list[int]:
    """So many sessions that at least this many cycles come together; every theme at least once."""
    numbers: list[int] = []
    total = 0
    while total < cycles or len(numbers) < len(THEMES):
        numbers.append(len(numbers))
        total += len(Session(seed, numbers[-1]).steps)
    return numbers


def run(
    seed: int,
    numbers: Sequence[int],
    *,
    workers: int = WORKERS,
    keep: bool = False,
    report: Callable[[Tally], None] = lambda tally: None,
) -> Tally:
    """Run and judge these sessions; `report` hears of the tally as it grows."""
    context = get_context("spawn")
    waiting, done = context.Queue(), context.Queue()
    for number in (*numbers, *[_NO_MORE] * workers):
        waiting.put(number)
    processes = [
        context.Process(target=_work, args=(seed, keep, waiting, done)) for _ in range(workers)
    ]
    for process in processes:
        process.start()
    total = Tally()
    for tally in _arriving(done, processes, len(numbers)):
        total.add(tally)
        report(total)
    for process in processes:
        process.join()
    total.recordings.sort(key=lambda r: (r.session, r.step))
    return total


def _arriving(done: Any, processes: Sequence[BaseProcess], count: int) -> Iterator[Tally]:
    """One tally for each session, as long as somebody works on it."""
    while count:
        try:
            yield done.get(timeout=5)
            count -= 1
        except Empty:
            if not any(process.is_alive() for process in processes):
                yield Tally(failures=[f"{count} sessions were not run: the workers ended"])
                return


def _work(seed: int, keep: bool, waiting: Any, done: Any) -> None:
    asyncio.run(_sessions(seed, keep, waiting, done))


async def _sessions(seed: int, keep: bool, waiting: Any, done: Any) -> None:
    """One session after the other, on a control plane of one's own.

    After a session that came to no end nobody knows what the cluster is like: it is tried once
    more on another one.
    """
    parent = os.getppid()

    async def next_one() -> int:
        number: int = await asyncio.to_thread(waiting.get, timeout=_WAIT_S)
        # an orphan's cancellation may have come to nothing
        return number if os.getppid() == parent else _NO_MORE

    async with _while_parent_lives():
        number, tries = await next_one(), 0
        while number != _NO_MORE:
            async with _furnished() as (running, cluster):
                failed = False
                while number != _NO_MORE and not failed:
                    tally = await _session(running, cluster, Session(seed, number), keep)
                    failed, tries = bool(tally.failures), tries + 1
                    if failed and tries == 1:
                        continue
                    done.put(tally)
                    number, tries = await next_one(), 0


@asynccontextmanager
async def _furnished() -> AsyncIterator[tuple[Running, Cluster]]:
    async with running_plane() as running:
        cluster = Cluster(running.plane)
        async with cluster.followed():
            await _furnish(cluster, running.tls_port)
            yield running, cluster


@asynccontextmanager
async def _while_parent_lives() -> AsyncIterator[None]:
    """Nobody waits for the results of an orphan: it cleans up and ends."""
    block, parent = asyncio.current_task(), os.getppid()
    assert block is not None

    async def watch() -> None:
        while os.getppid() == parent:
            await asyncio.sleep(1)
        block.cancel()

    watching = asyncio.create_task(watch())
    try:
        yield
    finally:
        watching.cancel()


async def _session(running: Running, cluster: Cluster, session: Session, keep: bool) -> Tally:
    """One session that cannot be brought to its end does not end the others."""
    try:
        return judged(await run_session(running, cluster, session), keep)
    except (AssertionError, TimeoutError, httpx2.HTTPError) as error:
        return Tally(failures=[f"session {session.number}, {session.theme.name}: {error!r}"])


def judged(recordings: Sequence[Recording], keep: bool = False) -> Tally:
    """The tally of recordings of whole sessions."""
    pairs = [(recording, judge(recording)) for recording in recordings]
    orders: Orders = Counter()
    for _, judgement in pairs:
        orders += orders_in(judgement)
    return Tally(
        cycles=len(pairs),
        evicting=sum(evicts(judgement) for _, judgement in pairs),
        rules=coverage(pairs),
        orders=orders,
        disagreements=[(r, j.problems) for r, j in pairs if j.problems],
        recordings=list(recordings) if keep else [],
    )


async def _furnish(cluster: Cluster, tls_port: int) -> None:
    for namespace in NAMESPACES:
        meta = {"name": namespace.name, "labels": namespace.labels}
        await cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": meta})
    for claim in CLAIMS:
        await cluster.create(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": claim.name, "namespace": claim.namespace},
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "storageClassName": claim.storage_class,
                    "resources": {"requests": {"storage": "1Gi"}},
                },
            }
        )
    for manifest in cluster.plane.objects(tls_port):
        await cluster.create(manifest)
