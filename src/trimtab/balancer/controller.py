"""The balancer's rounds: read, decide, write, and read again before the next migration."""

from collections import deque
from contextlib import suppress

from msgspec import structs, to_builtins

from trimtab.balancer import metrics
from trimtab.balancer.actuator import actuator_of
from trimtab.balancer.decide import Decision, decide, something_to_do
from trimtab.balancer.next_move import StartMove
from trimtab.balancer.observation import observe
from trimtab.balancer.progress import with_refusal
from trimtab.balancer.settings import NAME, BalancerSettings
from trimtab.balancer.situation import Situation
from trimtab.balancer.wire import (
    REBALANCE_PLANS,
    RebalancePlanSpec,
    RebalancePlanStatus,
    plan_name,
)
from trimtab.errors import TrimtabError
from trimtab.kube.apply import apply
from trimtab.kube.client import Client
from trimtab.kube.errors import AlreadyExists, NotFound
from trimtab.kube.events import EventRecorder
from trimtab.kube.resources import Key
from trimtab.kube.runtime.controller import After, Controller, Outcome
from trimtab.kube.worlds import World
from trimtab.obs import get_logger

log = get_logger()
ROUND = Key("", "round")
PASSES = 50
"""Reads and writes of one round: each plan, status and migration takes one of them."""
UNDER_WAY_S = 5.0
"""While a plan is carried out the cluster is looked at more often."""


class Balancer(Controller):
    """One round after the other; nothing but the hold's count is kept between them."""

    def __init__(
        self,
        client: Client,
        recorder: EventRecorder,
        settings: BalancerSettings,
        *,
        reading: Client,
        world: World,
    ) -> None:
        """`client` writes, only while it leads; `reading` always may."""
        super().__init__(NAME, self.reconcile, workers=1)
        self.begin_with(lambda: (ROUND,))
        self._client, self._reading, self._recorder = client, reading, recorder
        self._settings, self._world = settings, world
        self._actuator = actuator_of(client, world, settings)
        self._to_do: deque[bool] = deque(maxlen=settings.limits.hold_of)
        self._troubled = 0
        self._told = ""

    async def run(self) -> None:
        """Work while this process leads; what it counted when it last did is forgotten."""
        self._to_do.clear()
        self._troubled = 0
        await super().run()

    async def reconcile(self, _: Key) -> Outcome:
        """One round."""
        try:
            seconds = await self._round()
        except (TrimtabError, TimeoutError):
            self._troubled += 1
            raise
        self._troubled = 0
        return After(seconds)

    async def _round(self) -> float:
        """Passes until nothing is left to write now; the seconds until the next round."""
        under_way = False
        for number in range(PASSES):
            seen = await observe(self._reading, self._world, self._settings, self._troubled)
            s = seen.situation
            if s is None:
                break
            if number == 0:
                self._to_do.append(something_to_do(s))
                metrics.tell_learnt(s)
            s = structs.replace(s, to_do=tuple(self._to_do))
            decision = decide(s)
            metrics.tell_state(decision, self._to_do[-1])
            self._tell(decision)
            await self._carry_out(s, decision)
            under_way = any(not plan.over and plan.spec.approved for plan in s.plans)
            if decision.start is None and decision.create is None:
                break
        interval_s = self._settings.interval_s
        wait_s = min(interval_s, UNDER_WAY_S) if under_way else interval_s
        return max(1.0, seen.clock.real_s(wait_s))

    def _tell(self, decision: Decision) -> None:
        if decision.text != self._told:
            log.info("round decided", outcome=decision.text)
            self._told = decision.text

    async def _carry_out(self, s: Situation, decision: Decision) -> None:
        """Everything in an order in which being killed after any part does no harm."""
        for each in decision.withdraw:
            await self._actuator.withdraw(each.migration, each.vm.partition("/")[0])
        await self._actuator.label(decision.cool, s.cool)
        records = dict(decision.records)
        if decision.start is not None and (refusal := await self._start(decision.start)):
            name = decision.start.plan.metadata.name
            status = records.get(name, decision.start.plan.status)
            records[name] = with_refusal(status, decision.start.move.vm, refusal)
        for name, status in records.items():
            await self._record(s, name, status)
        if decision.create is not None:
            await self._create(decision.create)
        for name in decision.forget:
            with suppress(NotFound):
                await self._client.delete(REBALANCE_PLANS, name)

    async def _start(self, start: StartMove) -> str:
        """Begin a move; why the API server refuses it, if it does."""
        answer = await self._actuator.start(start)
        if not answer.created:
            return answer.refusal
        move, chosen = start.move, len(start.targets)
        metrics.started.inc()
        log.info("migration requested", vm=move.vm, source=move.source, target=move.target)
        others = f", or one of {chosen - 1} other nodes" if chosen > 1 else ""
        self._recorder.record(
            REBALANCE_PLANS.reference(start.plan),
            "MoveStarted",
            f"{move.vm} moves from {move.source} to {move.target}{others}: {move.why}",
        )
        return ""

    async def _create(self, spec: RebalancePlanSpec) -> None:
        body = {"metadata": {"name": plan_name(spec.plan_id)}, "spec": to_builtins(spec)}
        with suppress(AlreadyExists):
            await self._client.create(REBALANCE_PLANS, body)
        log.info("plan made", plan=plan_name(spec.plan_id), mode=spec.mode, moves=len(spec.moves))

    async def _record(self, s: Situation, name: str, status: RebalancePlanStatus) -> None:
        plan = next(each for each in s.plans if each.metadata.name == name)
        body = {"metadata": {"name": name}, "status": to_builtins(status)}
        with suppress(NotFound):  # somebody deleted the plan: there is nothing to record
            await apply(self._client, REBALANCE_PLANS, body, subresource="status", force=True)
        metrics.tell_change(plan, status)
        if status.phase != plan.status.phase:
            warning = status.phase in ("Paused", "Failed")
            self._recorder.record(
                REBALANCE_PLANS.reference(plan),
                f"Plan{status.phase}",
                status.message or status.moved,
                type="Warning" if warning else "Normal",
            )
