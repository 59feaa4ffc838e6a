"""What finished moves teach: how fast memory is copied, and how wrong predictions were."""

from collections.abc import Iterable
from math import sqrt
from statistics import mean, median, stdev

from msgspec import Struct

from trimtab.balance.price import MigrationCost
from trimtab.balancer.wire import RebalancePlan

LEAST = 3
"""Moves that a rate is learnt from; fewer are an anecdote."""
_NORMAL_95 = 1.96


class PredictionError(Struct, frozen=True, rename="camel"):
    """Actual over predicted seconds of copying: the mean, and where it lies with 95 %."""

    moves: int
    mean: float
    low: float
    high: float


def learnt_cost(plans: Iterable[RebalancePlan]) -> MigrationCost:
    """The median rate of past moves, or what is assumed without any."""
    rates = [size / seconds for size, _, seconds in _copies(plans)]
    if len(rates) < LEAST:
        return MigrationCost()
    return MigrationCost(median(rates), f"learnt from {len(rates)} moves")


def prediction_error(plans: Iterable[RebalancePlan]) -> PredictionError | None:
    """How long copies took beside what was predicted; None before there are enough."""
    ratios = [actual / predicted for _, predicted, actual in _copies(plans) if predicted > 0]
    if len(ratios) < LEAST:
        return None
    half = _NORMAL_95 * stdev(ratios) / sqrt(len(ratios))
    middle = mean(ratios)
    return PredictionError(len(ratios), middle, middle - half, middle + half)


def _copies(plans: Iterable[RebalancePlan]) -> list[tuple[float, float, float]]:
    """Bytes, predicted seconds and actual seconds of the moves that succeeded."""
    found = []
    for plan in plans:
        planned = {move.vm: move for move in plan.spec.moves}
        for done in plan.status.moves:
            move = planned.get(done.vm)
            if move and done.outcome == "Succeeded" and done.actual_seconds > 0 and move.bytes > 0:
                found.append((move.bytes, move.seconds, done.actual_seconds))
    return found
