"""RebalancePlan on the wire: what the balancer proposes, and the record of what happened.

The spec never changes but for `approvedPlan` and `cancelled`, which people write; the status
is the balancer's. Loads and gains are points (percent of a node).
"""

from datetime import datetime
from hashlib import sha256
from typing import Literal

import msgspec

from trimtab.balance.plan import Goal
from trimtab.kube.resources import Kind, Object, Wire
from trimtab.kube.virtual_machines import GROUP, VERSION

Mode = Literal["observe", "propose", "act"]
PlanPhase = Literal[
    "Proposed", "Approved", "Running", "Paused", "Completed", "Failed", "Cancelled", "Expired"
]
MoveOutcome = Literal["Waiting", "Running", "Succeeded", "Failed", "Cancelled", "Skipped"]
OVER: frozenset[str] = frozenset(("Completed", "Failed", "Cancelled", "Expired"))
MOVED: frozenset[str] = frozenset(("Succeeded", "Failed", "Cancelled", "Skipped"))
ACKNOWLEDGED = "trimtab.dev/acknowledged"
"""Annotation of a plan: its failures are known and pause nobody any more."""
MOST_MOVES = 500
"""A plan has at most so many moves: an object of the API has a limit, and so has a reader."""


class PlannedMove(Wire, frozen=True):
    """One migration of a plan, in the planner's words; `vm` is namespace/name."""

    vm: str = ""
    source: str = ""
    target: str = ""
    goal: Goal = "level"
    why: str = ""
    gain: float = 0.0
    seconds: float = 0.0
    bytes: float = 0.0
    chain: int = 0


class RebalancePlanSpec(Wire, frozen=True):
    mode: Mode = "observe"
    plan_id: str = ""
    made_at: datetime | None = None
    moves: tuple[PlannedMove, ...] = ()
    excess_before: float = 0.0
    excess_after: float = 0.0
    least_moves: int = 0
    """What any balancer needs at least; 0 if nothing was proved."""
    transfer_rate: float = 0.0
    """Bytes a second that the predicted seconds assume."""
    rate_from: str = ""
    """Where that rate comes from."""
    undoes: str = ""
    approved_plan: str = ""
    cancelled: bool = False

    @property
    def approved(self) -> bool:
        """Exactly this plan may be carried out: by its mode, or because somebody said so."""
        return self.mode == "act" or (self.mode == "propose" and self.approved_plan == self.plan_id)


class MoveStatus(Wire, frozen=True):
    """What became of one move; `node` is where the scheduler put the VM."""

    vm: str = ""
    outcome: MoveOutcome = "Waiting"
    migration: str = ""
    node: str = ""
    actual_seconds: float = 0.0
    reason: str = ""


class RebalancePlanStatus(Wire, frozen=True):
    phase: PlanPhase | Literal[""] = ""
    reason: str = ""
    message: str = ""
    moves: tuple[MoveStatus, ...] = ()
    moved: str = ""
    """How many of how many, for a column."""
    excess_now: float = 0.0
    gained: float = 0.0
    moves_by_others: int = 0
    ended_at: datetime | None = None


class RebalancePlan(Object, frozen=True):
    spec: RebalancePlanSpec = RebalancePlanSpec()
    status: RebalancePlanStatus = RebalancePlanStatus()

    @property
    def over(self) -> bool:
        return self.status.phase in OVER


REBALANCE_PLANS = Kind(
    GROUP, VERSION, "rebalanceplans", "RebalancePlan", RebalancePlan, namespaced=False
)


def plan_id(mode: Mode, made_at: datetime, moves: tuple[PlannedMove, ...]) -> str:
    """What approval refers to: another move, order or moment is another plan."""
    return sha256(msgspec.json.encode((mode, made_at, moves))).hexdigest()[:16]


def plan_name(identity: str) -> str:
    return f"plan-{identity[:10]}"


def migration_name(identity: str, vm: str) -> str:
    """The same for every attempt to start this move: the second creation is refused."""
    return f"balance-{sha256(f'{identity} {vm}'.encode()).hexdigest()[:16]}"
