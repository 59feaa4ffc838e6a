"""Pods that are placed in a burst: the nodes and the draws of one after the other."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.examples import examples
from builders.worlds.sim import a_node, a_scenario, a_vm
from trimtab.policy.choices import below
from trimtab.sim.fleet import Fleet, Numbers
from trimtab.sim.loads import Loads
from trimtab.sim.placement import burst
from trimtab.sim.placement import scheduler as scheduling
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
    nodes=st.sampled_from([1, 5, 120, 150]),
    small=st.integers(0, 40),
    sizes=st.integers(1, 4),
    placement=st.sampled_from(["spread", "binpack"]),
    cordoned=st.booleans(),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=examples(25), deadline=None)
def test_a_burst_gets_the_nodes_that_its_pods_would_get_one_by_one(
    nodes: int, small: int, sizes: int, placement: Placement, cordoned: bool, seed: int
) -> None:
    """In the text that Numba compiles where it is installed, else in the same text as it stands."""
    chance = Random(seed)
    sources = [chance.randrange(nodes) for _ in range(PODS)]
    vms = np.array(chance.sample(range(PODS), PODS))
    clusters = [a_cluster(nodes, min(small, nodes // 2), sizes, sources) for _ in range(2)]
    for cluster in clusters if cordoned else ():
        cluster.set_cordoned(nodes - 1, True)
    together, by_turns = (Scheduler(cluster, placement, Random(seed)) for cluster in clusters)
    from_nodes = np.array(sources)[vms]
    asked, kinds = together._asked_by(vms)
    scores = list(map(together._known_scores, asked))
    found = together._place_burst(vms, from_nodes, kinds, scores, burst.place_burst)
    assert found.tolist() == by_turns.place_all(vms, from_nodes).tolist()
    for name in ("requested_cpu", "requested_memory", "pods"):
        assert np.array_equal(getattr(clusters[0], name), getattr(clusters[1], name)), name
    # Whatever comes next finds both in the same state: where the search goes on, and the draws.
    assert [together.choose(vm) for vm in range(9)] == [by_turns.choose(vm) for vm in range(9)]


def test_a_burst_whose_random_words_run_out_goes_on_with_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sources = [pod % 7 for pod in range(PODS)]
    clusters = [a_cluster(7, 0, 2, sources) for _ in range(2)]
    few, many = (Scheduler(cluster, "spread", Random(3)) for cluster in clusters)
    vms, expected = np.arange(PODS), []
    for scheduler, words in ((many, burst.random_words), (few, _few_words)):
        monkeypatch.setattr(burst, "random_words", words)
        asked, kinds = scheduler._asked_by(vms)
        scores = list(map(scheduler._known_scores, asked))
        placed = scheduler._place_burst(vms, np.array(sources), kinds, scores, burst.place_burst)
        expected.append((placed.tolist(), scheduler._ties.getstate()))
    assert expected[0] == expected[1]


_random_words = burst.random_words


def _few_words(source: Random, count: int) -> burst.Words:
    return _random_words(source, min(count, 5))


def test_many_placements_are_made_by_the_compiled_burst(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only where Numba is; here the text itself stands for it."""
    asked: list[int] = []
    place = burst.place_burst

    def counted(*given: object) -> tuple[Numbers, int]:
        asked.append(1)
        return place(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(burst, "COMPILED", True)
    monkeypatch.setattr(scheduling, "MANY_PLACED", 2 * PODS)
    sources = [pod % 5 for pod in range(PODS)]
    scheduler = Scheduler(a_cluster(5, 0, 1, sources), "spread", Random(1))
    monkeypatch.setattr(burst, "place_burst", counted)
    for expected in (0, 1):
        scheduler.place_all(np.arange(PODS), np.array(sources))
        assert len(asked) == expected


@pytest.mark.parametrize("count", [1, 2, 3, 8, 1000])
def test_draws_are_those_of_randrange(count: int) -> None:
    quick, plain = Random(7), Random(7)
    draw = below(quick)
    assert [draw(count) for _ in range(50)] == [plain.randrange(count) for _ in range(50)]
    assert quick.getstate() == plain.getstate()
