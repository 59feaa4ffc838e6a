"""Migrations of one replica: waiting, under way, finished.

KubeVirt's rules: so many at once in the cluster, so many leaving one node, others wait in
order of priority; a target that fits nowhere holds its slot for five minutes and fails; a
failure is retried after a back-off that doubles. In mode `recreate` the VM is stopped
first and started on another node, under the same limits.
"""

from collections import Counter
from collections.abc import Callable
from math import inf

from trimtab.sim.cluster import Cluster
from trimtab.sim.fleet import BYTES_PER_UNIT
from trimtab.sim.marks import Attempt, Mark, Priority
from trimtab.sim.outcome import Move
from trimtab.sim.precopy import GIB, Copy, share_network
from trimtab.sim.scheduler import Scheduler
from trimtab.sim.starts import BOOT_S
from trimtab.sim.streams import attempt_fails

UNSCHEDULABLE_TIMEOUT_S = 300.0
GB = 1e9


class Migrations:
    """All marks of one replica.

    `left` is told of each VM whose pod on the source is gone, `arrived` of each that has moved.
    """

    def __init__(
        self,
        cluster: Cluster,
        scheduler: Scheduler,
        seed: int,
        *,
        left: Callable[[int], None],
        arrived: Callable[[Mark], None],
        reaction_s: float = 0.0,
    ) -> None:
        self._cluster, self._scheduler, self._seed = cluster, scheduler, seed
        self._model = cluster.fleet.scenario.migration
        self._left, self._arrived, self._reaction_s = left, arrived, reaction_s
        self._attempts: Counter[int] = Counter()
        self._requests = 0
        self.marks: dict[int, Mark] = {}
        self.moves: list[Move] = []
        self.peak = 0
        self.precopy_s = 0.0
        self.bytes_sent = 0.0
        self.failed = 0

    @property
    def copying(self) -> list[Copy]:
        attempts = (mark.attempt for mark in self.marks.values())
        return [attempt.copy for attempt in attempts if attempt and attempt.copy]

    def request(self, vm: int, now: float, priority: Priority, target: int | None = None) -> None:
        """Mark a VM to leave its node; a VM that is marked already stays so."""
        if vm not in self.marks:
            source = int(self._cluster.where[vm])
            self._requests += 1
            self.marks[vm] = Mark(
                vm,
                source,
                now,
                priority,
                wanted_target=target,
                not_before_s=now + self._reaction_s,
                sequence=self._requests,
            )

    def cancel(self, vm: int, now: float, outcome: str) -> None:
        """Forget a mark because its VM or its node is gone."""
        if mark := self.marks.get(vm):
            self._end_attempt(mark, now, outcome)
            del self.marks[vm]
            self._share(now)

    def abort(self, mark: Mark, now: float) -> None:
        """The attempt cannot succeed any more (its target is lost); the mark stays."""
        self._fail(mark, now, "failed")
        self._share(now)

    def next_s(self, now: float) -> float:
        """When something happens next by itself: an attempt ends, or a back-off."""
        if not self.marks:
            return inf
        moments = [mark.attempt.ends_s for mark in self.marks.values() if mark.attempt]
        backing_off = (mark.not_before_s for mark in self.marks.values() if not mark.attempt)
        return min([*moments, *(moment for moment in backing_off if moment > now)], default=inf)

    def settle(self, now: float) -> None:
        """Finish what is due, then start what may start."""
        due = [m for m in self.marks.values() if m.attempt and m.attempt.ends_s <= now]
        for mark in due:
            self._finish(mark, now)
        self.start(now)

    def start(self, now: float) -> None:
        """Begin waiting migrations as far as the limits allow, and look again for targets."""
        running, waiting = [], []
        for mark in self.marks.values():
            if mark.attempt:
                running.append(mark)
            elif mark.not_before_s <= now:
                waiting.append(mark)
        for mark in running:
            if mark.attempt and mark.attempt.target is None:
                self._bind(mark, now)
        if waiting:
            running += self._begin_some(sorted(waiting, key=_order), running, now)
        self.peak = max(self.peak, len(running))
        self._share(now)

    def _begin_some(self, waiting: list[Mark], running: list[Mark], now: float) -> list[Mark]:
        """Begin those for which there are slots in the cluster and on their node."""
        leaving = Counter(mark.source for mark in running)
        begun: list[Mark] = []
        for mark in waiting:
            if len(running) + len(begun) >= self._model.per_cluster:
                break
            if leaving[mark.source] < self._model.per_node_outbound:
                leaving[mark.source] += 1
                begun.append(mark)
                self._begin(mark, now)
        return begun

    def unfinished(self, now: float) -> list[Move]:
        """What is still under way or waiting at the end of the run."""
        self._share(now)
        for copy in self.copying:
            self.bytes_sent += copy.sent
            self.precopy_s += now - copy.begun_s
        return [
            self._move(mark, None, "running" if _has_target(mark) else "waiting")
            for mark in self.marks.values()
        ]

    def _begin(self, mark: Mark, now: float) -> None:
        number = self._attempts[mark.vm] = self._attempts[mark.vm] + 1
        doomed = attempt_fails(self._seed, mark.vm, number, self._model.failure_rate)
        mark.attempt = Attempt(number, now, doomed=doomed, ends_s=now + UNSCHEDULABLE_TIMEOUT_S)
        if self._model.mode == "recreate":
            self._stop_vm(mark)
            mark.attempt.ends_s = inf  # a stopped VM waits for a node as long as it takes
        self._bind(mark, now)

    def _stop_vm(self, mark: Mark) -> None:
        if self._cluster.where[mark.vm] == mark.source:  # an earlier attempt may have stopped it
            self._cluster.put(mark.vm, self._cluster.nowhere)
            self._cluster.release(mark.vm, mark.source)
            self._left(mark.vm)

    def _bind(self, mark: Mark, now: float) -> None:
        """Look for a node; with one, start to copy."""
        attempt = mark.attempt
        assert attempt is not None
        attempt.target = self._target(mark)
        if attempt.target is None:
            return
        self._cluster.reserve(mark.vm, attempt.target)
        if self._model.mode == "recreate":
            attempt.ends_s = now + BOOT_S
            return
        cluster, vm = self._cluster, mark.vm
        used = float(cluster.loads.memory[vm]) * BYTES_PER_UNIT
        allocated = float(cluster.fleet.memory_size[vm]) * BYTES_PER_UNIT
        attempt.copy = Copy(
            source=mark.source,
            target=attempt.target,
            left=used,
            dirty_rate=float(cluster.fleet.dirty_rate[vm]),
            deadline_s=now + self._model.timeout_s_per_gib * allocated / GIB,
            begun_s=now,
            since_s=now,
        )
        cluster.land(vm, attempt.target)

    def _target(self, mark: Mark) -> int | None:
        wanted = mark.wanted_target
        if wanted is None:
            return self._scheduler.choose(mark.vm, avoid=mark.source)
        ready = self._cluster.open[wanted] and self._scheduler.fits(mark.vm, wanted)
        return wanted if ready else None

    def _share(self, now: float) -> None:
        share_network(self.copying, self._model.bandwidth, now)
        for mark in self.marks.values():
            if mark.attempt and mark.attempt.copy:
                mark.attempt.ends_s = mark.attempt.copy.ends_s

    def _finish(self, mark: Mark, now: float) -> None:
        attempt = mark.attempt
        assert attempt is not None
        if attempt.target is None:
            self._fail(mark, now, "failed")
        elif attempt.copy and not attempt.copy.is_in_time:
            self._fail(mark, now, "timed-out")
        elif attempt.doomed and attempt.copy:
            self._fail(mark, now, "failed")
        else:
            self._succeed(mark, attempt.target, now)

    def _succeed(self, mark: Mark, target: int, now: float) -> None:
        self._account(mark, now, "succeeded")
        if mark.vm in self._cluster.landing:
            self._cluster.stop_landing(mark.vm)
            self._cluster.release(mark.vm, mark.source)
            self._left(mark.vm)
        self._cluster.put(mark.vm, target)
        del self.marks[mark.vm]
        self._arrived(mark)

    def _fail(self, mark: Mark, now: float, outcome: str) -> None:
        self._end_attempt(mark, now, outcome)
        self.failed += 1
        mark.not_before_s = now + self._model.backoff_s * 2.0**mark.failures
        mark.failures += 1
        if mark.wanted_target is not None:  # no evacuation: whoever asked may think again
            del self.marks[mark.vm]

    def _end_attempt(self, mark: Mark, now: float, outcome: str) -> None:
        """Give back what an attempt that did not succeed holds on its target."""
        if mark.attempt is None:
            return
        self._account(mark, now, outcome)
        if mark.vm in self._cluster.landing:
            self._cluster.stop_landing(mark.vm)
        if mark.attempt.target is not None:
            self._cluster.release(mark.vm, mark.attempt.target)
        mark.attempt = None

    def _account(self, mark: Mark, now: float, outcome: str) -> None:
        attempt = mark.attempt
        if attempt and attempt.copy:
            attempt.copy.progress(now)
            self.bytes_sent += attempt.copy.sent
            self.precopy_s += now - attempt.copy.begun_s
        self.moves.append(self._move(mark, now, outcome))

    def _move(self, mark: Mark, now: float | None, outcome: str) -> Move:
        attempt, names = mark.attempt, self._cluster.fleet.node_names
        target = attempt.target if attempt else None
        return Move(
            vm=self._cluster.fleet.vm_names[mark.vm],
            source=names[mark.source],
            target=None if target is None else names[target],
            requested_s=mark.requested_s,
            started_s=attempt.begun_s if attempt else None,
            ended_s=now,
            gb=attempt.copy.sent / GB if attempt and attempt.copy else 0.0,
            outcome=outcome,
        )


def _order(mark: Mark) -> tuple[int, int]:
    return (-mark.priority, mark.sequence)


def _has_target(mark: Mark) -> bool:
    return mark.attempt is not None and mark.attempt.target is not None
