"""Stamps: computed when a pod is created, and again when its account or time says otherwise.

A stamp stays as it is until a sibling is created, bound or ends, the SLO changes, the pod
becomes urgent or grows old, or the deadline has moved by the tolerance. All stamps of an account
are made at one moment, so its pods keep their order among each other.

What counts for the order is the account without the waiting of pods that cannot run anyway:
otherwise a thousand replicas that fit nowhere would earn a place for the one that does.
"""

from collections.abc import Callable

from msgspec import Struct, structs

from trimtab.kube.client import Client
from trimtab.kube.errors import Conflict, NotFound
from trimtab.kube.resources import PODS, Key
from trimtab.kube.runtime.controller import After, Done, Outcome
from trimtab.obs import get_logger
from trimtab.qos.ledger.account import Account, Owner
from trimtab.qos.ledger.pod_life import LifePod
from trimtab.qos.queue.key import (
    ANNOTATION,
    Decision,
    Horizon,
    Situation,
    Stamp,
    differs,
    parse,
    queue_key,
)
from trimtab.qos.queue.obstacle import Obstacles
from trimtab.qos.queue.time_to_violation import SECOND, Pace, faded_span, time_to_violation
from trimtab.qos.service.keeper import Keeper
from trimtab.qos.service.metrics import restamps
from trimtab.qos.settings import Settings

log = get_logger()
REST = SECOND // 20
"""For each stamp written an account rests so long: a thousand siblings are not stamped anew
each time that one of them is bound."""


class Seat(Struct, frozen=True):
    """A waiting pod and the stamp that it should have."""

    pod: LifePod
    decision: Decision


class Stamper:
    def __init__(self, keeper: Keeper, settings: Settings, now: Callable[[], int]) -> None:
        self._keeper = keeper
        self._settings = settings
        self._now = now
        self.obstacles = Obstacles(keeper.stores.nodes.store)

    def is_ours(self, pod: LifePod) -> bool:
        """Whether the pod is one for our scheduler."""
        chosen = self._settings.scheduler_names
        return pod.spec.scheduler_name in chosen and self._keeper.counts(pod)

    def stampable(self, pod: LifePod) -> bool:
        """Whether it also waits for it."""
        waits = not pod.spec.node_name and pod.metadata.deletion_timestamp is None
        return waits and self.is_ours(pod)

    def at_creation(self, pod: LifePod) -> Decision:
        """The stamp of a pod that is about to exist."""
        owner = self._keeper.stores.owner_of(pod)
        now = self._now()
        account = self._keeper.ledger.accounts.get(owner.uid) or Account(owner)
        claim = self._claim(account, now)
        if not (owner.is_vm and claim.pace.running):
            waiting = 1 if owner.is_vm else claim.pace.waiting + 1
            claim = structs.replace(claim, pace=Pace(claim.pace.running, waiting))
        slo = self._keeper.promise_of(owner, pod, asked=True).slo
        return self._decide(account.owner, claim, slo, now, now)

    def seats(self, account: Account, now: int) -> list[Seat]:
        """The waiting pods of an account with their stamps as of now."""
        members = self._keeper.members.get(account.owner.uid, {})
        if not account.waiting_pods:
            return []
        claim, slo = self._claim(account, now), self._keeper.promise(account).slo
        return [
            Seat(members[life.uid], self._decide(account.owner, claim, slo, life.created, now))
            for life in account.waiting_pods
            if life.uid in members and self.stampable(members[life.uid])
        ]

    def horizon(self, owner: Owner) -> Horizon:
        chosen = self._settings
        margin = chosen.vm_margin_s if owner.is_vm else chosen.safety_margin_s
        return Horizon(
            round(margin * SECOND),
            round(chosen.ageing_s * SECOND),
            self._keeper.ledger.half_life,
            round(chosen.max_debt_s * SECOND),
        )

    def _claim(self, account: Account, now: int) -> "Claim":
        """The account without the pods that cannot run at the moment; a VM is one unit."""
        reading = account.at(now)
        if account.owner.is_vm:
            return Claim(reading.credited, reading.charged, reading.pace)
        members = self._keeper.members.get(account.owner.uid, {})
        idle = [
            life.created if life.ungated is None else life.ungated
            for life in account.waiting_pods
            if life.uid in members and self.obstacles.of(members[life.uid])
        ]
        half_life = self._keeper.ledger.half_life
        unearned = sum(faded_span(min(since, now), now, now, half_life) for since in idle)
        pace = Pace(reading.pace.running, max(0, reading.pace.waiting - len(idle)))
        return Claim(reading.credited, max(0, reading.charged - round(unearned)), pace)

    def _decide(self, owner: Owner, claim: "Claim", slo: float, created: int, now: int) -> Decision:
        ttv = time_to_violation(claim.credited, claim.charged, slo)
        situation = Situation(now, created, ttv, slo, slo, claim.pace)
        return queue_key(situation, self.horizon(owner))


class Claim(Struct, frozen=True):
    """What counts for an account's place in the queue."""

    credited: int
    charged: int
    pace: Pace


class Restamper:
    """The controller's turn: an account's pods get the stamps that they should have."""

    def __init__(self, client: Client, stamper: Stamper, keeper: Keeper) -> None:
        self._client = client
        self._stamper = stamper
        self._keeper = keeper
        self._rested_at: dict[str, int] = {}

    async def reconcile(self, key: Key) -> Outcome:
        account = self._keeper.ledger.accounts.get(key.name)
        if account is None:
            self._rested_at.pop(key.name, None)
            return Done()
        now = self._keeper.now()
        seats = self._stamper.seats(account, now)
        due = [seat for seat in seats if self._is_due(seat, now)]
        rested_at = self._rested_at.get(key.name, 0)
        if now < rested_at:
            for seat in due:
                if _stamp(seat) is None:
                    await self._write(seat)
            return After((rested_at - now) / SECOND) if due else self._later(seats, now)
        for seat in due:
            await self._write(seat)
        self._rested_at[key.name] = now + len(due) * REST
        return self._later(seats, now)

    def _is_due(self, seat: Seat, now: int) -> bool:
        return differs(_stamp(seat), seat.decision.stamp, now)

    def _later(self, seats: list[Seat], now: int) -> Outcome:
        """When time alone will change one of the stamps."""
        again = [seat.decision.again_at for seat in seats if seat.decision.again_at is not None]
        return After(max(0.05, (min(again) - now) / SECOND)) if again else Done()

    async def _write(self, seat: Seat) -> None:
        meta = seat.pod.metadata
        patch = {
            "metadata": {"uid": meta.uid, "annotations": {ANNOTATION: str(seat.decision.stamp)}}
        }
        try:
            await self._client.patch(PODS, meta.name, patch, meta.namespace)
        except (NotFound, Conflict):
            return  # gone, or another one by now
        restamps.inc()
        log.debug("pod stamped", pod=str(meta.key), stamp=str(seat.decision.stamp))


def _stamp(seat: Seat) -> Stamp | None:
    """The one that it has."""
    return parse(seat.pod.metadata.annotations.get(ANNOTATION, ""))
