"""All copies at once are the same as one after the other."""

from math import inf
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.sim.migration.copies import Copies
from trimtab.sim.migration.marks import Attempt, Mark
from trimtab.virt.precopy import Copy, share_network
from trimtab.virt.slots import MigrationPriority

GBPS = 1e9
DEADLINE_S = 20.0


class Network:
    """Copies between ten nodes, begun and ended by the number of their VM."""

    def __init__(self) -> None:
        self.copies = Copies(10, GBPS)
        self.marks: dict[int, Mark] = {}

    def begin(
        self,
        source: int,
        target: int,
        left: float,
        dirty: float,
    ) -> Attempt:
        attempt, vm = Attempt(1, 0.0), len(self.marks)
        self.marks[vm] = Mark(
            vm, source, 0.0, MigrationPriority.SYSTEM_MAINTENANCE, attempt=attempt
        )
        self.copies.begin(self.marks[vm], target, left, dirty, DEADLINE_S)
        return attempt

    def end(self, attempt: Attempt, now: float) -> float:
        mark = next(mark for mark in self.marks.values() if mark.attempt is attempt)
        return self.copies.end(mark, now)


STEPS: Any = st.lists(
    st.tuples(
        st.floats(0.0, 3.0),
        st.lists(
            st.tuples(
                st.integers(0, 4),
                st.integers(5, 9),
                st.floats(1e6, 1e10),
                st.sampled_from([0.0, 3e8, 2e9]),
            ),
            max_size=6,
        ),
        st.lists(st.integers(0, 30), max_size=4),
    ),
    max_size=12,
)


@given(STEPS)
@settings(max_examples=60, deadline=None)
def test_all_at_once_equals_one_after_the_other_to_the_bit(steps: list[Any]) -> None:
    """Whatever begins and ends: the same moments, the same bytes."""
    network, plain, now = Network(), dict[int, Copy](), 0.0
    attempts: dict[int, Attempt] = {}
    for passed, beginning, ending in steps:
        now += passed
        for number in ending:
            if number in plain:
                plain[number].progress(now)
                assert network.end(attempts.pop(number), now) == plain.pop(number).sent
        network.copies.progress(now)
        for source, target, left, dirty in beginning:
            number = len(network.marks)
            attempts[number] = network.begin(source, target, left, dirty)
            plain[number] = Copy(source, target, left, dirty, DEADLINE_S, now, now)
        network.copies.share(now)
        share_network(plain.values(), GBPS, now)
        ends = [copy.ends_s for copy in plain.values()]
        assert network.copies.next_s == min(ends, default=inf)
        assert sorted(network.copies.vms.tolist()) == sorted(plain)
        for number, copy in plain.items():
            assert network.copies.sent(attempts[number]) == copy.sent
            assert network.copies.is_in_time(attempts[number]) == copy.is_in_time
            due = network.marks[number] in network.copies.due(now + 1.0)
            assert due == (copy.ends_s <= now + 1.0)
