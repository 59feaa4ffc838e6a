"""The planner: what its plans keep, whatever the cluster looks like."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from builders.examples import QUICK
from builders.values.grown_clusters import a_grown_cluster, an_unlike_cluster
from trimtab.balance.bounds import bound
from trimtab.balance.explain import explain_vm
from trimtab.balance.goals import Budget, Goals
from trimtab.balance.plan import Plan
from trimtab.balance.planner import make_plan
from trimtab.balance.price import MigrationCost
from trimtab.balance.problem import Exclusion, Groups, Problem, problem_of

SEEDS = range(1 if QUICK else 3)  # of clusters that are too large for Hypothesis
GOALS = Goals(margin=0.0, price_per_s=0.0, reserve=False)


@st.composite
def clusters(draw: st.DrawFn) -> Problem:
    """A few nodes of several sizes, closed ones too; VMs tied, fixed, kept apart, nowhere."""
    nodes, vms = draw(st.integers(2, 5)), draw(st.integers(0, 10))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    where = rng.integers(-1, nodes, vms) if vms else np.zeros(0, dtype=np.intp)
    members = [vm for vm in range(vms) if rng.random() < 0.3]
    holders = {vm: (0,) for vm in members if rng.random() < 0.8}
    return problem_of(
        nodes=[f"n{n}" for n in range(nodes)],
        vms=[f"v{v}" for v in range(vms)],
        capacity=rng.choice([4.0, 8.0], (2, nodes)),
        where=where,
        load=rng.random((2, vms)) * 3,
        ground=rng.random((2, nodes)) * 0.5,
        open_nodes=rng.random(nodes) < 0.8,
        resources=("cpu", "pods"),
        allocatable=np.stack([rng.integers(3, 9, nodes), rng.integers(1, 8, nodes)]).astype(float),
        taken=np.zeros((2, nodes)),
        request=np.stack([rng.integers(0, 4, vms), np.ones(vms)]).astype(float),
        kind=rng.integers(0, 2, vms),
        allowed=np.stack([np.ones(nodes, dtype=np.bool_), rng.random(nodes) < 0.6]),
        pressure=rng.random(nodes) * 0.3,
        excluded={
            int(v): Exclusion("fixed", "its disk is local")
            for v in np.flatnonzero(rng.random(vms) < 0.2)
        },
        groups=Groups(
            np.stack([rng.integers(-1, 3, nodes)]), holders, dict.fromkeys(members, (0,))
        ),
    )


def steps(problem: Problem, plan: Plan) -> Iterator[tuple[list[int], int, int]]:
    """Where everything is before each move, with the move's VM and target."""
    where = problem.where.tolist()
    for move in plan.moves:
        assert where[move.vm] == move.source
        yield where, move.vm, move.target
        where[move.vm] = move.target


def broken_rules(problem: Problem, where: list[int]) -> set[tuple[str, int]]:
    """A second, simpler reading of the rules: which VMs are where they must not be."""
    broken = {
        ("allowed", vm)
        for vm, node in enumerate(where)
        if node >= 0 and not problem.allowed[problem.kind[vm], node]
    }
    groups = problem.groups
    if groups is None:
        return broken
    for vm, node in enumerate(where):
        for other, there in enumerate(where):
            if vm == other or node < 0 or there < 0:
                continue
            for group in groups.holders.get(vm, ()):
                here = groups.domain[group, node]
                meets = here >= 0 and here == groups.domain[group, there]
                if group in groups.repelled.get(other, ()) and meets:
                    broken |= {("apart", vm), ("apart", other)}
    return broken


def excess(problem: Problem, where: list[int], ceiling: np.ndarray) -> float:
    total = 0.0
    for node in range(len(problem.nodes)):
        for row in (0, 1):
            load = problem.ground[row, node] + sum(
                problem.load[row, vm] for vm, at in enumerate(where) if at == node
            )
            total += max(0.0, load / problem.capacity[row, node] - ceiling[row, node])
    return total


@given(clusters())
def test_each_move_has_room_and_keeps_every_rule_when_it_is_its_turn(problem: Problem) -> None:
    plan = make_plan(problem, GOALS)
    for where, vm, target in steps(problem, plan):
        assert problem.open[target]
        assert vm not in problem.excluded
        used = problem.request[:, [v for v, at in enumerate(where) if at == target]].sum(axis=1)
        assert (used + problem.request[:, vm] <= problem.allocatable[:, target] + 1e-6).all()
        after = [target if v == vm else at for v, at in enumerate(where)]
        assert len(broken_rules(problem, after)) <= len(broken_rules(problem, where))
        assert not [rule for rule in broken_rules(problem, after) if rule[1] == vm]


@given(clusters())
def test_no_vm_moves_twice_and_levelling_never_adds_excess(problem: Problem) -> None:
    plan = make_plan(problem, GOALS)
    assert len({move.vm for move in plan.moves}) == len(plan.moves)
    levelling = [move for move in plan.moves if move.goal == "level"]
    if len(levelling) == len(plan.moves) and plan.moves:
        after = problem.where.tolist()
        for move in plan.moves:
            after[move.vm] = move.target
        before = excess(problem, problem.where.tolist(), plan.ceiling)
        assert excess(problem, after, plan.ceiling) < before


@given(clusters(), st.integers(0, 3), st.integers(1, 2), st.integers(1, 2))
def test_a_budget_is_never_exceeded(problem: Problem, moves: int, out: int, into: int) -> None:
    plan = make_plan(problem, GOALS, Budget(moves=moves, out_of_node=out, into_node=into))
    assert len(plan.moves) <= moves
    for node in range(len(problem.nodes)):
        assert sum(move.source == node for move in plan.moves) <= out
        assert sum(move.target == node for move in plan.moves if not move.chain) <= into


ONE_AT_A_TIME = Budget(out_of_node=1, into_node=1, alternatives=0)


def moves_in_rounds(problem: Problem, budget: Budget) -> int:
    """Moves until level if each plan is carried out before the next one is made."""
    total = 0
    while plan := make_plan(problem, GOALS, budget, with_bound=False).moves:
        total += len(plan)
        where, moved = problem.where.copy(), dict(problem.excluded)
        for move in plan:
            where[move.vm] = move.target
            moved[move.vm] = Exclusion("cooldown", "it moved lately")
        problem = replace(problem, where=where, excluded=moved)
    return total


@pytest.mark.parametrize("seed", SEEDS)
def test_one_at_a_time_into_each_node_takes_hardly_more_moves_than_no_limit(seed: int) -> None:
    """A busy target is waited for: going elsewhere took 113 moves where 77 do."""
    problem = an_unlike_cluster(60, 600, seed)
    whole = len(make_plan(problem, GOALS, with_bound=False).moves)
    assert moves_in_rounds(problem, ONE_AT_A_TIME) <= 1.05 * whole


def small_nodes_and_a_big_one(load: float) -> Problem:
    """Two full nodes of four VMs each, one with little room, a big empty one."""
    return problem_of(
        nodes=["full-1", "full-2", "next", "big"],
        vms=[f"v{at}" for at in range(10)],
        capacity=np.array([[10.0, 10.0, 10.0, 40.0], [10.0, 10.0, 10.0, 40.0]]),
        where=[0] * 4 + [1] * 4 + [2] * 2,
        load=np.stack([[load] * 8 + [1.0] * 2, [0.1] * 10]),
    )


def test_a_node_waits_for_the_target_that_helps_it_most() -> None:
    plan = make_plan(small_nodes_and_a_big_one(2.0), GOALS, ONE_AT_A_TIME)
    assert [(move.source, move.target) for move in plan.moves] == [(1, 3)]
    (waiting,) = (left for left in plan.left if left.node == 0)
    assert waiting.why == "the node that would take most of it takes another VM just now"


def test_a_node_that_suffers_does_not_wait() -> None:
    plan = make_plan(small_nodes_and_a_big_one(2.4), GOALS, ONE_AT_A_TIME)
    assert [(m.source, m.target, m.goal) for m in plan.moves] == [
        (1, 3, "relieve"),
        (0, 2, "relieve"),
    ]


@given(clusters())
def test_a_plan_is_the_same_each_time(problem: Problem) -> None:
    one, two = make_plan(problem), make_plan(problem)
    assert [(m.vm, m.target, m.why) for m in one.moves] == [
        (m.vm, m.target, m.why) for m in two.moves
    ]


@pytest.mark.parametrize("make", [a_grown_cluster, an_unlike_cluster])
@pytest.mark.parametrize("seed", SEEDS)
def test_grown_clusters_are_levelled_with_hardly_more_moves_than_proved(
    make: Callable[[int, int, int], Problem], seed: int
) -> None:
    problem = make(100, 1600, seed)
    plan = make_plan(problem, GOALS, Budget(alternatives=0))
    assert plan.bound is not None
    assert not plan.left
    assert plan.bound.moves <= len(plan.moves) <= 1.03 * plan.bound.moves


def two_nodes(**changes: object) -> Problem:
    """Four equal VMs on the first of two nodes."""
    fields: dict[str, object] = {
        "nodes": ["hot", "cold"],
        "vms": ["a", "b", "c", "d"],
        "capacity": np.full((2, 2), 10.0),
        "where": [0, 0, 0, 0],
        "load": np.stack([[2.0, 2.0, 2.0, 2.0], [1.0, 1.0, 1.0, 1.0]]),
    }
    return problem_of(**(fields | changes))  # type: ignore[arg-type]


def test_half_of_the_vms_leave_the_only_hot_node() -> None:
    plan = make_plan(two_nodes(), GOALS)
    assert [(move.source, move.target, move.goal) for move in plan.moves] == [(0, 1, "level")] * 2
    assert plan.bound is not None
    assert plan.bound.moves == 2


def test_a_vm_on_a_forbidden_node_is_repaired_before_anything_is_levelled() -> None:
    allowed = np.array([[True, True], [False, True]])
    plan = make_plan(two_nodes(kind=np.array([0, 0, 0, 1]), allowed=allowed), GOALS)
    assert plan.moves[0].vm == 3
    assert plan.moves[0].goal == "repair"
    assert "d runs on hot" in plan.moves[0].why


def test_a_broken_rule_that_nothing_can_repair_is_told() -> None:
    plan = make_plan(two_nodes(allowed=np.array([[False, False]])), GOALS)
    assert not plan.moves
    assert len(plan.broken) == 4


def test_a_vm_that_changes_memory_too_fast_is_not_chosen_and_says_so() -> None:
    dirty = np.array([900e6, 0.0, 0.0, 0.0])
    cost = MigrationCost(bandwidth=1e9, source="test")
    problem = two_nodes(dirty_rate=dirty)
    plan = make_plan(problem, GOALS, cost=cost)
    assert 0 not in {move.vm for move in plan.moves}
    told = explain_vm(problem, plan, 0, cost)
    assert told.text.startswith("it stays: it changes memory")
    assert {target.rule for target in told.targets} == {"hardly-converges"}


def test_of_equal_vms_the_cheaper_migration_is_taken() -> None:
    resident = np.array([64e9, 1e9, 64e9, 2e9])
    goals = Goals(margin=0.0, price_per_s=1e-4, reserve=False)
    plan = make_plan(two_nodes(resident=resident), goals)
    assert {move.vm for move in plan.moves} == {1, 3}


def test_a_gain_below_the_margin_is_no_move() -> None:
    load = np.stack([[2.0, 2.0, 1.0, 0.02], [0.0, 0.0, 0.0, 0.0]])
    problem = two_nodes(load=load, where=[0, 1, 0, 0], excluded=_fixed(0, 1, 2))
    assert not make_plan(problem, Goals(band=0.0, margin=0.01)).moves
    assert make_plan(problem, Goals(band=0.0, margin=0.0, price_per_s=0.0)).moves


def _fixed(*vms: int) -> dict[int, Exclusion]:
    return {vm: Exclusion("not-migratable", "its disk is on one node") for vm in vms}


def test_a_node_that_nobody_can_level_is_proved_to_be_so() -> None:
    problem = two_nodes(excluded=_fixed(0, 1, 2))
    plan = make_plan(problem, GOALS)
    assert plan.bound is not None
    assert plan.bound.stuck[0].text == "75 % of its CPU load cannot migrate"
    assert plan.left[0].why == "75 % of its CPU load cannot migrate"


def test_two_vms_change_places_where_no_single_move_helps() -> None:
    """The cold node has no room for another pod until its own VM comes back."""
    problem = two_nodes(
        load=np.stack([[6.0, 2.0, 1.0, 1.0], [1.0] * 4]),
        where=[0, 0, 1, 1],
        resources=("pods",),
        allocatable=np.array([[3.0, 2.0]]),
        request=np.ones((1, 4)),
        excluded=_fixed(0),
    )
    plan = make_plan(problem, Goals(band=0.0, margin=0.0, price_per_s=0.0, reserve=False))
    assert [(move.vm, move.target) for move in plan.moves] in ([(2, 0), (1, 1)], [(3, 0), (1, 1)])
    assert {move.chain for move in plan.moves} == {1}


def test_a_node_under_pressure_is_relieved_before_others_are_levelled() -> None:
    problem = problem_of(
        nodes=["pressed", "hot", "cold"],
        vms=["a", "b", "c", "d", "e"],
        capacity=np.full((2, 3), 10.0),
        where=[0, 0, 1, 1, 1],
        load=np.stack([[2.0, 2.0, 3.0, 2.0, 2.0], [1.0] * 5]),
        pressure=np.array([0.5, 0.0, 0.0]),
    )
    plan = make_plan(problem, GOALS)
    assert plan.moves[0].goal == "relieve"
    assert plan.moves[0].source == 0
    assert plan.moves[0].why == "pressed waits for CPU or memory 50 % of the time"


def test_alternatives_name_the_rule_that_refused_them() -> None:
    problem = problem_of(
        nodes=["hot", "cordoned", "full", "cold"],
        vms=["a", "b"],
        capacity=np.full((2, 4), 10.0),
        where=[0, 0],
        load=np.stack([[4.0, 3.9], [1.0, 1.0]]),
        open_nodes=np.array([True, False, True, True]),
        resources=("cpu",),
        allocatable=np.array([[8.0, 8.0, 0.5, 8.0]]),
        request=np.ones((1, 2)),
    )
    plan = make_plan(problem, GOALS, Budget(alternatives=5))
    rules = {(a.vm, a.target): a.rule for a in plan.moves[0].alternatives}
    assert rules[0, 2] == "requests"
    assert rules[1, 3] == "target-limit"
    told = explain_vm(problem, plan, 1)
    assert {t.target: t.rule for t in told.targets}[1] == "closed"


def test_a_place_is_made_for_the_largest_vm_of_a_node_that_might_be_lost() -> None:
    problem = problem_of(
        nodes=["big", "left", "right"],
        vms=["large", "small", "other"],
        capacity=np.full((2, 3), 10.0),
        where=[0, 1, 2],
        load=np.stack([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]),
        resources=("memory",),
        allocatable=np.array([[8.0, 8.0, 8.0]]),
        request=np.array([[7.0, 2.0, 2.0]]),
    )
    plan = make_plan(problem, Goals(band=0.5))
    assert [move.goal for move in plan.moves] == ["reserve"]
    assert "if big is lost" in plan.moves[0].why


def test_the_bound_of_a_level_cluster_is_nothing() -> None:
    problem = two_nodes(where=[0, 0, 1, 1])
    assert make_plan(problem, GOALS).moves == ()
    assert bound(problem, make_plan(problem, GOALS).ceiling).moves == 0
