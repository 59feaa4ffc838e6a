"""What is learnt from plans that are over, and how one is taken back."""

from datetime import UTC, datetime

import pytest

from trimtab.balance.price import DEFAULT_BANDWIDTH
from trimtab.balancer.learning import learnt_cost, prediction_error
from trimtab.balancer.requests import moves_back
from trimtab.balancer.wire import (
    MoveOutcome,
    MoveStatus,
    PlannedMove,
    RebalancePlan,
    RebalancePlanSpec,
    RebalancePlanStatus,
    migration_name,
    plan_id,
)
from trimtab.kube.resources import ObjectMeta

MIB = 1024.0**2
NOW = datetime(2026, 11, 1, tzinfo=UTC)


def a_plan(*ends: tuple[str, MoveOutcome, str, float]) -> RebalancePlan:
    """Moves of 100 MiB from n0 to n1, predicted to take 2 s; each with its outcome."""
    moves = tuple(
        PlannedMove(vm=vm, source="n0", target="n1", seconds=2.0, bytes=100 * MIB)
        for vm, _, _, _ in ends
    )
    status = RebalancePlanStatus(
        phase="Completed",
        moves=tuple(
            MoveStatus(vm=vm, outcome=outcome, node=node, actual_seconds=took)
            for vm, outcome, node, took in ends
        ),
    )
    spec = RebalancePlanSpec(mode="act", plan_id="x", moves=moves)
    return RebalancePlan(metadata=ObjectMeta(name="plan-x"), spec=spec, status=status)


def test_the_rate_of_copies_is_the_median_of_what_succeeded() -> None:
    plan = a_plan(
        ("d/a", "Succeeded", "n1", 1.0),
        ("d/b", "Succeeded", "n1", 2.0),
        ("d/c", "Succeeded", "n1", 50.0),
        ("d/d", "Failed", "n0", 0.1),
    )
    assert learnt_cost([plan]).bandwidth == 50 * MIB


def test_two_moves_teach_nothing() -> None:
    plan = a_plan(("d/a", "Succeeded", "n1", 1.0), ("d/b", "Succeeded", "n1", 2.0))
    assert learnt_cost([plan]).bandwidth == DEFAULT_BANDWIDTH
    assert prediction_error([plan]) is None


def test_the_error_of_predictions_has_an_interval() -> None:
    plan = a_plan(
        *((f"d/{at}", "Succeeded", "n1", took) for at, took in enumerate((2.0, 4.0, 6.0)))
    )
    error = prediction_error([plan])
    assert error is not None
    assert (error.moves, error.mean) == (3, 2.0)
    assert error.low == pytest.approx(2.0 - 1.96 / 3**0.5)
    assert error.high == pytest.approx(2.0 + 1.96 / 3**0.5)


def test_what_succeeded_goes_back_in_reverse_order_and_the_rest_says_why_not() -> None:
    plan = a_plan(
        ("d/first", "Succeeded", "n1", 1.0),
        ("d/elsewhere", "Succeeded", "n2", 1.0),
        ("d/failed", "Failed", "n0", 1.0),
        ("d/gone", "Succeeded", "n1", 1.0),
        ("d/last", "Succeeded", "n3", 1.0),
    )
    moves, staying = moves_back(plan, {"d/first": "n1", "d/elsewhere": "n9", "d/last": "n3"})
    assert [(m.vm, m.source, m.target) for m in moves] == [
        ("d/last", "n3", "n0"),
        ("d/first", "n1", "n0"),
    ]
    assert staying == {"d/elsewhere": "it is on n9 now", "d/gone": "it does not run any more"}


def test_another_move_order_or_moment_is_another_plan() -> None:
    a, b = PlannedMove(vm="d/a"), PlannedMove(vm="d/b")
    later = datetime(2026, 11, 2, tzinfo=UTC)
    ids = {plan_id("act", NOW, (a, b)), plan_id("act", NOW, (b, a)), plan_id("act", later, (a, b))}
    assert len(ids | {plan_id("propose", NOW, (a, b))}) == 4


def test_the_name_of_a_migration_follows_from_plan_and_vm() -> None:
    assert migration_name("p", "d/a") == migration_name("p", "d/a")
    assert (
        len({migration_name("p", "d/a"), migration_name("q", "d/a"), migration_name("p", "d/b")})
        == 3
    )
