"""Keeps the ledger equal to the cluster: changes in the stores become entries.

Until the ledger is rebuilt from its checkpoints, what the stores tell is put aside; then it is
taken in, and twice does no harm. The order of this file is the order of an account's life: a pod
is seen, its owner found, its promise read; pods and owners go.
"""

from collections.abc import Callable, Iterable

from trimtab.kube.resources import Namespace, ObjectMeta, OwnerReference, metadata
from trimtab.obs import get_logger
from trimtab.qos.ledger.account import Account, AccountOwner
from trimtab.qos.ledger.ledger import Ledger
from trimtab.qos.ledger.pod_life import MIRROR, STAMP, Incarnation, LifePod
from trimtab.qos.ledger.pod_moments import Observation, changed_at, created_at, life_of
from trimtab.qos.ledger.spans import Counting
from trimtab.qos.ledger.time_to_violation import SECOND
from trimtab.qos.promise import (
    LEGACY_CONTROLLER,
    Declarations,
    Promise,
    PromiseTerms,
    capped,
    ceiling_of,
    nearest_promise,
)
from trimtab.qos.settings import QosSettings
from trimtab.qos.tracking.stores import THROUGH, AnyVm, PauseDetector, QosStores

log = get_logger()
ORPHANED = 3600 * SECOND
"""An account whose owner is not watched is dropped after so long without pods."""
YOUNG = 60 * SECOND


class AccountTracker:
    """The ledger, the pods of each account that there are, and what was promised to it."""

    def __init__(self, stores: QosStores, settings: QosSettings, now: Callable[[], int]) -> None:
        self.stores = stores
        self.now = now
        self.ledger = Ledger(
            Counting(
                round(settings.half_life_s * SECOND),
                settings.charge_binding,
                settings.running_when == "ready",
            )
        )
        self.stamped_at: dict[str, int] = {}
        """When a pod's stamp was last seen to change."""
        self.members: dict[str, dict[str, LifePod]] = {}
        self.pauses = PauseDetector()
        self.ready = False
        self._excluded = frozenset(settings.excluded)
        self.limits = settings.limits
        self._terms = PromiseTerms(settings.default_slo, settings.class_slo, settings.legacy)
        self._promises: dict[str, Promise] = {}
        self.complaints: dict[AccountOwner, str] = {}
        """SLOs that could not be read, and why."""
        self.on_change: Callable[[str], None] = lambda _: None
        """Called with the uid of an account that came, went, or may need other stamps."""
        self.replaying_from: int | None = 0
        """The version of the pods from which the past is replayed; None: changes are live."""
        self._aside: list[tuple[LifePod | None, LifePod | None, int, int]] = []

    def follow(self) -> None:
        """Listen to the stores from now on."""
        self.stores.pods.store.subscribe(self._pod_changed)
        self.stores.namespaces.store.subscribe(self._namespace_changed)
        for reflector in self.stores.owners:
            reflector.store.subscribe(self._owner_changed)
        for reflector in self.stores.vms:
            reflector.store.subscribe(self._vm_changed)

    def open(self) -> None:
        """The ledger is rebuilt: take in what happened meanwhile, and everything after it."""
        self.ready = True
        for pod in self.stores.pods.store:
            self._see(pod, life_of(pod), Observation(changed_at(pod), self.now(), witnessed=False))
        waiting, self._aside = self._aside, []
        for each in waiting:
            self._take(*each)
        for reflector in self.stores.vms:
            for vm in reflector.store:
                self._vm_changed(None, vm)

    # Pods

    def _pod_changed(self, old: LifePod | None, new: LifePod | None) -> None:
        now, unseen = self.now(), round(self.stores.pods.gap_s * SECOND)
        if new is None:  # nothing says when an object was removed
            unseen = max(unseen, self.pauses.unseen(now))
        if self.ready:
            self._take(old, new, now, unseen)
        elif self.stores.pods.synced.is_set():  # the first list is read by `open`
            self._aside.append((old, new, now, unseen))

    def _take(self, old: LifePod | None, new: LifePod | None, at: int, unseen: int) -> None:
        if new is not None and unseen:
            self._see(
                new, life_of(new), Observation(changed_at(new), at, at - unseen, witnessed=False)
            )
        elif new is not None:
            self._see(new, life_of(new, at), Observation(changed_at(new, at), at))
        elif old is not None:
            self.lose(old, at, unseen)

    def _see(self, pod: LifePod, life: Incarnation, sight: Observation) -> None:
        if not self.counts(pod):
            return
        owner = self.owner_of(pod)
        self._leave(pod, owner)
        self._join(owner, pod)
        self._promises.pop(owner.uid, None)
        self.ledger.observe(life, owner, sight, provisional=self.is_provisional(owner))
        self.on_change(owner.uid)

    def _leave(self, pod: LifePod, owner: AccountOwner) -> None:
        """If the pod was a member of another account, it is not any more."""
        before = self.ledger.of_pod(pod.metadata.uid)
        if before is None or before.owner.uid == owner.uid:
            return
        left = before.owner.uid
        if before.provisional:
            self.members.setdefault(owner.uid, {}).update(self.members.pop(left, {}))
        else:
            self.members.get(left, {}).pop(pod.metadata.uid, None)
        self._promises.pop(left, None)
        self.on_change(left)

    def owner_of(self, pod: LifePod) -> AccountOwner:
        """Whose account it is; a ReplicaSet that is gone says nothing about who was above it."""
        owner, before = self.stores.owner_of(pod), self.ledger.of_pod(pod.metadata.uid)
        return before.owner if before is not None and self.is_provisional(owner) else owner

    def is_provisional(self, owner: AccountOwner) -> bool:
        """Whether somebody above it may turn up."""
        return owner.kind in THROUGH and self.stores.owner_meta(owner) is None

    def _join(self, owner: AccountOwner, pod: LifePod) -> None:
        members, uid = self.members.setdefault(owner.uid, {}), pod.metadata.uid
        stamp, before = pod.metadata.annotations.get(STAMP), members.get(uid)
        if stamp and (before is None or before.metadata.annotations.get(STAMP) != stamp):
            self.stamped_at[uid] = self.now()
        members[uid] = pod

    def lose(self, pod: LifePod, at: int, unseen: int = 0) -> None:
        """A pod's object is gone; nobody looked for `unseen` nanoseconds."""
        uid = pod.metadata.uid
        self.stamped_at.pop(uid, None)
        account = self.ledger.of_pod(uid)
        if account is not None:
            self.members.get(account.owner.uid, {}).pop(uid, None)
            self._promises.pop(account.owner.uid, None)
            final = life_of(pod)
            if final.is_over:
                self.ledger.observe(
                    final, account.owner, Observation(changed_at(pod), at, at - unseen)
                )
        if unseen:
            self.ledger.lost(uid, at - unseen, at)
        self.ledger.gone(uid, at)
        if account is not None:
            self.tidy(account, at)
            self.on_change(account.owner.uid)

    def counts(self, pod: LifePod) -> bool:
        """Static pods and what runs the cluster have no account."""
        meta = pod.metadata
        return meta.namespace not in self._excluded and MIRROR not in meta.annotations

    # Owners

    def _owner_changed(self, old: object | None, new: object | None) -> None:
        if not self.ready:
            return
        meta = metadata(new if new is not None else old)
        if meta.uid in self.ledger.accounts:
            self._promises.pop(meta.uid, None)
            self.on_change(meta.uid)
            if new is None:
                self.tidy(self.ledger.accounts[meta.uid], self.now())
            elif meta.controller is None:
                self.ledger.accounts[meta.uid].provisional = False  # nobody is above it
        before = metadata(old).controller if old is not None else None
        if new is not None and before != meta.controller:
            self._move_pods(meta, before)

    def _move_pods(self, meta: ObjectMeta, before: OwnerReference | None) -> None:
        """The controller above an owner is known, or is another one: its pods move with it."""
        now = self.now()
        for uid in (meta.uid, before.uid if before is not None else ""):
            for pod in list(self.members.get(uid, {}).values()):
                direct = pod.metadata.controller
                if direct is not None and direct.uid == meta.uid:
                    self._see(pod, life_of(pod), Observation(now, now))

    def _namespace_changed(self, old: Namespace | None, new: Namespace | None) -> None:
        if old is not None and new is not None:
            before, after = old.metadata, new.metadata
            if (before.labels, before.annotations) == (after.labels, after.annotations):
                return
        name = metadata(new if new is not None else old).name
        for account in self.ledger.accounts.values():
            if account.owner.namespace == name:
                self._promises.pop(account.owner.uid, None)
                self.on_change(account.owner.uid)

    def _vm_changed(self, old: AnyVm | None, new: AnyVm | None) -> None:
        if not self.ready:
            return
        self._owner_changed(old, new)
        if new is None or new.metadata.namespace in self._excluded:
            return
        meta, now = new.metadata, self.now()
        account = self.ledger.accounts.get(meta.uid)
        created = created_at(meta)
        if account is None:
            if now - created > YOUNG or not new.wanted:
                return  # its past is not known: it begins with its first pod
            account = self.ledger.account(new.owner)
            account.begin(created)
            self.on_change(meta.uid)
        lives = any(pod.ended is None for pod in account.pods.values())
        # stopped unseen: it was when its last pod ended
        account.want(new.wanted, now if new.wanted or lives else account.latest())

    def tidy(self, account: Account, now: int) -> None:
        """Settle what is over; drop the account when its owner and all its pods are gone."""
        owner = account.owner
        account.settle(now, self.members.get(owner.uid, ()))
        if self.members.get(owner.uid) or any(p.ended is None for p in account.pods.values()):
            return
        if self.stores.follows(owner):
            over = self.stores.owner_meta(owner) is None
        else:
            over = now - account.latest() > ORPHANED
        if over:
            self.ledger.drop(owner.uid)
            self.members.pop(owner.uid, None)
            self._promises.pop(owner.uid, None)
            self.complaints.pop(owner, None)
            self.on_change(owner.uid)

    # Promises

    def promise(self, account: Account) -> Promise:
        """What was promised to an account, by whoever is nearest."""
        uid = account.owner.uid
        known = self._promises.get(uid)
        if known is None:
            pod = self.newest(uid)
            known = self._promises[uid] = self.promise_of(account.owner, pod)
        return known

    def promise_of(
        self,
        owner: AccountOwner,
        pod: LifePod | None,
        *,
        asked: bool = False,
        uncapped: bool = False,
    ) -> Promise:
        """What holds for such a pod. `asked`: it may never exist, so nobody is told of mistakes."""
        above, around = self.stores.owner_meta(owner), self._around(owner)
        declared = Declarations(
            pod.metadata.annotations if pod else {},
            above.annotations if above and owner.kind != "Pod" else {},
            around,
            pod.spec.priority_class_name if pod else "",
        )
        promise, complaints = nearest_promise(declared, self._terms)
        if not uncapped:
            promise = capped(promise, self.ceiling(owner), self.limits)
        if not asked:
            self._complain(owner, "; ".join(complaints))
        return promise

    def _complain(self, owner: AccountOwner, why: str) -> None:
        if why and self.complaints.get(owner) != why:
            log.warning("SLO ignored", owner=f"{owner.namespace}/{owner.name}", why=why)
            self.complaints[owner] = why
        elif not why:
            self.complaints.pop(owner, None)

    def ceiling(self, owner: AccountOwner) -> float:
        """The highest SLO that may be promised in the owner's namespace."""
        return ceiling_of(self._around(owner), self.limits)

    def _around(self, owner: AccountOwner) -> dict[str, str]:
        """Labels and annotations of its namespace."""
        namespace = self.stores.namespaces.store.get(owner.namespace)
        return namespace.metadata.labels | namespace.metadata.annotations if namespace else {}

    def newest(self, uid: str) -> LifePod | None:
        members: Iterable[LifePod] = self.members.get(uid, {}).values()
        return max(members, key=lambda p: (created_at(p.metadata), p.metadata.uid), default=None)

    def legacy_name(self, account: Account) -> str:
        """What the bare annotation `controller` calls it; empty if there is none."""
        pod = self.newest(account.owner.uid)
        return pod.metadata.annotations.get(LEGACY_CONTROLLER, "") if pod else ""
