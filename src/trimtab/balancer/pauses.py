"""When the balancer stops by itself: why, and how it goes on."""

from msgspec import Struct

from trimtab.balancer.situation import Situation
from trimtab.balancer.wire import ACKNOWLEDGED, RebalancePlan

REALISED = 0.5
"""A plan that brings less than this share of what it promised has failed to."""


class Pause(Struct, frozen=True):
    """A word for programs, and two sentences for people."""

    reason: str
    why: str
    resume: str

    @property
    def text(self) -> str:
        return f"{self.why}; {self.resume}"


def pause_of(s: Situation) -> Pause | None:
    """The first reason not to move anything now, or None."""
    checks = (_api_trouble, _stale, _second_balancer, _drain, _failures, _missed_gains)
    return next((found for check in checks if (found := check(s)) is not None), None)


def _api_trouble(s: Situation) -> Pause | None:
    if not s.troubled:
        return None
    why = f"the API server did not answer as it should in {s.troubled} rounds before this one"
    return Pause("ApiTrouble", why, "it goes on by itself after the next round that works")


def _stale(s: Situation) -> Pause | None:
    limit_s = s.settings.limits.stale_s
    if s.loads_age_s <= limit_s:
        return None
    why = f"the newest metrics are {s.loads_age_s:.0f} s old, and {limit_s:.0f} s is the limit"
    if s.loads_age_s == float("inf"):
        why = "Prometheus has no metrics of nodes, or does not answer"
    return Pause(
        "StaleMetrics", why, "it goes on by itself once Prometheus answers and scrapes again"
    )


def _second_balancer(s: Situation) -> Pause | None:
    if not s.second_balancer or s.settings.beside_descheduler or s.settings.mode != "act":
        return None
    return Pause(
        "SecondBalancer",
        f"LowNodeUtilization is enabled in {s.second_balancer}, and two balancers undo each other",
        "disable it there, or start the balancer with --beside-descheduler",
    )


def _drain(s: Situation) -> Pause | None:
    if not s.draining:
        return None
    names = ", ".join(s.draining[:3]) + (" and others" if len(s.draining) > 3 else "")
    why = f"VMs are leaving the cordoned node {names}, and drains go first"
    return Pause("Drain", why, "it goes on by itself when the drain is over")


def _failures(s: Situation) -> Pause | None:
    limits = s.settings.limits
    failed_at = [
        s.ended[name]
        for plan in s.plans
        if plan.over and not _is_acknowledged(plan) and (name := plan.metadata.name) in s.ended
        for move in plan.status.moves
        if move.outcome == "Failed" and s.now - s.ended[name] < limits.pause_s
    ]
    if len(failed_at) < limits.failures:
        return None
    why = f"{len(failed_at)} moves failed lately (limit {limits.failures})"
    return Pause("Failures", why, _later(limits.pause_s - (s.now - max(failed_at))))


def _missed_gains(s: Situation) -> Pause | None:
    limits = s.settings.limits
    over = (p for p in s.plans if p.status.phase == "Completed" and p.metadata.name in s.ended)
    done = sorted(over, key=lambda plan: s.ended[plan.metadata.name])
    last = done[-2:]
    if len(last) < 2 or not all(missed(plan) and not _is_acknowledged(plan) for plan in last):
        return None
    since_s = s.now - s.ended[last[-1].metadata.name]
    if since_s >= limits.pause_s:
        return None
    why = "the last two plans brought less than half of what they promised"
    return Pause("GainsMissed", why, _later(limits.pause_s - since_s))


def missed(plan: RebalancePlan) -> bool:
    """Moves succeeded, but the excess did not fall as promised."""
    promised = promise_of(plan)
    return promised > 0 and plan.status.gained < REALISED * promised


def promise_of(plan: RebalancePlan) -> float:
    """What the moves that succeeded were to bring, in points."""
    done = {move.vm for move in plan.status.moves if move.outcome == "Succeeded"}
    return sum(move.gain for move in plan.spec.moves if move.vm in done)


def _is_acknowledged(plan: RebalancePlan) -> bool:
    return plan.metadata.annotations.get(ACKNOWLEDGED) == "true"


def _later(seconds: float) -> str:
    return f"it goes on by itself in {max(0.0, seconds):.0f} s, or now: trimtab balance resume"
