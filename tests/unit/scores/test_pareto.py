"""Fronts and crowding against the definition, spelled out the slow way."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from builders.examples import examples
from builders.worlds.clusters import Cluster, clusters
from trimtab.scores.arrays.evaluate import crowding, front_index, pareto_score
from trimtab.scores.arrays.window import Floats


def slow_fronts(values: Floats) -> list[int]:
    """Peel off whoever is not dominated by anyone left."""
    left, fronts, depth = set(range(len(values))), [0] * len(values), 0
    while left:
        best = {i for i in left if not any(dominates(values[j], values[i]) for j in left)}
        for i in best:
            fronts[i] = depth
        left, depth = left - best, depth + 1
    return fronts


def dominates(a: Floats, b: Floats) -> bool:
    return bool((a <= b).all() and (a < b).any())


@pytest.mark.parametrize("cluster", clusters(2, 25), ids=lambda c: c.name)
def test_fronts_are_found_as_by_peeling(cluster: Cluster) -> None:
    assert front_index(cluster.values).tolist() == slow_fronts(cluster.values)


@pytest.mark.parametrize("spread", [0.02, 0.3, 10.0], ids=["many fronts", "some", "few"])
def test_fronts_of_many_nodes_are_the_longest_chains(spread: float) -> None:
    rng = np.random.default_rng(5)
    values = rng.random((300, 1)) + rng.uniform(-spread, spread, (300, 4))
    first, second = values[:, np.newaxis], values[np.newaxis]
    below = np.asarray((first <= second).all(axis=2) & (first < second).any(axis=2))
    depth = np.zeros(300, dtype=int)
    for i in np.argsort(values.sum(axis=1)):  # whoever dominates has the smaller sum
        depth[i] = max((depth[j] + 1 for j in np.flatnonzero(below[:, i])), default=0)
    assert front_index(values).tolist() == depth.tolist()


@settings(max_examples=examples(50), deadline=None)
@given(arrays(np.float64, (12, 4), elements=st.sampled_from([0.0, 0.25, 0.5, 1.0])))
def test_ties_everywhere_do_not_confuse_the_fronts(values: Floats) -> None:
    assert front_index(values).tolist() == slow_fronts(values)


@pytest.mark.parametrize("nodes", [1, 2, 500])
def test_a_total_order_has_as_many_fronts_as_nodes(nodes: int) -> None:
    ladder = np.linspace(0, 1, nodes)[:, np.newaxis] * np.ones(4)
    assert front_index(ladder).tolist() == list(range(nodes))


def test_crowding_counts_the_neighbours_inside_a_front() -> None:
    values = np.array([[0.0, 1.0, 0, 0], [0.25, 0.5, 0, 0], [0.75, 0.25, 0, 0], [1.0, 0.0, 0, 0]])
    front = front_index(values)
    assert front.tolist() == [0, 0, 0, 0]
    # CPU: (0.75 - 0) and (1 - 0.25); pressure: (1 - 0.25) and (0.5 - 0); no range, no distance.
    assert crowding(values, front).tolist() == [np.inf, 1.5, 1.25, np.inf]


def test_the_most_crowded_node_of_a_front_gets_the_most() -> None:
    values = np.array([[0.0, 1.0, 0, 0], [0.25, 0.5, 0, 0], [0.75, 0.25, 0, 0], [1.0, 0.0, 0, 0]])
    expected = [0, 0, 0.1 * (1 - 1.25 / 1.5), 0]
    np.testing.assert_allclose(pareto_score(values), expected, atol=1e-15)


def test_identical_nodes_are_told_apart_by_their_order_alone() -> None:
    assert pareto_score(np.full((4, 4), 0.3)).tolist() == [0, 0.05, 0.05, 0]


def test_the_worst_front_scores_one_even_with_crowding() -> None:
    chain = np.vstack([np.zeros((1, 4)), np.full((5, 4), 0.5)])
    assert pareto_score(chain).tolist() == [0, 1, 1, 1, 1, 1]
