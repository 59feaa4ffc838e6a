"""Stamps: computed when a pod is created, and again when its account or time says otherwise.

A stamp stays as it is until a sibling is created, bound or ends, the SLO changes, the pod
becomes urgent or grows old, or the deadline has moved by the tolerance. All stamps of an account
are made at one moment, so its pods keep their order among each other.

What counts for the order is the account without the waiting of pods that cannot run anyway:
otherwise a thousand replicas that fit nowhere would earn a place for the one that does.
"""

from msgspec import Struct, structs

from trimtab.qos.ledger.account import Account, AccountOwner
from trimtab.qos.ledger.pod_life import LifePod
from trimtab.qos.ledger.time_to_violation import AccountGrowth, faded_span, time_to_violation
from trimtab.qos.queue.key import (
    ANNOTATION,
    PodSituation,
    Stamp,
    StampDecision,
    horizon_of,
    parse,
    queue_key,
)
from trimtab.qos.queue.obstacle import Obstacles
from trimtab.qos.settings import QosSettings
from trimtab.qos.tracking.tracker import AccountTracker


class WaitingPod(Struct, frozen=True):
    """A waiting pod and the stamp that it should have."""

    pod: LifePod
    decision: StampDecision

    @property
    def stamp(self) -> Stamp | None:
        """The stamp that it has."""
        return parse(self.pod.metadata.annotations.get(ANNOTATION, ""))


class Stamper:
    def __init__(self, tracker: AccountTracker, settings: QosSettings) -> None:
        self._tracker = tracker
        self._settings = settings
        self._horizons = tuple(horizon_of(settings, is_vm=is_vm) for is_vm in (False, True))
        self.obstacles = Obstacles(tracker.stores.nodes.store)

    def is_ours(self, pod: LifePod) -> bool:
        """Whether the pod is one for our scheduler."""
        chosen = self._settings.scheduler_names
        return pod.spec.scheduler_name in chosen and self._tracker.counts(pod)

    def stampable(self, pod: LifePod) -> bool:
        """Whether it also waits for it."""
        waits = not pod.spec.node_name and pod.metadata.deletion_timestamp is None
        return waits and self.is_ours(pod)

    def at_creation(self, pod: LifePod) -> StampDecision:
        """The stamp of a pod that is about to exist."""
        owner = self._tracker.stores.owner_of(pod)
        now = self._tracker.now()
        account = self._tracker.ledger.accounts.get(owner.uid) or Account(owner)
        claim = self._claim(account, now)
        if not (owner.is_vm and claim.pace.running):
            waiting = 1 if owner.is_vm else claim.pace.waiting + 1
            claim = structs.replace(claim, pace=AccountGrowth(claim.pace.running, waiting))
        slo = self._tracker.promise_of(owner, pod, asked=True).slo
        return self._decide(account.owner, claim, slo, now, now)

    def waiting_pods(self, account: Account, now: int) -> list[WaitingPod]:
        """The waiting pods of an account with their stamps as of now."""
        members = self._tracker.members.get(account.owner.uid, {})
        if not account.waiting_pods:
            return []
        claim, slo = self._claim(account, now), self._tracker.promise(account).slo
        return [
            WaitingPod(
                members[life.uid], self._decide(account.owner, claim, slo, life.created, now)
            )
            for life in account.waiting_pods
            if life.uid in members and self.stampable(members[life.uid])
        ]

    def _claim(self, account: Account, now: int) -> "QueueClaim":
        """The account without the pods that cannot run at the moment; a VM is one unit."""
        reading = account.at(now)
        if account.owner.is_vm:
            return QueueClaim(reading.credited, reading.charged, reading.pace)
        members = self._tracker.members.get(account.owner.uid, {})
        idle = [
            life.created if life.ungated is None else life.ungated
            for life in account.waiting_pods
            if life.uid in members and self.obstacles.of(members[life.uid])
        ]
        half_life = self._tracker.ledger.half_life
        unearned = sum(faded_span(min(since, now), now, now, half_life) for since in idle)
        pace = AccountGrowth(reading.pace.running, max(0, reading.pace.waiting - len(idle)))
        return QueueClaim(reading.credited, max(0, reading.charged - round(unearned)), pace)

    def _decide(
        self, owner: AccountOwner, claim: "QueueClaim", slo: float, created: int, now: int
    ) -> StampDecision:
        ttv = time_to_violation(claim.credited, claim.charged, slo)
        situation = PodSituation(now, created, ttv, slo, claim.pace)
        return queue_key(situation, self._horizons[owner.is_vm])


class QueueClaim(Struct, frozen=True):
    """What counts for an account's place in the queue."""

    credited: int
    charged: int
    pace: AccountGrowth
