"""Migrations of one replica: waiting, under way, finished.

The rules are those of `trimtab.virt`: limits and priorities (`slots`), when an attempt fails
and when the next one begins (`migration_backoff`). In mode `recreate` the VM is stopped first
and started on another node, under the same limits.
"""

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from math import inf, isnan
from typing import Any

import numpy as np

from trimtab.sim.fleet import BYTES_PER_UNIT, Floats, Numbers
from trimtab.sim.migration.ended import (
    FAILED,
    GB,
    SUCCEEDED,
    TIMED_OUT,
    EndedAttempts,
    MoveRecords,
    Outcomes,
)
from trimtab.sim.migration.marks import BOUND, NONE, PENDING, UNMARKED, WAITING
from trimtab.sim.migration.waiting import WaitingMarks
from trimtab.sim.outcome import MigrationRecord
from trimtab.sim.placement.cluster import MANY_MOVES, ReplicaPlacement
from trimtab.sim.placement.scheduler import Scheduler
from trimtab.sim.placement.starts import BOOT_S
from trimtab.sim.streams import attempt_fails
from trimtab.virt.migration_backoff import UNSCHEDULABLE_S, backoff_s, completion_limit_s
from trimtab.virt.slots import MigrationLimits, MigrationPriority


class Migrations:
    """All marks of one replica.

    `left` is told of VMs whose pods on the source are gone, `arrived` of those that have moved,
    with the moments at which their attempts began. What happens to many at one moment is done
    for all of them at once, and nothing goes over all marks when one begins or ends, but for
    `copies`.
    """

    def __init__(
        self,
        cluster: ReplicaPlacement,
        scheduler: Scheduler,
        seed: int,
        *,
        left: Callable[[Sequence[int]], None],
        arrived: Callable[[Sequence[int], Sequence[float]], None],
        reaction_s: float = 0.0,
    ) -> None:
        self._cluster, self._scheduler, self._seed = cluster, scheduler, seed
        model = self._model = cluster.fleet.scenario.migration
        self._limits = MigrationLimits(model.per_cluster, model.per_node_outbound)
        self._left, self._arrived, self._reaction_s = left, arrived, reaction_s
        self.marks, self.copies = cluster.marks, cluster.copies
        self._waiting = WaitingMarks(self.marks)
        self._leaving = np.zeros(cluster.fleet.nodes + 1, dtype=np.int64)
        """How many attempts are under way from each node."""
        self._running = 0
        self._pending: set[int] = set()
        """VMs whose new pod still waits for a node."""
        self._bound: list[Numbers] = []
        """VMs whose new pod got a node at this moment; their copies begin together."""
        self._timers: list[tuple[float, int, int]] = []
        """When attempts end that copy nothing (yet), with sequence and VM: a heap."""
        self.ended = EndedAttempts()
        self.peak = 0
        self.precopy_s = 0.0
        self.bytes_sent = 0.0
        self.failed = 0

    def request(self, vm: int, now: float, priority: MigrationPriority, target: int = NONE) -> None:
        """Mark a VM to leave its node; a VM that is marked already stays so."""
        self.request_all(np.array([vm], dtype=np.intp), now, priority, target)

    def request_all(
        self, vms: Numbers, now: float, priority: MigrationPriority, target: int = NONE
    ) -> None:
        """The same for one after the other."""
        new = vms[self.marks.state[vms] == UNMARKED]
        if len(new):
            self.marks.add(new, self._cluster.where[new], now, priority, target)
            self._waiting.add(new, now + self._reaction_s)

    def cancel(self, vm: int, now: float) -> None:
        """Forget a mark because its VM or its node is gone."""
        if (state := self.marks.state.item(vm)) != UNMARKED:
            if state != WAITING:
                self._account(np.array([vm], dtype=np.intp), _all(FAILED, 1), now)
                self._give_back(vm)
            self.marks.remove(vm)
            self.copies.share(now)

    def abort(self, vm: int, now: float) -> None:
        """The attempt cannot succeed any more (its target is lost); the mark stays."""
        self._account(np.array([vm], dtype=np.intp), _all(FAILED, 1), now)
        self._fail(vm, now)
        self.copies.share(now)

    def next_s(self, now: float) -> float:
        """When something happens next by itself: an attempt ends, or a back-off."""
        if not self.marks:
            return inf
        return min(self.copies.next_s, self._next_timer_s(), self._waiting.next_s(now))

    def _next_timer_s(self) -> float:
        marks = self.marks
        while self._timers:
            ends_s, sequence, vm = self._timers[0]
            same = marks.sequence.item(vm) == sequence and marks.ends_s.item(vm) == ends_s
            if same and marks.state.item(vm) >= PENDING and isnan(marks.copy_begun_s.item(vm)):
                return ends_s
            heappop(self._timers)
        return inf

    def settle(self, now: float) -> None:
        """Finish what is due, then start what may start."""
        due = self.copies.due(now)
        if self._next_timer_s() <= now:
            timed = []
            while self._next_timer_s() <= now:
                timed.append(heappop(self._timers)[2])
            due = np.append(due, timed).astype(np.intp)
            due = due[np.argsort(self.marks.sequence[due])]
        if len(due):
            self._finish(due, now)
        self.start(now)

    def start(self, now: float) -> None:
        """Begin waiting migrations as far as the limits allow, and look again for targets."""
        self.copies.progress(now)
        for vm in sorted(self._pending, key=self.marks.sequence.item):
            self._bind(vm, now)
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
            vm = self._waiting.take(now, self._may_leave)
            if vm is None:
                return
            self._begin(vm, now)

    def _may_leave(self, node: int) -> bool:
        return self._limits.allow_leaving(self._leaving.item(node))

    def records(self, now: float) -> MoveRecords:
        """Every attempt that has ended, and what is under way or waiting at the end of the run."""
        self.copies.share(now)
        fleet, marks, records = self._cluster.fleet, self.marks, list[MigrationRecord]()
        for vm in marks.in_order().tolist():
            target, sent = marks.target.item(vm), self.copies.sent(vm)
            if vm in self.copies:
                self.bytes_sent += sent
                self.precopy_s += now - marks.copy_begun_s.item(vm)
            records.append(
                MigrationRecord(
                    fleet.vm_names[vm],
                    fleet.node_names[marks.source.item(vm)],
                    None if target == NONE else fleet.node_names[target],
                    marks.requested_s.item(vm),
                    None if marks.state.item(vm) == WAITING else marks.begun_s.item(vm),
                    None,
                    sent / GB,
                    "waiting" if target == NONE else "running",
                )
            )
        return MoveRecords(self.ended, fleet, records)

    def _begin(self, vm: int, now: float) -> None:
        self.marks.begin(vm, now, now + UNSCHEDULABLE_S)
        source = self.marks.source.item(vm)
        self._running += 1
        self._leaving[source] += 1
        if self._model.mode == "recreate":
            self._stop_vm(vm, source)
            self.marks.ends_s[vm] = inf  # a stopped VM waits for a node as long as it takes
        self._bind(vm, now)
        if self.marks.state.item(vm) == PENDING:
            self._wait_for_a_node(vm)

    def _begin_together(self, vms: Numbers, now: float) -> None:
        """The same for all that wait, with as little as possible done for each alone."""
        marks = self.marks
        if len(vms) < MANY_MOVES or (marks.wanted_target[vms] != NONE).any():
            for vm in vms.tolist():
                self._begin(vm, now)
            return
        sources = marks.source[vms]
        marks.begin(vms, now, now + UNSCHEDULABLE_S)
        np.add.at(self._leaving, sources, 1)
        self._running += len(vms)
        targets = self._scheduler.place_all(vms, sources)
        if (none := targets == NONE).any():
            for vm in vms[none].tolist():
                self._wait_for_a_node(vm)
            vms, targets = vms[~none], targets[~none]
        marks.bind(vms, targets)
        self._cluster.land_all(vms, targets)
        self._bound.append(vms)

    def _wait_for_a_node(self, vm: int) -> None:
        self._pending.add(vm)
        self._end_by_itself(vm)

    def _end_by_itself(self, vm: int) -> None:
        """An attempt ends at its own `ends_s`, not with a copy."""
        marks = self.marks
        heappush(self._timers, (marks.ends_s.item(vm), marks.sequence.item(vm), vm))

    def _stop_vm(self, vm: int, source: int) -> None:
        if self._cluster.where[vm] == source:  # an earlier attempt may have stopped it
            self._cluster.put(vm, self._cluster.nowhere)
            self._cluster.release(vm, source)
            self._left([vm])

    def _bind(self, vm: int, now: float) -> None:
        """Look for a node; with one, start to copy."""
        target = self._target(vm)
        if target is None:
            return
        self._pending.discard(vm)
        self.marks.bind(vm, target)
        self._cluster.reserve(vm, target)
        if self._model.mode == "recreate":
            self.marks.ends_s[vm] = now + BOOT_S
            self._end_by_itself(vm)
            return
        self._cluster.land(vm, target)
        self._bound.append(np.array([vm], dtype=np.intp))

    def _begin_copies(self, now: float) -> None:
        """Copy the memory of all that were bound at this moment."""
        if not self._bound:
            return
        vms, self._bound = np.concatenate(self._bound), []
        fleet, marks = self._cluster.fleet, self.marks
        per_gib = self._model.timeout_s_per_gib
        allocated: Any = fleet.memory_size[vms] * BYTES_PER_UNIT
        marks.copy_begun_s[vms] = now
        self.copies.begin(
            vms,
            marks.source[vms],
            marks.target[vms],
            marks.sequence[vms],
            left=self._cluster.loads.memory[vms] * BYTES_PER_UNIT,
            dirty_rate=fleet.dirty_rate[vms],
            deadline_s=np.asarray(now + completion_limit_s(allocated, per_gib)),
        )

    def _target(self, vm: int) -> int | None:
        wanted = self.marks.wanted_target.item(vm)
        if wanted == NONE:
            return self._scheduler.choose(vm, avoid=self.marks.source.item(vm))
        return wanted if self._scheduler.takes(vm, wanted) else None

    def _finish(self, vms: Numbers, now: float) -> None:
        """Attempts come to their end, one way or the other."""
        outcomes = self._outcomes(vms)
        self._account(vms, outcomes, now)
        if not outcomes.any():
            self._succeed(vms)
            return
        self._succeed(vms[outcomes == SUCCEEDED])
        for vm in vms[outcomes != SUCCEEDED].tolist():
            self._fail(vm, now)

    def _outcomes(self, vms: Numbers) -> Outcomes:
        marks, outcomes = self.marks, _all(SUCCEEDED, len(vms))
        copied = ~np.isnan(marks.copy_begun_s[vms])
        outcomes[copied & ~self.copies.in_time(vms)] = TIMED_OUT
        outcomes[marks.state[vms] == PENDING] = FAILED
        if (rate := self._model.failure_rate) > 0.0:
            for at in (copied & (outcomes == SUCCEEDED)).nonzero()[0].tolist():
                vm = vms.item(at)
                if attempt_fails(self._seed, vm, marks.attempts.item(vm), rate):
                    outcomes[at] = FAILED
        return outcomes

    def _succeed(self, vms: Numbers) -> None:
        marks, numbers = self.marks, vms.tolist()
        targets, begun_s = marks.target[vms], marks.begun_s[vms]
        if self._model.mode == "live":
            self._cluster.migrate(vms, targets)
            self._left(numbers)
        else:
            for vm, target in zip(numbers, targets.tolist(), strict=True):
                self._cluster.put(vm, target)
        marks.remove(vms)
        self._arrived(numbers, begun_s.tolist())

    def _fail(self, vm: int, now: float) -> None:
        self._give_back(vm)
        self.failed += 1
        self.marks.failures[vm] += 1
        if self.marks.wanted_target.item(vm) != NONE:
            self.marks.remove(vm)  # no evacuation: the one who asked for it may ask again
        else:
            wait_s = backoff_s(self.marks.failures.item(vm), self._model.backoff_s)
            self._waiting.add(np.array([vm], dtype=np.intp), now + wait_s)

    def _give_back(self, vm: int) -> None:
        """Give back what an attempt that did not succeed holds on its target."""
        if vm in self._cluster.landing:
            self._cluster.stop_landing(vm)
        if self.marks.state.item(vm) == BOUND:
            self._cluster.release(vm, self.marks.target.item(vm))
        self.marks.end(vm)

    def _account(self, vms: Numbers, outcomes: Outcomes, now: float) -> None:
        """Attempts are over: write them down; their slots are free for others."""
        marks, sent = self.marks, np.zeros(len(vms))
        sources, since = marks.source[vms], marks.copy_begun_s[vms]
        copied = ~np.isnan(since)
        if copied.any():
            sent[copied] = self.copies.end(vms[copied], now)
            self.bytes_sent = _added_to(self.bytes_sent, sent)
            self.precopy_s = _added_to(self.precopy_s, now - since[copied])
        if self._pending:
            self._pending.difference_update(vms.tolist())
        np.subtract.at(self._leaving, sources, 1)
        self._waiting.freed_all(sources.tolist())
        requested_s, begun_s = marks.requested_s[vms], marks.begun_s[vms]
        ended_s = np.broadcast_to(now, vms.shape)
        self.ended.add(
            vms, sources, marks.target[vms], requested_s, begun_s, ended_s, sent, outcomes
        )
        self._running -= len(vms)


def _added_to(total: float, values: Floats) -> float:
    """One after the other: the order of a sum is part of its last bit, and NumPy adds in pairs."""
    if len(values) >= MANY_MOVES:
        return float(np.add.accumulate(np.concatenate([[total], values]))[-1])
    for value in values.tolist():
        total += value
    return total


def _all(outcome: int, count: int) -> Outcomes:
    return np.full(count, outcome, dtype=np.int8)
