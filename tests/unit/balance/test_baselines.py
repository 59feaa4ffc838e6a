"""The simpler planners: which VM goes where when both can be chosen."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.examples import examples
from trimtab.balance.baselines import Moves, best_fit, steepest_pair
from trimtab.balance.goals import Budget
from trimtab.balance.problem import Problem, problem_of

Baseline = Callable[..., Moves]
BOTH = pytest.mark.parametrize("plan", [best_fit, steepest_pair])
UNLIMITED = Budget()


def moves_of(
    plan: Baseline,
    placement: dict[str, list[float]],
    *,
    tolerated: float = 0.0,
    budget: Budget = UNLIMITED,
    least_gain: float = 0.0,
    pods: list[float] | None = None,
) -> Moves:
    """Nodes of 10 cores with VMs of so many cores, all in use; n0 is to be relieved."""
    problem = a_cluster(placement, pods)
    ceiling = problem.shares().mean(axis=1)[:, None] + np.full((2, len(placement)), tolerated)
    sources = np.array([node == "n0" for node in problem.nodes])
    return plan(problem, ceiling, sources, budget, least_gain)


def a_cluster(placement: dict[str, list[float]], pods: list[float] | None = None) -> Problem:
    cores = np.array([size for sizes in placement.values() for size in sizes])
    where = [n for n, sizes in enumerate(placement.values()) for _ in sizes]
    nodes = len(placement)
    return problem_of(
        nodes=list(placement),
        vms=[f"v{i}" for i in range(len(cores))],
        capacity=np.full((2, nodes), 10.0),
        where=where,
        load=np.stack([cores, np.zeros_like(cores)]),
        resources=("pods",),
        allocatable=np.array([pods or [100.0] * nodes]),
        request=np.ones((1, len(cores))),
    )


def test_best_fit_takes_the_smallest_vm_that_is_enough() -> None:
    # 0.9 against a mean of 0.5: 0.2 above what is tolerated, so 2 cores have to go.
    placement = {"n0": [1.0, 2, 3, 3], "n1": [3.0], "n2": [3.0]}
    assert moves_of(best_fit, placement, tolerated=0.2) == [(1, 1)]


def test_best_fit_takes_the_largest_vm_when_none_is_enough() -> None:
    moves = moves_of(best_fit, {"n0": [1.0, 1, 2, 1, 4], "n1": [0.1], "n2": [3.0]})
    assert moves[0][0] == 4


def test_best_fit_goes_to_the_least_loaded_node_and_stops_when_level() -> None:
    # Mean 0.4, so 0.3 too much: two VMs. The first goes to n2 (0.1), then both stand at 0.3.
    placement = {"n0": [2.0, 2, 2, 2], "n1": [3.0], "n2": [1.0]}
    assert moves_of(best_fit, placement, tolerated=0.1) == [(0, 2), (1, 1)]


def test_steepest_pair_takes_the_move_that_levels_most() -> None:
    # 2·v·(a - b - v): 4 cores to n2 give 2·0.4·(0.9 - 0 - 0.4) = 0.4, 1 core and n1 less.
    placement = {"n0": [1.0, 4, 4], "n1": [3.0], "n2": [0.01]}
    assert moves_of(steepest_pair, placement, tolerated=0.3) == [(1, 2)]


@BOTH
def test_a_move_must_gain_the_minimum(plan: Baseline) -> None:
    # One core from 0.4 to 0.2: 2·0.1·(0.4 - 0.2 - 0.1) = 0.02.
    cluster = {"n0": [1.0, 1.0, 1.0, 1.0], "n1": [2.0]}
    assert len(moves_of(plan, cluster, least_gain=0.019)) == 1
    assert moves_of(plan, cluster, least_gain=0.021) == []


@BOTH
def test_limits_hold_in_all_and_per_node(plan: Baseline) -> None:
    cluster = {"n0": [1.0] * 9, "n1": [0.1], "n2": [0.1]}
    assert len(moves_of(plan, cluster, budget=Budget(moves=3))) == 3
    assert len(moves_of(plan, cluster, budget=Budget(moves=5, out_of_node=2))) == 2


@BOTH
def test_only_nodes_with_room_are_targets(plan: Baseline) -> None:
    cluster = {"n0": [2.0, 2.0, 2.0], "n1": [0.1], "n2": [1.0]}
    moves = moves_of(plan, cluster, pods=[100.0, 1.0, 100.0])
    assert {target for _, target in moves} == {2}


@BOTH
def test_a_source_keeps_its_pods_until_all_copies_have_ended(plan: Baseline) -> None:
    # n0 is full by pods: what leaves it makes no room for what n1 would send there.
    problem = a_cluster({"n0": [1.0] * 4, "n1": [6.0, 0.1], "n2": []}, [4.0, 100.0, 100.0])
    ceiling = np.full((2, 3), 0.2)
    moves = plan(problem, ceiling, np.array([True, True, False]), UNLIMITED)
    assert moves
    assert 0 not in {target for _, target in moves}


@BOTH
def test_a_level_node_is_left_alone_whatever_its_score_says(plan: Baseline) -> None:
    assert moves_of(plan, {"n0": [5.0], "n1": [3.0]}, tolerated=0.1) == []


@settings(max_examples=examples(50), deadline=None)
@given(
    st.lists(st.floats(0.1, 4), min_size=1, max_size=12),
    st.lists(st.floats(0.1, 2), min_size=1, max_size=6),
    st.sampled_from([best_fit, steepest_pair]),
)
def test_every_plan_levels_the_cluster(hot: list[float], cool: list[float], plan: Baseline) -> None:
    loads = np.array([sum(hot), sum(cool), 0.0]) / 10
    before = float((loads**2).sum())
    sizes = [*hot, *cool]
    for vm, target in moves_of(plan, {"n0": hot, "n1": cool, "n2": []}):
        loads[0] -= sizes[vm] / 10
        loads[target] += sizes[vm] / 10
    assert float((loads**2).sum()) <= before
