"""After a restart: accounts from their checkpoints, and what happened since from a watch.

A pod that is still there tells its own story. One that vanished is found in the watch from the
checkpoint's resourceVersion on. If the API server has forgotten that far back (410), the pod
counts until it was last seen, and the time since is noted on the account as a gap. So it is on
every account whose pods may have come and gone meanwhile.
"""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing

from msgspec import Struct

from trimtab.kube.client import Client
from trimtab.kube.codec import WatchEvent
from trimtab.kube.errors import ApiError, Expired, NotFound
from trimtab.obs import get_logger
from trimtab.qos.ledger.account import Account, AccountOwner
from trimtab.qos.ledger.pod_life import LIFE_PODS, LifePod
from trimtab.qos.ledger.pod_moments import Observation, created_at, life_of, newest_moment
from trimtab.qos.ledger.time_to_violation import SECOND
from trimtab.qos.tracking.tracker import AccountTracker
from trimtab.qos.wire import QOS_ACCOUNTS, QosAccount, read_back

log = get_logger()
TURN_S = 3  # the API server says how far a watch has come two seconds before its end
PAUSE_S = 0.2
LONGEST_S = 60.0


class RebuildOutcome(Struct, frozen=True):
    """What became of the checkpoints."""

    accounts: int = 0
    replayed: int = 0
    lost: int = 0
    """Pods whose end has no known time."""
    gap: bool = False
    """The watch could not be continued."""
    as_of: int = 0
    """The newest checkpoint."""


class Checkpoint(Struct, frozen=True):
    account: Account
    version: int
    complete: int
    as_of: int


class Rebuild:
    def __init__(self, client: Client, tracker: AccountTracker) -> None:
        self._client = client
        self._tracker = tracker
        self._known: dict[str, Checkpoint] = {}
        self._stream_clock = 0
        self._vanished: dict[str, int] = {}
        """Pods whose objects were removed, and the last moment before that."""
        self._replayed = 0

    @property
    def owners(self) -> list[AccountOwner]:
        """Those who had a checkpoint."""
        return [each.account.owner for each in self._known.values()]

    async def run(self) -> RebuildOutcome:
        """Make the tracker's ledger what it would be if the service had run all the time."""
        for stored in await self._stored():
            self._adopt(stored)
        tracker = self._tracker
        tracker.replaying_from = self._start() if self._known else tracker.stores.pod_version()
        gap = not await self._replay() if self._known else False
        told_until, told = self._stream_clock, self._gaps()
        self._advance(self._tracker.now(), None)
        self._skip_what_is_in_the_sums()
        self._tracker.open()  # it has heard of those that ended during the replay
        lost = self._close_vanished()
        if gap:
            self._note_unwatched(told_until, told)
        tracker.replaying_from = None
        as_of = max((each.as_of for each in self._known.values()), default=0)
        return RebuildOutcome(len(self._known), self._replayed, lost, gap, as_of)

    async def _stored(self) -> Sequence[QosAccount]:
        try:
            return await self._client.list(QOS_ACCOUNTS)
        except NotFound:
            log.warning("no QosAccounts here", what_to_do="apply k8s/qos: nothing is kept")
            return ()

    def _adopt(self, stored: QosAccount) -> None:
        owner, ledger = stored.spec.owner, stored.status.ledger
        if owner is None or not ledger.as_of:
            return
        account = read_back(owner, ledger, self._tracker.ledger.counting)
        self._tracker.ledger.adopt(account)
        self._known[owner.uid] = Checkpoint(
            account,
            int(ledger.resource_version or 0),
            int(ledger.complete_version or 0),
            ledger.as_of,
        )

    # What happened since

    async def _replay(self) -> bool:
        """Watch from the checkpoints to what the stores know; false if that is not possible."""
        version, target = self._start(), self._tracker.stores.pod_version()
        try:
            async with asyncio.timeout(LONGEST_S):
                while version < target:
                    version = await self._watch(version, target)
        except (Expired, TimeoutError) as error:
            log.warning("watch not continued", since=version, until=target, error=str(error))
            return False
        return True

    def _start(self) -> int:
        """Up to here everything is in one checkpoint or another."""
        known = self._known.values()
        return max(each.complete for each in known) or min(each.version for each in known)

    async def _watch(self, version: int, target: int) -> int:
        """A turn of watching from `version`; how far it came.

        Silence does not say that all was told: only a version does, of an event or a bookmark.
        """
        before = version
        params: dict[str, str | int] = {
            "resourceVersion": str(version),
            "allowWatchBookmarks": "true",
            "timeoutSeconds": TURN_S,
        }
        try:
            async with aclosing(self._client.watch(LIFE_PODS, None, params, LONGEST_S)) as batches:
                async for batch in batches:
                    for event in batch:
                        told = int(event.object.metadata.resource_version or 0)
                        version = max(version, told)
                        if told <= target:  # the stores have the rest
                            self._take(event)
                    if version >= target:
                        break
        except Expired:
            raise
        except ApiError as error:
            log.warning("watch interrupted", error=str(error))
        if version == before:
            await asyncio.sleep(PAUSE_S)
        return version

    def _take(self, event: WatchEvent[LifePod]) -> None:
        pod, ledger = event.object, self._tracker.ledger
        if event.type == "BOOKMARK":
            return
        uid, owner = pod.metadata.uid, self._tracker.owner_of(pod)
        self._advance(newest_moment(pod), owner if event.type == "ADDED" else None)
        known = self._known.get(owner.uid)
        version = int(pod.metadata.resource_version or 0)
        if not self._tracker.counts(pod):
            return
        if known is not None and version <= known.version:  # it is in the checkpoint
            ledger.release(uid, owner, self._stream_clock)
            return
        self._replayed += 1
        # the stream is in order: it happened after all that was told before
        clock = max(self._stream_clock, known.as_of if known else 0)
        sight = Observation(clock, self._tracker.now(), clock)
        account = ledger.of_pod(uid)
        there = self._known.get(account.owner.uid) if account is not None else None
        elsewhere = there is not None and version <= there.version
        if elsewhere or (account is None and clock + SECOND <= ledger.left_at(uid)):
            ledger.observe_past(life_of(pod), owner, sight)
            return
        provisional = self._tracker.is_provisional(owner)
        ledger.observe(life_of(pod), owner, sight, provisional=provisional)
        if event.type == "DELETED":
            self._vanished[uid] = clock

    def _advance(self, clock: int, comes: AccountOwner | None) -> None:
        """Time has come to `clock`, at which a pod of `comes` was created.

        An object's removal has no time of its own: it was between the events before and after,
        and if they are far apart, that is a gap. A controller replaces its pod at once.
        """
        if clock <= self._stream_clock:
            return
        ledger, vanished = self._tracker.ledger, self._vanished
        self._stream_clock, self._vanished = clock, {}
        for uid, since in vanished.items():
            account = ledger.of_pod(uid)
            replaced = account is not None and account.owner == comes
            if clock - since > SECOND:  # the grain of the API's times
                ledger.lost(uid, since, clock, ended=clock if replaced else since)
            ledger.gone(uid, max(since, clock) if replaced else since)

    # What happened unseen

    def _close_vanished(self) -> int:
        present = {pod.metadata.uid for pod in self._tracker.stores.pods.store}
        now, lost = self._tracker.now(), 0
        ledger = self._tracker.ledger
        ledger.prune(present)
        for account in list(ledger.accounts.values()):
            known = self._known.get(account.owner.uid)
            until = known.as_of if known is not None else self._stream_clock
            for uid in account.pods.keys() - present:
                lost += ledger.lost(uid, until, now)
        return lost

    def _gaps(self) -> dict[str, int]:
        return {uid: account.gap for uid, account in self._tracker.ledger.accounts.items()}

    def _note_unwatched(self, told_until: int, told: dict[str, int]) -> None:
        """Since `told_until` pods may have come and gone; gaps `told` before are of other times."""
        earliest, now = min(each.as_of for each in self._known.values()), self._tracker.now()
        for uid, account in self._tracker.ledger.accounts.items():
            known = self._known.get(uid)
            since = max(told_until, known.as_of if known else earliest)
            begun = created_at(self._tracker.stores.owner_meta(account.owner))
            account.unwatched(since, now, begun=begun, told=account.gap - told.get(uid, 0))

    def _skip_what_is_in_the_sums(self) -> None:
        """An ended pod that has not changed since the checkpoint was counted by then."""
        for pod in self._tracker.stores.pods.store:
            known = self._known.get(self._tracker.stores.owner_of(pod).uid)
            meta = pod.metadata
            if known is None or int(meta.resource_version or 0) > known.version:
                continue
            if meta.uid not in known.account.pods and life_of(pod).is_over:
                known.account.done.add(meta.uid)
