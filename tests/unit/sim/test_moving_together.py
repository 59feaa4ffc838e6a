"""Copies that are complete at one moment: moving all of them equals moving one by one."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.examples import examples
from builders.worlds.sim import a_scenario, a_vm, nodes
from trimtab.sim.fleet import Fleet
from trimtab.sim.loads import Loads
from trimtab.sim.measures.pieces import Sums
from trimtab.sim.placement.cluster import MANY_MOVES, ReplicaPlacement
from trimtab.sim.placement.score_cache import NodeScores

NODES = 5
SUMS = ("where", "cpu", "memory", "requested_cpu", "requested_memory", "pods")


def copying(moves: list[tuple[int, int]]) -> ReplicaPlacement:
    """A cluster in which VM i stands on the first node of move i, and is copied to the second."""
    vms = [
        a_vm(f"v{i}", node=f"n{at}", cpu=1 + i % 3, load=0.1 + i / 50)
        for i, (at, _) in enumerate(moves)
    ]
    fleet = Fleet(a_scenario(nodes(NODES, cpu=256, memory=1024), vms))
    sums = Sums(fleet, 1, fleet.scenario.pressure)
    loads = Loads(fleet, np.array([0.0, 60.0]))
    cluster = ReplicaPlacement(fleet, loads, sums.where[0], sums.cpu[0], sums.memory[0])
    cluster.settle(np.arange(len(vms)), np.array([at for at, _ in moves]))
    for vm, (_, target) in enumerate(moves):
        cluster.reserve(vm, target)
        cluster.land(vm, target)
    return cluster


PAIRS = st.tuples(st.integers(0, NODES - 1), st.integers(1, NODES - 1))


@given(st.lists(PAIRS, min_size=MANY_MOVES, max_size=30))
@settings(max_examples=examples(40), deadline=None)
def test_many_that_move_together_leave_what_they_leave_one_by_one(
    pairs: list[tuple[int, int]],
) -> None:
    moves = [(at, (at + further) % NODES) for at, further in pairs]
    together, by_turns = copying(moves), copying(moves)
    seen = [NodeScores(cluster, 1000, 2**30, pack=False) for cluster in (together, by_turns)]
    together.migrate(np.arange(len(moves)), np.array([target for _, target in moves]))
    for vm, (_, target) in enumerate(moves):
        by_turns.migrate(np.array([vm]), np.array([target]))
    for name in SUMS:
        assert np.array_equal(getattr(together, name), getattr(by_turns, name)), name
    assert together.where.tolist() == [target for _, target in moves]
    assert not together.landing
    assert together.freed == by_turns.freed
    assert all(np.array_equal(together.vms_on(n), by_turns.vms_on(n)) for n in range(NODES))
    for scores in seen:
        scores.follow()
    assert seen[0].worth == seen[1].worth
