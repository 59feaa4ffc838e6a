"""One session: a policy, its descheduler, and its cases one after the other.

A cycle counts if it began after everything was in place. One that began too early does no
harm: it found the gate closed, or what it did is followed and the case is set up once more.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from conformance.descheduler.cluster import Cluster
from conformance.descheduler.draws.cases import Session
from conformance.descheduler.draws.draft import Case, Flying
from conformance.descheduler.draws.population import CLAIMS, NAMESPACES
from conformance.descheduler.plane import Running
from conformance.descheduler.recording import Assumed, Recording, Told
from conformance.descheduler.stubs import klog_time
from trimtab.model.snapshot import (
    EVICTION_IN_PROGRESS,
    InFlightEviction,
    Snapshot,
)
from trimtab.observe.descheduler_log import parse_cycles
from trimtab.policy.cycle import PodOutcome

_INTERVALS = {"prometheus": "300ms"}
_LONG_INTERVAL = "600ms"
"""Without Prometheus the gate is the webhook's alone, and each refusal takes its time."""
_MARGIN_S = 0.06
"""From our having seen the last event to opening the gate; the descheduler sees it as we do."""
_LIMIT_S = 60.0
_ATTEMPTS = 20
_BEGAN, _ENDED = "] Resetting pod evictor counters", '] "Number of evictions/requests"'


class Descheduler:
    """A running descheduler, cycle by cycle."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._cycles: list[tuple[str, ...]] = []
        self._lines: list[str] = []
        self._ended = False
        self._news = asyncio.Condition()

    async def cycle(self) -> tuple[str, ...]:
        """The lines of the next whole cycle."""
        await self._until(lambda: bool(self._cycles))
        return self._cycles.pop(0)

    def ended(self) -> list[tuple[str, ...]]:
        """The lines of the whole cycles that nobody has asked for yet."""
        found, self._cycles = self._cycles, []
        return found

    async def rest(self) -> None:
        """Between two cycles."""
        await self._until(lambda: not any(line.endswith(_BEGAN) for line in self._lines))

    async def _until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(_LIMIT_S), self._news:
            await self._news.wait_for(lambda: self._ended or holds())
        if not holds():
            raise AssertionError("the descheduler ended:\n" + "\n".join(self._lines[-20:]))

    async def read(self) -> None:
        """Follow its log to the end."""
        assert self._process.stderr is not None
        while raw := await self._process.stderr.readline():
            await self._take(raw.decode(errors="replace").rstrip("\n"))
        async with self._news:
            self._ended = True
            self._news.notify_all()

    async def _take(self, line: str) -> None:
        if line.endswith(_BEGAN):
            self._lines = []
        self._lines.append(line)
        if line.endswith(_BEGAN) or _ENDED in line:
            async with self._news:
                if _ENDED in line:
                    self._cycles.append(tuple(self._lines))
                    self._lines = []
                self._news.notify_all()


@asynccontextmanager
async def _running(process: asyncio.subprocess.Process) -> AsyncIterator[Descheduler]:
    descheduler = Descheduler(process)
    reading = asyncio.create_task(descheduler.read())
    try:
        yield descheduler
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        await reading


async def run_session(running: Running, cluster: Cluster, session: Session) -> list[Recording]:
    """Every step of the session, recorded."""
    player = _Player(running, cluster, session)
    first = session.case(0, {})
    await player.arrange(first)
    running.stubs.forget()
    cluster.begin_to_follow()
    theme = session.theme
    policy = theme.text(running.prometheus)
    interval = _INTERVALS.get(theme.mode, _LONG_INTERVAL)
    process = await running.plane.start_descheduler(policy, interval, theme.background)
    async with _running(process) as descheduler:
        await descheduler.cycle()  # its first one finds the gate closed, and often no token
        recordings = [await player.play(0, first, descheduler, policy)]
        for step in range(1, len(session.steps)):
            case = session.case(step, player.flying())
            await player.arrange(case)
            recordings.append(await player.play(step, case, descheduler, policy))
    return recordings


class _Player:
    def __init__(self, running: Running, cluster: Cluster, session: Session) -> None:
        self._stubs, self._cluster, self._session = running.stubs, cluster, session

    def flying(self) -> dict[str, Flying]:
        """Evictions under way whose pods are still there."""
        entries = self._cluster.inflight.entries
        return {
            pod.uid: Flying(key, EVICTION_IN_PROGRESS in pod.annotations)
            for key, pod in self._cluster.pods.items()
            if pod.uid in entries
        }

    async def arrange(self, case: Case) -> None:
        """Close the gate and change what differs."""
        self._stubs.open = False
        self._stubs.node_metrics = case.node_metrics
        await self._cluster.become(case.nodes, case.pods, case.renewed)
        case.renewed.clear()

    async def play(self, step: int, case: Case, descheduler: Descheduler, policy: str) -> Recording:
        """Cycles until one counts."""
        for _ in range(_ATTEMPTS):
            await asyncio.sleep(_MARGIN_S)
            await descheduler.rest()
            snapshot, history = self._snapshot(case, policy), tuple(self._cluster.history)
            opened = self._open(case)
            lines = await descheduler.cycle()
            while _time_of(lines[-1]) < opened:
                lines = await descheduler.cycle()
            self._stubs.open = False
            await self._follow(lines)
            await self._follow_late(descheduler)
            if _time_of(lines[0]) >= opened and not self._collected_since(opened):
                return self._recorded(step, case, snapshot, history, lines)
            await self.arrange(case)
        raise AssertionError(f"no cycle counted in {_ATTEMPTS} attempts; is the machine too busy?")

    def _recorded(
        self,
        step: int,
        case: Case,
        snapshot: Snapshot,
        history: tuple[Told, ...],
        lines: tuple[str, ...],
    ) -> Recording:
        ended, calls = _time_of(lines[-1]), self._stubs.calls
        return Recording(
            seed=self._session.seed,
            session=self._session.number,
            step=step,
            theme=self._session.theme.name,
            kind=case.kind,
            snapshot=snapshot,
            replies=case.replies,
            calls=tuple((pod, reply) for pod, reply, when in calls if when <= ended),
            lines=lines,
            history=history,
        )

    def _open(self, case: Case) -> str:
        stubs = self._stubs
        stubs.query, stubs.replies, stubs.pod_metrics = case.query, case.replies, case.pod_metrics
        stubs.calls = []
        stubs.open = True
        return klog_time(time.time())

    def _collected_since(self, opened: str) -> bool:
        """Whether the metrics server was asked since then, or just before."""
        is_asked = self._session.theme.mode == "metrics"
        return is_asked and klog_time(self._stubs.collected_at + 0.2) >= opened

    async def _follow_late(self, descheduler: Descheduler) -> None:
        """Follow what began before the gate was closed: a busy machine tells us late of an end."""
        await asyncio.sleep(_MARGIN_S)
        await descheduler.rest()
        for lines in descheduler.ended():
            await self._follow(lines)

    async def _follow(self, lines: tuple[str, ...]) -> None:
        """What a cycle led to: pods that leave, and evictions in background."""
        (cycle,) = parse_cycles(lines)
        for note in cycle.notes:
            namespace, _, name = note.pod.partition("/")
            found = self._cluster.pods.get((namespace, name))
            if note.outcome is PodOutcome.BACKGROUND and found is not None:
                assumed = Assumed(found.uid, found.node, namespace, time.time())
                self._cluster.take(Told(assumed=assumed))
        await self._cluster.left([n.pod for n in cycle.notes if n.outcome is PodOutcome.EVICTED])

    def _snapshot(self, case: Case, policy: str) -> Snapshot:
        cluster = self._cluster
        return Snapshot(
            taken_at=datetime.now(UTC),
            evictions_in_background=self._session.theme.background,
            policy=policy,
            query=case.query,
            nodes=tuple(cluster.nodes[name] for name in sorted(cluster.nodes)),
            pods=tuple(cluster.pods[key] for key in sorted(cluster.pods)),
            namespaces=NAMESPACES,
            claims=CLAIMS,
            node_metrics=self._stubs.collected(),
            pod_metrics=tuple(case.pod_metrics.values()),
            in_flight=tuple(
                InFlightEviction(e.pod_uid, e.node, e.namespace)
                for e in cluster.inflight.entries.values()
            ),
        )


def _time_of(line: str) -> str:
    return line[1:21]
