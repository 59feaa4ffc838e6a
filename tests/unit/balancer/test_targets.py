"""Moves that name a set of nodes: which nodes are in it, and one scheduler's choice at a time."""

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from builders.worlds.balancer import (
    ACT,
    LEVEL,
    NOW,
    a_cluster,
    a_migration,
    a_move,
    a_plan,
    a_situation,
    proposed,
)
from trimtab.balance.problem import Problem
from trimtab.balancer.decide import Decision, decide
from trimtab.balancer.progress import with_refusal
from trimtab.balancer.situation import MigrationSeen
from trimtab.balancer.vms_and_migrations import located
from trimtab.balancer.wire import MoveStatus, RebalancePlan, RebalancePlanStatus, migration_name
from trimtab.observe import wire

SETS: dict[str, Any] = {"chooses_from_set": True}


def targets_of(made: Decision) -> set[str]:
    assert made.start is not None
    return set(made.start.targets)


def test_every_node_that_brings_enough_is_a_target_and_gets_the_label() -> None:
    made = decide(a_situation(plans=(proposed(a_move()),), **SETS))
    assert targets_of(made) == {"n1", "n2"}
    assert made.cool == {"n1", "n2"}


def test_with_an_exact_target_no_node_gets_a_label() -> None:
    made = decide(a_situation(plans=(proposed(a_move()),)))
    assert (targets_of(made), set(made.cool)) == ({"n1"}, set())


def test_a_node_that_would_come_above_the_band_is_no_target() -> None:
    # Mean 0.3: 0.2 more is too much for n2, which has 0.3.
    cluster = a_cluster([0.2, 0.2, 0.2, 0.1], [0.1], [0.3], [0.1])
    made = decide(a_situation(cluster, plans=(proposed(a_move()),), **SETS))
    assert targets_of(made) == {"n1", "n3"}


def test_a_node_that_a_vm_is_on_its_way_to_is_no_target() -> None:
    other = a_migration("d/b0", "n1", "n2", plan="p")
    made = decide(a_situation(plans=(proposed(a_move()),), migrations=(other,), **SETS))
    assert targets_of(made) == {"n1"}


def test_a_planned_target_that_is_gone_is_no_reason_to_stay() -> None:
    made = decide(a_situation(plans=(proposed(a_move(target="n9")),), **SETS))
    assert targets_of(made) == {"n1", "n2"}


def test_a_move_that_brings_nothing_anywhere_is_skipped() -> None:
    made = decide(a_situation(LEVEL, plans=(proposed(a_move()),), **SETS))
    (status,) = made.records.values()
    assert (made.start, status.moves[0].reason) == (None, "it would bring nothing any more")


@pytest.mark.parametrize(
    ("changes", "chain"),
    [
        pytest.param({"undoes": "plan-x"}, 0, id="the way back"),
        pytest.param({}, 1, id="a move that makes room for another"),
    ],
)
def test_a_move_that_must_go_to_one_node_has_only_that_in_its_set(
    changes: dict[str, str], chain: int
) -> None:
    plan = proposed(a_move(chain=chain), mode="propose")
    plan = replace(plan, spec=replace(plan.spec, **changes))
    made = decide(a_situation(plans=(plan,), **SETS))
    assert (targets_of(made), set(made.cool)) == ({"n1"}, {"n1"})


def test_nothing_begins_and_labels_stay_while_the_scheduler_chooses() -> None:
    plan = proposed(a_move("d/a0"), a_move("d/b0", "n1", "n2"), mode="propose")
    name = migration_name(plan.spec.plan_id, "d/a0")
    choosing = a_migration("d/a0", "n0", "n1", name=name, plan="p", scheduled=False)
    cool = frozenset({"n1", "n2"})
    made = decide(a_situation(plans=(plan,), migrations=(choosing,), cool=cool, **SETS))
    assert (made.start, made.cool) == (None, cool)


def test_a_migration_that_only_bears_our_label_stops_nobody() -> None:
    foreign = a_migration("x/y", "n1", "", plan="plan-x", scheduled=False)
    made = decide(a_situation(plans=(proposed(a_move()),), migrations=(foreign,), **SETS))
    assert made.start is not None


def test_labels_go_once_the_scheduler_has_chosen() -> None:
    plan = proposed(a_move())
    name = migration_name(plan.spec.plan_id, "d/a0")
    chosen = a_migration("d/a0", "n0", "n2", name=name, plan="p")
    made = decide(a_situation(plans=(plan,), migrations=(chosen,), cool=frozenset({"n1"}), **SETS))
    assert made.cool == set()


def test_labels_that_a_killed_balancer_left_go() -> None:
    assert decide(a_situation(LEVEL, cool=frozenset({"n1"}), **SETS)).cool == set()


def a_target_pod(uid: str, node: str) -> wire.Pod:
    given = {
        "metadata": {"name": "p", "labels": {"kubevirt.io/migrationJobUID": uid}},
        "spec": {"nodeName": node},
    }
    return msgspec.convert(given, wire.Pod)


@pytest.mark.parametrize(
    ("node", "found"),
    [
        pytest.param("n2", ("n2", True), id="the scheduler has bound the pod"),
        pytest.param("", ("n1", False), id="until then the plan's target counts"),
    ],
)
def test_a_migration_is_where_its_target_pod_is(node: str, found: tuple[str, bool]) -> None:
    plan = proposed(a_move())
    waiting = a_migration(
        "d/a0", "n0", "", uid="u1", plan=plan.metadata.name, scheduled=False, ended=None
    )
    (seen,) = located([waiting], [a_target_pod("u1", node)], [plan])
    assert (seen.target, seen.scheduled) == found


def test_a_finished_migration_that_kubevirt_forgot_ended_where_its_pod_is() -> None:
    ended = a_migration("d/a0", "n0", "", uid="u1", scheduled=False, ended=5.0)
    (seen,) = located([ended], [a_target_pod("u1", "n3")], [proposed(a_move())])
    assert (seen.target, seen.ended) == ("n3", 5.0)


def test_a_refused_migration_is_recorded_with_the_refusal() -> None:
    status = RebalancePlanStatus(moves=(MoveStatus(vm="d/a0"), MoveStatus(vm="d/a1")))
    after = with_refusal(status, "d/a0", "in-flight migration detected")
    assert [move.outcome for move in after.moves] == ["Failed", "Waiting"]
    assert after.moves[0].reason == "in-flight migration detected"


@given(
    loads=st.lists(st.lists(st.floats(0.02, 0.15), min_size=1, max_size=6), min_size=4, max_size=9),
    choices=st.lists(st.tuples(st.integers(0, 7), st.booleans()), min_size=10, max_size=30),
)
def test_wherever_the_scheduler_puts_vms_no_node_is_crowded_and_labels_fit_one_move(
    loads: list[list[float]], choices: list[tuple[int, bool]]
) -> None:
    """In each round the scheduler has chosen for what waits, or not yet; copies end a round on."""
    problem, now = a_cluster(*loads), NOW
    plans: dict[str, RebalancePlan] = {}
    times: dict[str, float] = {}
    moves: dict[str, MigrationSeen] = {}
    cool: frozenset[str] = frozenset()
    for choice, has_chosen in choices:
        now += 5.0
        problem, moves = _went_on(problem, moves, now, sorted(cool), choice, has_chosen)
        made = decide(
            a_situation(
                problem,
                ACT,
                now=now,
                plans=tuple(plans.values()),
                times=times,
                migrations=tuple(moves.values()),
                cool=cool,
                **SETS,
            )
        )
        cool = made.cool
        for name, status in made.records.items():
            plans[name] = replace(plans[name], status=status)
        if made.create is not None:
            plan = a_plan(made.create)
            plans[plan.metadata.name], times[plan.metadata.name] = plan, now
        if made.start is not None:
            assert cool == set(made.start.targets)
            assert made.start.move.source not in cool
            assert not any(each.ended is None and not each.scheduled for each in moves.values())
            name = migration_name(made.start.plan.spec.plan_id, made.start.move.vm)
            assert made.start.move.vm not in {each.vm for each in moves.values()}
            moves[name] = a_migration(
                made.start.move.vm,
                made.start.move.source,
                made.start.move.target,
                name=name,
                begun=now,
                plan=made.start.plan.metadata.name,
                scheduled=False,
            )
        under_way = [each for each in moves.values() if each.ended is None and each.scheduled]
        assert len({each.target for each in under_way}) == len(under_way)


def _went_on(
    problem: Problem,
    moves: dict[str, MigrationSeen],
    now: float,
    cool: list[str],
    choice: int,
    has_chosen: bool,
) -> tuple[Problem, dict[str, MigrationSeen]]:
    where, after = problem.where.copy(), dict(moves)
    for each in moves.values():
        if each.ended is None and each.scheduled:
            where[problem.vms.index(each.vm)] = problem.nodes.index(each.target)
            after[each.name] = replace(each, ended=now, succeeded=True)
        elif each.ended is None and has_chosen:
            node = cool[choice % len(cool)]
            after[each.name] = replace(each, target=node, scheduled=True)
    return replace(problem, where=np.asarray(where)), after
