"""Who migrates next: the first in order whose node has a slot, however many wait."""

from collections import Counter
from math import inf
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.examples import examples
from trimtab.sim.migration.marks import NONE, UNMARKED, Marks
from trimtab.sim.migration.waiting import WaitingMarks
from trimtab.virt.slots import MigrationPriority

STEPS: Any = st.lists(
    st.one_of(
        st.tuples(
            st.just("request"),
            st.integers(0, 3),
            st.sampled_from(
                [MigrationPriority.SYSTEM_CRITICAL, MigrationPriority.SYSTEM_MAINTENANCE]
            ),
            st.sampled_from([0.0, 0.0, 5.0, 20.0]),
        ),
        st.tuples(st.just("end"), st.integers(0, 20)),
        st.tuples(st.just("forget"), st.integers(0, 20)),
        st.tuples(st.just("pass"), st.floats(0.0, 10.0)),
    ),
    max_size=40,
)
PER_NODE, IN_ALL = 2, 5


VMS = 40


class World:
    """Marks of VMs whose number is that of the step that asked for them."""

    def __init__(self) -> None:
        self.marks = Marks(VMS)
        self.waiting = WaitingMarks(self.marks)
        self.not_before_s: dict[int, float] = {}
        """Of each VM that is marked and has no attempt."""

    def request(self, vm: int, node: int, priority: MigrationPriority, at: float) -> None:
        self.marks.add(np.array([vm]), np.array([node]), 0.0, priority, NONE)
        self.wait(vm, at)

    def wait(self, vm: int, at: float) -> None:
        self.not_before_s[vm] = at
        self.waiting.add(np.array([vm]), at)

    def begin(self, vm: int) -> None:
        self.marks.begin(vm, 0.0, 0.0)
        del self.not_before_s[vm]

    def forget(self, vm: int) -> None:
        if self.marks.state[vm] != UNMARKED:
            self.marks.remove(vm)
            self.not_before_s.pop(vm, None)

    def first_of_all(self, leaving: Counter[int], now: float) -> int | None:
        able = (
            vm
            for vm, at in self.not_before_s.items()
            if at <= now and leaving[int(self.marks.source[vm])] < PER_NODE
        )
        return min(able, key=self.order, default=None)

    def order(self, vm: int) -> tuple[int, int]:
        return -int(self.marks.priority[vm]), int(self.marks.sequence[vm])


@given(STEPS)
@settings(max_examples=examples(50), deadline=None)
def test_without_limits_all_are_taken_in_the_order_in_which_each_would_be(steps: list[Any]) -> None:
    together, alone, now = World(), World(), 0.0
    for number, step in enumerate(steps):
        match step:
            case ("request", node, priority, delay):
                for world in (together, alone):
                    world.request(number, node, priority, now + delay)
            case ("forget", vm):
                together.forget(vm)
                alone.forget(vm)
            case ("pass", seconds):
                now += seconds
                assert together.waiting.next_s(now) == alone.waiting.next_s(now)
                taken = together.waiting.take_all(now).tolist()
                expected = []
                while (first := alone.waiting.take(now, lambda node: True)) is not None:
                    expected.append(first)
                assert taken == expected
                for vm in taken:
                    together.forget(vm)
                    alone.forget(vm)


@given(STEPS)
@settings(max_examples=examples(100), deadline=None)
def test_the_queues_give_what_looking_at_all_of_them_gives(steps: list[Any]) -> None:
    world, leaving, now = World(), Counter[int](), 0.0
    marks, waiting = world.marks, world.waiting
    for number, step in enumerate(steps):
        match step:
            case ("request", node, priority, delay):
                world.request(number, node, priority, now + delay)
            case ("end" | "forget" as what, vm) if marks.state[vm] != UNMARKED:
                begun = vm not in world.not_before_s
                if begun:
                    leaving[int(marks.source[vm])] -= 1
                    waiting.freed(int(marks.source[vm]))
                if what == "end" and begun:  # it failed, and is tried again later
                    marks.end(vm)
                    world.wait(vm, now + 7.0)
                elif what == "forget":
                    world.forget(vm)
            case ("pass", seconds):
                now += seconds
        while sum(leaving.values()) < IN_ALL:
            expected = world.first_of_all(leaving, now)
            taken = waiting.take(now, lambda node: leaving[node] < PER_NODE)
            assert taken == expected
            if taken is None:
                break
            world.begin(taken)
            leaving[int(marks.source[taken])] += 1
        later = [at for at in world.not_before_s.values() if at > now]
        assert waiting.next_s(now) == min(later, default=inf)


def test_a_vm_that_is_marked_anew_waits_until_its_new_moment() -> None:
    world = World()
    world.request(3, 0, MigrationPriority.SYSTEM_MAINTENANCE, 5.0)
    world.forget(3)
    world.request(3, 0, MigrationPriority.SYSTEM_MAINTENANCE, 9.0)
    assert world.waiting.take_all(6.0).tolist() == []
    assert world.waiting.next_s(6.0) == 9.0
    assert world.waiting.take_all(9.0).tolist() == [3]
