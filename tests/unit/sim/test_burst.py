"""Pods that are placed in a burst: the nodes and the draws of one after the other."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.examples import examples
from builders.worlds.sim import a_node, a_scenario, a_vm
from trimtab.policy.choices import below
from trimtab.sim.fleet import Fleet
from trimtab.sim.loads import Loads
from trimtab.sim.placement.cluster import ReplicaPlacement
from trimtab.sim.placement.scheduler import MANY_PODS, Scheduler
from trimtab.sim.spec import Placement

PODS = 3 * MANY_PODS


def a_cluster(nodes: int, small: int, sizes: int, sources: list[int]) -> ReplicaPlacement:
    """Every VM on its source; the first `small` nodes have room for few of them only."""
    node_list = [a_node(f"n{i}", cpu=4 if i < small else 64, memory=256) for i in range(nodes)]
    vms = [a_vm(f"v{i}", cpu=1 + i % sizes, memory=1, load=0.5) for i in range(len(sources))]
    fleet = Fleet(a_scenario(node_list, vms))
    width = fleet.nodes + 1
    where = np.empty(fleet.vms, dtype=np.intp)
    loads = Loads(fleet, np.array([0.0, 60.0]))
    cluster = ReplicaPlacement(fleet, loads, where, np.zeros(width), np.zeros(width))
    cluster.settle(np.arange(len(sources)), np.array(sources))
    return cluster


@given(
    nodes=st.sampled_from([5, 120, 150]),
    small=st.integers(0, 40),
    sizes=st.integers(1, 4),
    placement=st.sampled_from(["spread", "binpack"]),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=examples(40), deadline=None)
def test_a_burst_gets_the_nodes_that_its_pods_would_get_one_by_one(
    nodes: int, small: int, sizes: int, placement: Placement, seed: int
) -> None:
    chance = Random(seed)
    sources = [chance.randrange(nodes) for _ in range(PODS)]
    vms = chance.sample(range(PODS), PODS)
    clusters = [a_cluster(nodes, min(small, nodes // 2), sizes, sources) for _ in range(2)]
    together, by_turns = (Scheduler(cluster, placement, Random(seed)) for cluster in clusters)
    from_nodes = [sources[vm] for vm in vms]
    expected = []
    for vm, source in zip(vms, from_nodes, strict=True):
        node = by_turns.choose(vm, avoid=source)
        expected.append(node)
        if node is not None:
            clusters[1].reserve(vm, node)
    assert together.place_all(vms, from_nodes) == expected
    for name in ("requested_cpu", "requested_memory", "pods"):
        assert np.array_equal(getattr(clusters[0], name), getattr(clusters[1], name)), name
    # Whatever comes next finds both in the same state: where the search goes on, and the draws.
    assert [together.choose(vm) for vm in range(9)] == [by_turns.choose(vm) for vm in range(9)]


@pytest.mark.parametrize("count", [1, 2, 3, 8, 1000])
def test_draws_are_those_of_randrange(count: int) -> None:
    quick, plain = Random(7), Random(7)
    draw = below(quick)
    assert [draw(count) for _ in range(50)] == [plain.randrange(count) for _ in range(50)]
    assert quick.getstate() == plain.getstate()
