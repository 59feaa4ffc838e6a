"""Migrations of one replica: waiting, under way, finished.

The rules are those of `trimtab.virt`: limits and priorities (`slots`), when an attempt fails
and when the next one begins (`attempts`). In mode `recreate` the VM is stopped first and
started on another node, under the same limits.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from itertools import repeat
from math import inf
from operator import attrgetter

import numpy as np

from trimtab.sim.fleet import BYTES_PER_UNIT
from trimtab.sim.migration.copies import PreCopies
from trimtab.sim.migration.marks import EvacuationMark, MigrationAttempt, targets_of
from trimtab.sim.migration.waiting import WaitingMarks
from trimtab.sim.outcome import MigrationRecord
from trimtab.sim.placement.cluster import MANY_MOVES, ReplicaPlacement
from trimtab.sim.placement.scheduler import Scheduler
from trimtab.sim.placement.starts import BOOT_S
from trimtab.sim.streams import attempt_fails
from trimtab.virt.attempts import UNSCHEDULABLE_S, backoff_s, completion_limit_s
from trimtab.virt.slots import MigrationLimits, MigrationPriority

GB = 1e9
_sequence = attrgetter("sequence")


class Migrations:
    """All marks of one replica.

    `left` is told of VMs whose pods on the source are gone, `arrived` of those that have moved.
    Nothing goes over all marks when one of them begins or ends, but for `copies`.
    """

    def __init__(
        self,
        cluster: ReplicaPlacement,
        scheduler: Scheduler,
        seed: int,
        *,
        left: Callable[[Sequence[int]], None],
        arrived: Callable[[Sequence[EvacuationMark]], None],
        reaction_s: float = 0.0,
    ) -> None:
        self._cluster, self._scheduler, self._seed = cluster, scheduler, seed
        model = self._model = cluster.fleet.scenario.migration
        self._limits = MigrationLimits(model.per_cluster, model.per_node_outbound)
        self._left, self._arrived, self._reaction_s = left, arrived, reaction_s
        self._attempts: Counter[int] = Counter()
        self._requests = 0
        self.marks: dict[int, EvacuationMark] = {}
        """By VM, in the order of the requests."""
        self.copies = PreCopies(cluster.fleet.nodes, self._model.bandwidth)
        self._waiting = WaitingMarks(self.marks)
        self._leaving: Counter[int] = Counter()
        """How many attempts are under way from each node."""
        self._running = 0
        self._unbound: dict[int, EvacuationMark] = {}
        """Attempts whose pod still waits for a node, by VM."""
        self._bound: list[EvacuationMark] = []
        """Attempts whose pod got a node at this moment; their copies begin together."""
        self._timers: list[tuple[float, int, EvacuationMark]] = []
        """When attempts end that copy nothing (yet): of those, a heap."""
        self.moves: list[MigrationRecord] = []
        self.peak = 0
        self.precopy_s = 0.0
        self.bytes_sent = 0.0
        self.failed = 0

    def request(
        self, vm: int, now: float, priority: MigrationPriority, target: int | None = None
    ) -> None:
        """Mark a VM to leave its node; a VM that is marked already stays so."""
        if vm not in self.marks:
            source = int(self._cluster.where[vm])
            self._requests += 1
            mark = self.marks[vm] = EvacuationMark(
                vm,
                source,
                now,
                priority,
                wanted_target=target,
                not_before_s=now + self._reaction_s,
                sequence=self._requests,
            )
            self._waiting.add(mark)

    def request_all(
        self,
        vms: Sequence[int],
        sources: Sequence[int],
        now: float,
        priority: MigrationPriority,
    ) -> None:
        """The same for one after the other, with the node that each is on."""
        marks, new, not_before_s = self.marks, [], now + self._reaction_s
        for vm, source in zip(vms, sources, strict=True):
            if vm not in marks:
                self._requests += 1
                mark = EvacuationMark(
                    vm, source, now, priority, None, 0, not_before_s, None, self._requests
                )
                marks[vm] = mark
                new.append(mark)
        self._waiting.add_all(new, not_before_s)

    def cancel(self, vm: int, now: float, outcome: str) -> None:
        """Forget a mark because its VM or its node is gone."""
        if mark := self.marks.get(vm):
            if mark.attempt:
                self._account([mark], [outcome], now)
                self._give_back(mark, mark.attempt)
            del self.marks[vm]
            self.copies.share(now)

    def abort(self, mark: EvacuationMark, now: float) -> None:
        """The attempt cannot succeed any more (its target is lost); the mark stays."""
        self._account([mark], ["failed"], now)
        self._fail(mark, now)
        self.copies.share(now)

    def next_s(self, now: float) -> float:
        """When something happens next by itself: an attempt ends, or a back-off."""
        if not self.marks:
            return inf
        return min(self.copies.next_s, self._next_timer_s(), self._waiting.next_s(now))

    def _next_timer_s(self) -> float:
        while self._timers:
            ends_s, _, mark = self._timers[0]
            attempt = mark.attempt
            counts = attempt and attempt.copy_begun_s is None and attempt.ends_s == ends_s
            if counts and self.marks.get(mark.vm) is mark:
                return ends_s
            heappop(self._timers)
        return inf

    def settle(self, now: float) -> None:
        """Finish what is due, then start what may start."""
        due = self.copies.due(now)  # in no order
        while self._next_timer_s() <= now:
            due.append(heappop(self._timers)[2])
        if due:
            self._finish(sorted(due, key=_sequence), now)
        self.start(now)

    def start(self, now: float) -> None:
        """Begin waiting migrations as far as the limits allow, and look again for targets."""
        self.copies.progress(now)
        for mark in sorted(self._unbound.values(), key=_sequence):
            self._bind(mark, now)
        if self._all_may_begin():
            self._begin_together(self._waiting.take_all(now), now)
        else:
            self._begin_in_turn(now)
        self.peak = max(self.peak, self._running)
        self._begin_copies(now)
        self.copies.share(now)

    def _all_may_begin(self) -> bool:
        """No limit holds anyone up, and no target rests on what the one before did to loads."""
        limits, scheduler = self._limits, self._scheduler
        live = self._model.mode == "live" and not scheduler.reads_loads
        return live and limits.hold_up_none_of(len(self.marks))

    def _begin_in_turn(self, now: float) -> None:
        """One after the other: each has begun before the next is taken."""
        while self._limits.allow_another(self._running):
            waiting = self._waiting.take(now, self._may_leave)
            if waiting is None:
                return
            self._begin(waiting, now)

    def _may_leave(self, node: int) -> bool:
        return self._limits.allow_leaving(self._leaving[node])

    def unfinished(self, now: float) -> list[MigrationRecord]:
        """What is still under way or waiting at the end of the run."""
        self.copies.share(now)
        for mark in self.marks.values():
            attempt = mark.attempt
            if attempt and attempt.copy_begun_s is not None:
                attempt.sent = self.copies.sent(attempt)
                self.bytes_sent += attempt.sent
                self.precopy_s += now - attempt.copy_begun_s
        return [
            self._move(mark, None, "running" if _has_target(mark) else "waiting")
            for mark in self.marks.values()
        ]

    def _begin(self, mark: EvacuationMark, now: float) -> None:
        number = self._attempts[mark.vm] = self._attempts[mark.vm] + 1
        doomed = attempt_fails(self._seed, mark.vm, number, self._model.failure_rate)
        mark.attempt = MigrationAttempt(number, now, doomed=doomed, ends_s=now + UNSCHEDULABLE_S)
        self._running += 1
        self._leaving[mark.source] += 1
        if self._model.mode == "recreate":
            self._stop_vm(mark)
            mark.attempt.ends_s = inf  # a stopped VM waits for a node as long as it takes
        self._bind(mark, now)
        if mark.attempt.target is None:
            self._unbound[mark.vm] = mark
            self._end_by_itself(mark, mark.attempt)

    def _begin_together(self, marks: Sequence[EvacuationMark], now: float) -> None:
        """The same for all that wait, with as little as possible done for each alone."""
        free = [mark for mark in marks if mark.wanted_target is None]
        vms, sources = [mark.vm for mark in free], [mark.source for mark in free]
        if len(free) < max(len(marks), MANY_MOVES):
            for mark in marks:
                self._begin(mark, now)
            return
        self._attempts.update(vms)
        self._leaving.update(sources)
        self._running += len(marks)
        targets = self._scheduler.place_all(vms, sources)
        rate, ends_s = self._model.failure_rate, now + UNSCHEDULABLE_S
        numbers = map(self._attempts.__getitem__, vms)
        for mark, number, target in zip(marks, numbers, targets, strict=True):
            doomed = rate > 0.0 and attempt_fails(self._seed, mark.vm, number, rate)
            begun_s = None if target is None else now
            mark.attempt = MigrationAttempt(number, now, target, None, begun_s, 0.0, ends_s, doomed)
            if target is None:
                self._unbound[mark.vm] = mark
                self._end_by_itself(mark, mark.attempt)
            else:
                self._bound.append(mark)
        self._cluster.land_all(zip(vms, targets, strict=True))

    def _end_by_itself(self, mark: EvacuationMark, attempt: MigrationAttempt) -> None:
        """An attempt ends at its own `ends_s`, not with a copy."""
        heappush(self._timers, (attempt.ends_s, mark.sequence, mark))

    def _stop_vm(self, mark: EvacuationMark) -> None:
        if self._cluster.where[mark.vm] == mark.source:  # an earlier attempt may have stopped it
            self._cluster.put(mark.vm, self._cluster.nowhere)
            self._cluster.release(mark.vm, mark.source)
            self._left([mark.vm])

    def _bind(self, mark: EvacuationMark, now: float) -> None:
        """Look for a node; with one, start to copy."""
        attempt = mark.attempt
        assert attempt is not None
        attempt.target = self._target(mark)
        if attempt.target is None:
            return
        self._unbound.pop(mark.vm, None)
        self._cluster.reserve(mark.vm, attempt.target)
        if self._model.mode == "recreate":
            attempt.ends_s = now + BOOT_S
            self._end_by_itself(mark, attempt)
            return
        attempt.copy_begun_s = now
        self._cluster.land(mark.vm, attempt.target)
        self._bound.append(mark)

    def _begin_copies(self, now: float) -> None:
        """Copy the memory of all that were bound at this moment."""
        marks, self._bound = self._bound, []
        if not marks:
            return
        fleet, vms = self._cluster.fleet, [mark.vm for mark in marks]
        allocated = (fleet.memory_size[vms] * BYTES_PER_UNIT).tolist()
        per_gib = self._model.timeout_s_per_gib
        self.copies.begin(
            marks,
            left=self._cluster.loads.memory[vms] * BYTES_PER_UNIT,
            dirty_rate=fleet.dirty_rate[vms],
            deadline_s=np.array([now + completion_limit_s(each, per_gib) for each in allocated]),
        )

    def _target(self, mark: EvacuationMark) -> int | None:
        wanted = mark.wanted_target
        if wanted is None:
            return self._scheduler.choose(mark.vm, avoid=mark.source)
        return wanted if self._scheduler.takes(mark.vm, wanted) else None

    def _finish(self, marks: Sequence[EvacuationMark], now: float) -> None:
        """Attempts come to their end, one way or the other."""
        outcomes = self._outcomes(marks)
        self._account(marks, outcomes, now)
        if not any(outcome != "succeeded" for outcome in outcomes):
            self._succeed(marks)
            return
        ended = list(zip(marks, outcomes, strict=True))
        self._succeed([mark for mark, outcome in ended if outcome == "succeeded"])
        for mark, outcome in ended:
            if outcome != "succeeded":
                self._fail(mark, now)

    def _outcomes(self, marks: Sequence[EvacuationMark]) -> list[str]:
        if self._model.failure_rate <= 0.0 and self.copies.are_in_time(marks):
            return ["succeeded"] * len(marks)
        return [self._outcome(mark) for mark in marks]

    def _outcome(self, mark: EvacuationMark) -> str:
        attempt = mark.attempt
        assert attempt is not None
        if attempt.target is None:
            return "failed"
        if attempt.copy is not None and not self.copies.is_in_time(attempt):
            return "timed-out"
        return "failed" if attempt.doomed and attempt.copy is not None else "succeeded"

    def _succeed(self, marks: Sequence[EvacuationMark]) -> None:
        vms, targets = [mark.vm for mark in marks], targets_of(marks)
        if self._model.mode == "live":
            self._cluster.migrate(vms, targets)
            self._left(vms)
        else:
            for vm, target in zip(vms, targets, strict=True):
                self._cluster.put(vm, target)
        for vm in vms:
            del self.marks[vm]
        self._arrived(marks)

    def _fail(self, mark: EvacuationMark, now: float) -> None:
        assert mark.attempt is not None
        self._give_back(mark, mark.attempt)
        self.failed += 1
        mark.failures += 1
        mark.not_before_s = now + backoff_s(mark.failures, self._model.backoff_s)
        if mark.wanted_target is not None:  # no evacuation: the one who asked for it may ask again
            del self.marks[mark.vm]
        else:
            self._waiting.add(mark)

    def _give_back(self, mark: EvacuationMark, attempt: MigrationAttempt) -> None:
        """Give back what an attempt that did not succeed holds on its target."""
        if mark.vm in self._cluster.landing:
            self._cluster.stop_landing(mark.vm)
        if attempt.target is not None:
            self._cluster.release(mark.vm, attempt.target)
        mark.attempt = None

    def _account(
        self, marks: Sequence[EvacuationMark], outcomes: Sequence[str], now: float
    ) -> None:
        """Attempts are over: write them down; their slots are free for others."""
        copied = [mark for mark in marks if mark.attempt and mark.attempt.copy is not None]
        if copied:
            bytes_sent, precopy_s = self.bytes_sent, self.precopy_s
            for mark, sent in zip(copied, self.copies.end(copied, now), strict=True):
                attempt = mark.attempt
                assert attempt is not None
                assert attempt.copy_begun_s is not None
                attempt.sent = sent
                bytes_sent += sent
                precopy_s += now - attempt.copy_begun_s
            self.bytes_sent, self.precopy_s = bytes_sent, precopy_s
        if self._unbound:
            for mark in marks:
                self._unbound.pop(mark.vm, None)
        self._leaving.subtract([mark.source for mark in marks])
        self._waiting.freed_all(mark.source for mark in marks)
        self.moves += map(self._move, marks, repeat(now), outcomes)
        self._running -= len(marks)

    def _move(self, mark: EvacuationMark, now: float | None, outcome: str) -> MigrationRecord:
        attempt, names = mark.attempt, self._cluster.fleet.node_names
        target = attempt.target if attempt else None
        return MigrationRecord(
            self._cluster.fleet.vm_names[mark.vm],
            names[mark.source],
            None if target is None else names[target],
            mark.requested_s,
            attempt.begun_s if attempt else None,
            now,
            attempt.sent / GB if attempt else 0.0,
            outcome,
        )


def _has_target(mark: EvacuationMark) -> bool:
    return mark.attempt is not None and mark.attempt.target is not None
