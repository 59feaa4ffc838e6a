"""Who migrates next: the first in order whose node has a slot, however many wait."""

from collections import Counter
from math import inf
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from builders.examples import examples
from trimtab.sim.migration.marks import EvacuationMark, MigrationAttempt
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


@given(STEPS)
@settings(max_examples=examples(50), deadline=None)
def test_without_limits_all_are_taken_in_the_order_in_which_each_would_be(steps: list[Any]) -> None:
    together, alone = dict[int, EvacuationMark](), dict[int, EvacuationMark]()
    all_at_once, one_by_one, now = WaitingMarks(together), WaitingMarks(alone), 0.0
    for number, step in enumerate(steps):
        match step:
            case ("request", node, priority, delay):
                for marks, waiting in ((together, all_at_once), (alone, one_by_one)):
                    mark = marks[number] = EvacuationMark(
                        number, node, now, priority, sequence=number
                    )
                    mark.not_before_s = now + delay
                    waiting.add(mark)
            case ("forget", vm):
                together.pop(vm, None)
                alone.pop(vm, None)
            case ("pass", seconds):
                now += seconds
                assert all_at_once.next_s(now) == one_by_one.next_s(now)
                taken = all_at_once.take_all(now)
                expected = []
                while first := one_by_one.take(now, lambda node: True):
                    expected.append(first.vm)
                assert [mark.vm for mark in taken] == expected
                for vm in (mark.vm for mark in taken):
                    del together[vm], alone[vm]


@given(STEPS)
@settings(max_examples=examples(100), deadline=None)
def test_the_queues_give_what_looking_at_all_of_them_gives(steps: list[Any]) -> None:
    marks: dict[int, EvacuationMark] = {}
    waiting, leaving, now = WaitingMarks(marks), Counter[int](), 0.0
    for number, step in enumerate(steps):
        match step:
            case ("request", node, priority, delay):
                mark = marks[number] = EvacuationMark(number, node, now, priority, sequence=number)
                mark.not_before_s = now + delay
                waiting.add(mark)
            case ("end" | "forget" as what, vm) if vm in marks:
                mark = marks[vm]
                if mark.attempt:
                    leaving[mark.source] -= 1
                    waiting.freed(mark.source)
                if what == "end" and mark.attempt:  # it failed, and is tried again later
                    mark.attempt, mark.not_before_s = None, now + 7.0
                    waiting.add(mark)
                elif what == "forget":
                    del marks[vm]
            case ("pass", seconds):
                now += seconds
        while sum(leaving.values()) < IN_ALL:
            expected = first_of_all(marks, leaving, now)
            taken = waiting.take(now, lambda node: leaving[node] < PER_NODE)
            assert taken is expected
            if taken is None:
                break
            taken.attempt = MigrationAttempt(1, now)
            leaving[taken.source] += 1
        later = [m.not_before_s for m in marks.values() if not m.attempt and m.not_before_s > now]
        assert waiting.next_s(now) == min(later, default=inf)


def first_of_all(
    marks: dict[int, EvacuationMark], leaving: Counter[int], now: float
) -> EvacuationMark | None:
    able = (
        mark
        for mark in marks.values()
        if not mark.attempt and mark.not_before_s <= now and leaving[mark.source] < PER_NODE
    )
    return min(able, key=lambda mark: mark.order, default=None)
