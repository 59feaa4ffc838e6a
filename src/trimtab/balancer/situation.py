"""What a decision is made from: the cluster as it was read, its records, the limits, the time.

All times are seconds of the lab's clock, which in a cluster is the real one.
"""

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

from trimtab.balance.price import MigrationCost
from trimtab.balance.problem import Problem
from trimtab.balancer.settings import BalancerSettings
from trimtab.balancer.wire import RebalancePlan


class MigrationSeen(Struct, frozen=True, kw_only=True):
    """A migration of a VM, whoever asked for it; `plan` is the plan of ours that did."""

    name: str
    vm: str
    source: str
    target: str
    begun: float
    copying: float | None = None
    """When the copy began."""
    ended: float | None = None
    is_timed: bool = True
    """False where the copy was too short for how exactly its times are known."""
    succeeded: bool = False
    reason: str = ""
    plan: str = ""
    uid: str = ""
    scheduled: bool = True
    """False while the scheduler has not chosen a node; `target` is then what was planned."""


class Situation(Struct, frozen=True, kw_only=True, eq=False):
    """Everything that one round knows."""

    now: float
    moment: datetime
    """The same moment as the API writes it."""
    times: Mapping[str, float]
    """By plan: when it was made, by the lab's clock."""
    ended: Mapping[str, float]
    """By plan that is over: when it ended."""
    problem: Problem
    """As it was read: VMs that move stand at their targets, see `in_flight`."""
    migrations: tuple[MigrationSeen, ...] = ()
    plans: tuple[RebalancePlan, ...] = ()
    settings: BalancerSettings
    cost: MigrationCost = MigrationCost()
    to_do: tuple[bool, ...] = ()
    """Of the last rounds, this one included: was something above the band?"""
    loads_age_s: float = 0.0
    draining: tuple[str, ...] = ()
    """Cordoned nodes that VMs are leaving."""
    chooses_from_set: bool = False
    """A move names a set of nodes, and the scheduler chooses: KubeVirt's migrations."""
    cool: frozenset[str] = frozenset()
    """Nodes that have the label of targets now."""
    second_balancer: str = ""
    """Where an enabled LowNodeUtilization was found."""
    troubled: int = 0
    """Rounds just before this one in which the API server did not answer as it should."""
