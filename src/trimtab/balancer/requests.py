"""What people ask of the balancer, by writing RebalancePlans: approve, cancel, resume, undo.

The balancer does the rest; the same requests can be made with kubectl.
"""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from msgspec import Struct, structs, to_builtins

from trimtab.balancer.pauses import missed
from trimtab.balancer.settings import NAME
from trimtab.balancer.wire import (
    ACKNOWLEDGED,
    REBALANCE_PLANS,
    PlannedMove,
    RebalancePlan,
    RebalancePlanSpec,
    plan_id,
    plan_name,
)
from trimtab.errors import ConfigError, NotReady
from trimtab.kube.client import Client
from trimtab.kube.errors import Forbidden, NotFound
from trimtab.kube.resources import LEASES
from trimtab.kube.virtual_machines import VMS
from trimtab.kube.worlds import world_of
from trimtab.model.names import SYSTEM_NAMESPACE
from trimtab.observe import wire

POLL_S = 0.5
HELD = timedelta(minutes=1)
"""A lease that was renewed since then has a holder; the clocks of two computers differ."""
Say = Callable[[str], None]


class Undone(Struct, frozen=True, rename="camel"):
    """The plan that takes another back, and VMs that cannot go back with the reason."""

    plan: RebalancePlan | None
    staying: dict[str, str]


class RebalanceRequests:
    """Requests about the plans of one cluster; `say` hears what is being waited for."""

    def __init__(self, client: Client, *, say: Say = lambda _: None) -> None:
        self._client, self._say = client, say

    async def all(self) -> list[RebalancePlan]:
        """All plans, the newest first."""
        try:
            found = await self._client.list(REBALANCE_PLANS)
        except NotFound as error:
            raise ConfigError(
                "this cluster knows no RebalancePlans; install the balancer (k8s/balancer), or "
                "make a lab with one: trimtab lab up --with loop --with balancer"
            ) from error
        return sorted(found, key=_made, reverse=True)

    async def get(self, name: str = "") -> RebalancePlan:
        """The plan of that name; without one the newest that is not over."""
        plans = await self.all()
        if name:
            for plan in plans:
                if name in (plan.metadata.name, plan.spec.plan_id):
                    return plan
            raise ConfigError(f"there is no plan {name}; list them: trimtab balance history")
        waiting = [plan for plan in plans if not plan.over]
        if not waiting:
            raise ConfigError("no plan is waiting or under way; see: trimtab balance history")
        return waiting[0]

    async def approve(self, name: str = "") -> RebalancePlan:
        """Let exactly this plan be carried out; the API server refuses any other planId."""
        plan = await self.get(name)
        if plan.over:
            raise ConfigError(f"{plan.metadata.name} is {plan.status.phase}: {_why(plan)}")
        if plan.spec.mode == "observe":
            raise ConfigError(
                f"{plan.metadata.name} only tells what the balancer would do; "
                "run the balancer with --mode propose to approve plans"
            )
        return await self._change(plan, {"approvedPlan": plan.spec.plan_id})

    async def cancel(self, name: str = "") -> RebalancePlan:
        """End a plan: nothing more begins, and what moves now is withdrawn."""
        plan = await self.get(name)
        if plan.over:
            raise ConfigError(f"{plan.metadata.name} is {plan.status.phase} already")
        return await self._change(plan, {"cancelled": True})

    async def resume(self) -> list[str]:
        """Say that failures and missed gains are known, so that they pause nobody any more."""
        bad = [
            plan
            for plan in await self.all()
            if plan.over and ACKNOWLEDGED not in plan.metadata.annotations and _is_bad(plan)
        ]
        for plan in bad:
            note = {"metadata": {"annotations": {ACKNOWLEDGED: "true"}}}
            await self._client.patch(REBALANCE_PLANS, plan.metadata.name, note)
        return [plan.metadata.name for plan in bad]

    async def undo(self, name: str) -> Undone:
        """A plan that moves back what can still go back, approved by whoever asks for it."""
        plan = await self.get(name)
        if not plan.over:
            raise ConfigError(
                f"{plan.metadata.name} is under way; end it first: "
                f"trimtab balance cancel {plan.metadata.name}"
            )
        moves, staying = moves_back(plan, await self._places())
        if not moves:
            return Undone(None, staying)
        now = datetime.now(UTC)
        identity = plan_id("propose", now, moves)
        spec = RebalancePlanSpec(
            mode="propose",
            plan_id=identity,
            made_at=now,
            moves=moves,
            undoes=plan.metadata.name,
            approved_plan=identity,
        )
        body = {"metadata": {"name": plan_name(identity)}, "spec": to_builtins(spec)}
        made = await self._client.create(REBALANCE_PLANS, body)
        return Undone(made, staying)

    async def _places(self) -> dict[str, str]:
        """The node of each VM, by namespace/name."""
        if await world_of(self._client) == "kubevirt":
            instances = await self._client.list(wire.INSTANCES)
            return {str(each.metadata.key): each.status.node_name for each in instances}
        return {str(vm.metadata.key): vm.status.node_name for vm in await self._client.list(VMS)}

    async def await_over(self, name: str, timeout_s: float) -> RebalancePlan:
        """Until the plan is over, whatever its end."""
        try:
            async with asyncio.timeout(timeout_s):
                while not (plan := await self.get(name)).over:
                    status = plan.status
                    self._say(" ".join(filter(None, (status.phase, status.moved, status.message))))
                    await asyncio.sleep(POLL_S)
        except TimeoutError as late:
            raise NotReady(
                f"{name} is not over after {timeout_s:.0f} s; is the balancer running, and not in "
                "mode observe? trimtab balance history"
            ) from late
        return plan

    async def _change(self, plan: RebalancePlan, spec: dict[str, object]) -> RebalancePlan:
        return await self._client.patch(REBALANCE_PLANS, plan.metadata.name, {"spec": spec})


async def acting_balancer(client: Client) -> str:
    """The newest plan of a balancer that acts now; nothing if none does, or nobody may ask.

    A balancer acts if one holds the lease and the newest plan of its own was made to act on.
    """
    try:
        plans = [plan for plan in await client.list(REBALANCE_PLANS) if not plan.spec.undoes]
        lease = await client.get(LEASES, NAME, SYSTEM_NAMESPACE)
    except (NotFound, Forbidden):
        return ""
    newest, renewed = max(plans, key=_made, default=None), lease.spec.renew_time
    if not lease.spec.holder_identity or renewed is None or newest is None:
        return ""
    is_held = datetime.now(UTC) - renewed < HELD
    return newest.metadata.name if newest.spec.mode == "act" and is_held else ""


def moves_back(
    plan: RebalancePlan, places: dict[str, str]
) -> tuple[tuple[PlannedMove, ...], dict[str, str]]:
    """The moves that take a plan back, the last one first, and why other VMs stay."""
    ended = {each.vm: each for each in plan.status.moves}
    moves, staying = [], {}
    for move in reversed(plan.spec.moves):
        done = ended.get(move.vm)
        if done is None or done.outcome != "Succeeded":
            continue
        place = places.get(move.vm, "")
        if place != done.node:
            staying[move.vm] = f"it is on {place} now" if place else "it does not run any more"
            continue
        why = f"takes back {plan.metadata.name}"
        back = structs.replace(
            move, source=done.node, target=move.source, why=why, gain=0.0, chain=0
        )
        moves.append(back)
    return tuple(moves), staying


def _is_bad(plan: RebalancePlan) -> bool:
    failed = any(move.outcome == "Failed" for move in plan.status.moves)
    return failed or (plan.status.phase == "Completed" and missed(plan))


def _why(plan: RebalancePlan) -> str:
    return plan.status.message or plan.status.moved


def _made(plan: RebalancePlan) -> datetime:
    never = datetime.min.replace(tzinfo=UTC)
    return plan.spec.made_at or plan.metadata.creation_timestamp or never
