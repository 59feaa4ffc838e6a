"""The VMs of a node: after any moves the same as looking at every VM."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.sim.placement import residents
from trimtab.sim.placement.residents import Residents

NODES, VMS = 4, 12
MOVES = st.lists(st.tuples(st.integers(0, VMS - 1), st.integers(0, NODES - 1), st.booleans()))


@pytest.mark.parametrize("most", [0, 3, 64])
@given(
    start=st.lists(st.integers(0, NODES - 1), min_size=VMS, max_size=VMS),
    moves=MOVES,
    all_at_once=st.booleans(),
    some=st.sets(st.integers(0, NODES - 1)),
)
def test_after_any_moves_the_vms_of_a_node_are_those_that_are_there(
    most: int,
    start: list[int],
    moves: list[tuple[int, int, bool]],
    all_at_once: bool,
    some: set[int],
) -> None:
    where = np.array(start, dtype=np.intp)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(residents, "FEWEST_MOVES", most)
        known = Residents(where, NODES)
    nodes = np.array(sorted(some), dtype=np.intp)
    for vm, node, ask in moves:
        where[vm] = node
        if all_at_once:
            known.forget()
        else:
            known.move([vm])
        if ask:
            assert known.on(node).tolist() == np.flatnonzero(where == node).tolist()
            there = np.flatnonzero(np.isin(where, nodes))
            assert sorted(known.on_any(nodes).tolist()) == there.tolist()
    assert sorted(known.on_any(nodes).tolist()) == np.flatnonzero(np.isin(where, nodes)).tolist()
    for node in range(NODES):
        assert known.on(node).tolist() == np.flatnonzero(where == node).tolist()
