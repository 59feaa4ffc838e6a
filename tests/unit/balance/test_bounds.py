"""The bound: never above what a brute-force search finds, and exact where it says so."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.balance import exact
from trimtab.balance.bounds import (
    best_level_by_moves,
    bound,
    ceilings,
    fewest_by_weights,
    fewest_cycles,
    greedy_cover,
)
from trimtab.balance.problem import problem_of

loads = st.lists(
    st.tuples(st.floats(0, 1, width=32), st.floats(0, 1, width=32)), min_size=1, max_size=9
)


def fewest_by_trying(load: np.ndarray, excess: np.ndarray) -> float:
    """All choices of VMs, the smallest first."""
    for count in range(load.shape[1] + 1):
        for chosen in combinations(range(load.shape[1]), count):
            if (load[:, list(chosen)].sum(axis=1) >= excess - 1e-9).all():
                return count
    return np.inf


@given(loads, st.floats(0, 3), st.floats(0, 3))
def test_the_search_finds_the_fewest_vms_and_the_weights_never_more(
    pairs: list[tuple[float, float]], cpu: float, memory: float
) -> None:
    load, excess = np.array(pairs).T, np.array([cpu, memory])
    true = fewest_by_trying(load, excess)
    found = exact.fewest(load, excess)
    assert found.exact
    assert found.least == true
    if true < np.inf:
        assert fewest_by_weights(load, excess) <= true <= greedy_cover(load, excess)


@given(loads, st.lists(st.floats(0.1, 5), min_size=9, max_size=9), st.floats(0, 2), st.floats(0, 2))
def test_the_search_finds_the_least_weight(
    pairs: list[tuple[float, float]], some: list[float], cpu: float, memory: float
) -> None:
    load, excess = np.array(pairs).T, np.array([cpu, memory])
    weights = np.array(some[: load.shape[1]])
    tried = [
        weights[list(chosen)].sum()
        for count in range(load.shape[1] + 1)
        for chosen in combinations(range(load.shape[1]), count)
        if (load[:, list(chosen)].sum(axis=1) >= excess - 1e-9).all()
    ]
    found = exact.least_weight(load, weights, excess)
    assert found.least == pytest.approx(min(tried, default=np.inf), abs=1e-6)
    if tried and excess.max() > 1e-9:
        assert exact.best_mix(load, weights, excess)[1] <= found.least + 1e-6


@given(st.integers(0, 2**32 - 1))
def test_no_assignment_of_a_small_cluster_needs_fewer_moves_than_proved(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = problem_of(
        nodes=["a", "b", "c"],
        vms=[str(v) for v in range(6)],
        capacity=rng.choice([4.0, 6.0], (2, 3)),
        where=rng.integers(0, 3, 6),
        load=rng.random((2, 6)) * 2,
    )
    ceiling = ceilings(problem, 0.1)
    best = np.inf
    for places in product(range(3), repeat=6):
        where = np.array(places)
        load = np.stack([np.bincount(where, row, minlength=3) for row in problem.load])
        if (load / problem.capacity <= ceiling + 1e-9).all():
            best = min(best, int((where != problem.where).sum()))
    assert bound(problem, ceiling, method="surrogate").moves <= best
    assert bound(problem, ceiling, method="exact").moves <= best


def test_more_moves_never_allow_less() -> None:
    rng = np.random.default_rng(4)
    problem = problem_of(
        nodes=[str(n) for n in range(10)],
        vms=[str(v) for v in range(80)],
        capacity=np.full((2, 10), 20.0),
        where=rng.integers(0, 7, 80),
        load=rng.random((2, 80)) * 2,
    )
    curve = best_level_by_moves(problem, [0, 5, 10, 20, 40])
    levels = [level for _, level in curve]
    assert levels == sorted(levels, reverse=True)
    worst = float((problem.shares() - problem.mean()[:, None]).max())
    assert levels[0] == pytest.approx(worst, abs=1e-3)


def test_a_search_that_is_cut_short_still_gives_a_valid_bound() -> None:
    """VMs that are nearly alike make the search long."""
    rng = np.random.default_rng(1)
    load = 1.0 + rng.random((2, 30)) * 0.01
    excess = np.array([14.5, 14.4])
    short, whole = exact.fewest(load, excess, steps=5), exact.fewest(load, excess)
    assert not short.exact
    assert short.least <= whole.least == 15


@pytest.mark.parametrize(
    ("moves", "limits", "expected"),
    [
        pytest.param([], (5, 2), 0, id="nothing to do"),
        pytest.param([3, 3], (None, None), 1, id="no limits"),
        pytest.param([3, 3, 3], (5, None), 2, id="nine of five at a time"),
        pytest.param([7, 1], (5, 2), 4, id="seven of one node, two at a time"),
    ],
)
def test_limits_force_cycles(
    moves: list[int], limits: tuple[int | None, int | None], expected: int
) -> None:
    assert fewest_cycles(moves, limits) == expected


@given(loads, st.floats(0, 3), st.floats(0, 3))
def test_one_resource_at_a_time_demands_no_more_than_mixes_of_both(
    pairs: list[tuple[float, float]], cpu: float, memory: float
) -> None:
    load, excess = np.array(pairs).T, np.array([cpu, memory])
    single, weights = np.array([0.0, 1.0]), np.ones(load.shape[1])
    assert fewest_by_weights(load, excess, single) <= fewest_by_weights(load, excess)
    if (load.sum(axis=1) >= excess).all() and excess.max() > 1e-9:
        least = exact.best_mix(load, weights, excess, single)[1]
        assert least <= exact.best_mix(load, weights, excess)[1]
