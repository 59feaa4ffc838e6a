"""The balancer's own metrics."""

from trimtab.balancer.decide import Decision
from trimtab.balancer.learning import prediction_error
from trimtab.balancer.situation import Situation
from trimtab.balancer.wire import MOVED, OVER, RebalancePlan, RebalancePlanStatus
from trimtab.obs.metrics import counter, gauge, histogram

plans = counter("trimtab_balancer_plans_total", "Plans that are over", "mode", "phase")
moves = counter("trimtab_balancer_moves_total", "Moves that are over", "outcome")
started = counter("trimtab_balancer_migrations_started_total", "Migrations that were asked for")
paused = gauge("trimtab_balancer_paused", "1 while it pauses for this reason", "reason")
to_do = gauge("trimtab_balancer_above_band", "1 while a node is above the band")
others = counter(
    "trimtab_balancer_shadow_moves_total",
    "In plans that nobody carried out: what we would have moved, and what others moved",
    "who",
)
copy_ratio = histogram(
    "trimtab_balancer_copy_ratio",
    "Actual over predicted seconds of copying",
    buckets=(0.25, 0.5, 0.8, 1.0, 1.25, 2.0, 4.0),
)
transfer_rate = gauge(
    "trimtab_balancer_transfer_rate_bytes",
    "Bytes a second that predictions of copying assume, learnt from earlier moves",
)
copy_error = gauge(
    "trimtab_balancer_copy_error_ratio",
    "Actual over predicted seconds of copying: mean, and ends of its interval of 95 %",
    "of",
)


def tell_learnt(s: Situation) -> None:
    """What earlier moves taught; the error has no value before there are three of them."""
    transfer_rate.set(s.cost.bandwidth)
    copy_error.clear()
    if (error := prediction_error(s.plans)) is not None:
        copy_error.labels("mean").set(error.mean)
        copy_error.labels("low").set(error.low)
        copy_error.labels("high").set(error.high)


def tell_state(decision: Decision, something_to_do: bool) -> None:
    paused.clear()
    if decision.pause is not None:
        paused.labels(decision.pause.reason).set(1)
    to_do.set(something_to_do)


def tell_change(plan: RebalancePlan, status: RebalancePlanStatus) -> None:
    """Count what is over now and was not before."""
    before = {each.vm: each.outcome for each in plan.status.moves}
    planned = {each.vm: each for each in plan.spec.moves}
    for each in status.moves:
        if each.outcome in MOVED and before.get(each.vm) not in MOVED:
            moves.labels(each.outcome.lower()).inc()
            move = planned.get(each.vm)
            if move and each.outcome == "Succeeded" and min(move.seconds, each.actual_seconds) > 0:
                copy_ratio.observe(each.actual_seconds / move.seconds)
    if status.phase in OVER and not plan.over:
        plans.labels(plan.spec.mode, status.phase).inc()
        if status.phase == "Expired":
            others.labels("balancer").inc(len(plan.spec.moves))
            others.labels("others").inc(status.moves_by_others)
