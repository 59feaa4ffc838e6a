"""All copies at once are the same as one after the other."""

from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.examples import examples
from trimtab.sim.migration.copies import PreCopies
from trimtab.virt.precopy import Copy, share_network

GBPS = 1e9
DEADLINE_S = 20.0
MOST_VMS = 12 * 6


class Network:
    """Copies between ten nodes, begun and ended by the number of their VM."""

    def __init__(self) -> None:
        self.copies = PreCopies(10, MOST_VMS, GBPS)
        self.begun = 0

    def begin(self, copies: Sequence[tuple[int, int, float, float]]) -> range:
        """From, to, bytes left and dirty rate of each; they begin together, the last VM first."""
        vms = range(self.begun, self.begun + len(copies))
        self.begun += len(copies)
        self.copies.begin(
            np.array(vms),
            np.array([source for source, _, _, _ in copies]),
            np.array([target for _, target, _, _ in copies]),
            -np.array(vms),
            np.array([left for _, _, left, _ in copies]),
            np.array([dirty for _, _, _, dirty in copies]),
            np.full(len(copies), DEADLINE_S),
        )
        return vms

    def end(self, vms: Sequence[int], now: float) -> list[float]:
        sent: list[float] = self.copies.end(np.array(vms), now).tolist()
        return sent


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
@settings(max_examples=examples(60), deadline=None)
def test_all_at_once_equals_one_after_the_other_to_the_bit(steps: list[Any]) -> None:
    """Whatever begins and ends: the same moments, the same bytes."""
    network, plain, now = Network(), dict[int, Copy](), 0.0
    for passed, beginning, ending in steps:
        now += passed
        ended = [number for number in dict.fromkeys(ending) if number in plain]
        for number in ended:
            plain[number].progress(now)
        if ended:
            assert network.end(ended, now) == [plain.pop(number).sent for number in ended]
        network.copies.progress(now)
        if beginning:
            numbers = network.begin(beginning)
            for number, (source, target, left, dirty) in zip(numbers, beginning, strict=True):
                plain[number] = Copy(source, target, left, dirty, DEADLINE_S, now, now)
        network.copies.share(now)
        share_network(plain.values(), GBPS, now)
        ends = [copy.ends_s for copy in plain.values()]
        assert network.copies.next_s == min(ends, default=inf)
        assert sorted(network.copies.vms.tolist()) == sorted(plain)
        due = [number for number, copy in plain.items() if copy.ends_s <= now + 1.0]
        assert network.copies.due(now + 1.0).tolist() == sorted(due, reverse=True)
        for number, copy in plain.items():
            assert number in network.copies
            assert network.copies.sent(number) == copy.sent
            assert network.copies.in_time(np.array([number])).tolist() == [copy.is_in_time]
        assert all(number not in network.copies for number in ended)
