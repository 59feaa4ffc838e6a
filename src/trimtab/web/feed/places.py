"""What the other services of the cluster say of themselves: plans, promises, configurations.

Read when somebody opens their place, never in a look; what is not installed is left out.
"""

from collections.abc import Sequence

from msgspec import Struct

from trimtab.advisor.api import CONFIGS, VirtPlatformConfig
from trimtab.advisor.guidance import PHASES, told
from trimtab.advisor.profiles.eviction_limits import thresholds
from trimtab.advisor.profiles.load_aware import LoadAware, chosen
from trimtab.balancer.wire import REBALANCE_PLANS, RebalancePlan
from trimtab.kube.client import Client
from trimtab.qos.wire import QOS_ACCOUNTS, QosAccount
from trimtab.web.compare import PolicyCandidate
from trimtab.web.feed.moves import list_optional

_CAN_GO_BACK = ("Completed", "CompletedWithErrors", "CompletedWithUpgrade", "Drifted", "Failed")
_RANKS = {"violated": 0, "atRisk": 1}
MOST = 200
"""So many of each are shown, the newest plans and the accounts nearest to a broken promise."""


class _Place(Struct, frozen=True, kw_only=True, rename="camel"):
    pass


class ShownMove(_Place, frozen=True):
    """One move of a plan, and what became of it."""

    vm: str
    source: str
    target: str
    why: str
    gain: float
    seconds: float
    outcome: str = ""
    actual: float = 0.0
    reason: str = ""


class ShownPlan(_Place, frozen=True):
    """A plan of the balancer."""

    name: str
    at: float
    mode: str
    phase: str
    message: str
    excess_before: float
    excess_after: float
    excess_now: float
    least_moves: int
    moves: tuple[ShownMove, ...]
    waits: bool = False
    """Whether it can be approved."""
    over: bool = False


class ShownAccount(_Place, frozen=True):
    """Who was promised availability, and how it stands."""

    name: str
    qos: str
    ttv: str
    running: str
    waiting: str
    state: str
    gap: str


class ShownItem(_Place, frozen=True):
    """One object that a plan of the advisor changes."""

    name: str
    state: str
    message: str
    diff: str
    impact: str = ""
    verb: str = ""


class ShownConfig(_Place, frozen=True):
    """A configuration that the advisor rolls out."""

    name: str
    phase: str
    plan: str
    severity: str
    message: str
    items: tuple[ShownItem, ...]
    history: tuple[str, ...]
    next: str = ""
    """What to do about its phase."""
    waits: bool = False
    """Whether its plan can be approved."""
    reverse: bool = False
    """Whether its plan takes back what was applied."""
    can_go_back: bool = False
    candidate: PolicyCandidate | None = None
    """What its options mean for a descheduling cycle, so that this can be tried on a look."""


class Places(_Place, frozen=True):
    """None: not installed, or not ours to see."""

    plans: tuple[ShownPlan, ...] | None = None
    accounts: tuple[ShownAccount, ...] | None = None
    configs: tuple[ShownConfig, ...] | None = None


async def read_places(client: Client) -> Places:
    """All three, as far as they are there."""
    plans = await list_optional(client, REBALANCE_PLANS)
    accounts = await list_optional(client, QOS_ACCOUNTS)
    configs = await list_optional(client, CONFIGS)
    return Places(
        plans=None if plans is None else tuple(_newest_first(plans)),
        accounts=None if accounts is None else tuple(_worst_first(accounts)),
        configs=None if configs is None else tuple(_config(each) for each in configs),
    )


def _newest_first(plans: Sequence[RebalancePlan]) -> list[ShownPlan]:
    shown = sorted((_plan(each) for each in plans), key=lambda plan: plan.at, reverse=True)
    return shown[:MOST]


def _plan(plan: RebalancePlan) -> ShownPlan:
    spec, status = plan.spec, plan.status
    ends = {each.vm: each for each in status.moves}
    moves = tuple(
        ShownMove(
            vm=move.vm,
            source=move.source,
            target=move.target,
            why=move.why,
            gain=move.gain,
            seconds=move.seconds,
            outcome=ends[move.vm].outcome if move.vm in ends else "",
            actual=ends[move.vm].actual_seconds if move.vm in ends else 0.0,
            reason=ends[move.vm].reason if move.vm in ends else "",
        )
        for move in spec.moves
    )
    return ShownPlan(
        name=plan.metadata.name,
        at=spec.made_at.timestamp() if spec.made_at else 0.0,
        mode=spec.mode,
        phase=status.phase,
        message=status.message,
        excess_before=spec.excess_before,
        excess_after=spec.excess_after,
        excess_now=status.excess_now,
        least_moves=spec.least_moves,
        moves=moves,
        waits=spec.mode == "propose" and not plan.over and not spec.approved,
        over=plan.over,
    )


def _worst_first(accounts: Sequence[QosAccount]) -> list[ShownAccount]:
    """Those that are behind their promise or near it come first, as their state says."""
    shown = [
        ShownAccount(
            name=each.status.controller or f"{each.metadata.namespace}/{each.metadata.name}",
            qos=each.status.qos,
            ttv=each.status.ttv,
            running=each.status.running,
            waiting=each.status.waiting,
            state=each.status.state,
            gap=each.status.gap,
        )
        for each in accounts
    ]
    return sorted(shown, key=lambda each: (_RANKS.get(each.state, 2), each.name))[:MOST]


def _config(config: VirtPlatformConfig) -> ShownConfig:
    status = config.status
    return ShownConfig(
        name=config.metadata.name,
        phase=status.phase,
        plan=status.plan_id,
        severity=status.impact_severity,
        message=told(config),
        items=tuple(
            ShownItem(
                name=each.name,
                state=each.state,
                message=each.message,
                diff=each.diff,
                impact=each.impact,
                verb=each.verb,
            )
            for each in status.items
        ),
        next=PHASES[status.phase].next if status.phase else "",
        waits=status.phase == "ReviewRequired",
        reverse=status.reverse,
        can_go_back=status.phase in _CAN_GO_BACK and config.spec.action != "Rollback",
        candidate=_candidate(config),
        history=tuple(
            f"{each.at:%Y-%m-%d %H:%M} {each.what} {each.outcome} {each.by}".strip()
            for each in status.history
            if each.at
        ),
    )


def _candidate(config: VirtPlatformConfig) -> PolicyCandidate | None:
    """The values that the plan gives the policy; None for a profile that moves no VMs."""
    if config.spec.profile != LoadAware.name or config.status.reverse:
        return None
    wanted = chosen(config.spec.options)
    low, high = thresholds(wanted.dev_deviation_thresholds)
    return PolicyCandidate(
        score=wanted.algorithm,
        low=float(low),
        high=float(high),
        per_node=wanted.eviction_limit_node,
        total=wanted.eviction_limit_total,
    )
