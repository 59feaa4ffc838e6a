"""After a restart: accounts from their checkpoints, and what happened since from a watch.

A pod that is still there tells its own story. One that vanished is found in the watch from the
checkpoint's resourceVersion on. If the API server has forgotten that far back (410), the pod
counts until it was last seen, and the time since is noted on the account as a gap.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from datetime import datetime

from msgspec import Struct

from trimtab.kube.client import Client
from trimtab.kube.codec import WatchEvent
from trimtab.kube.errors import ApiError, Expired, NotFound
from trimtab.obs import get_logger
from trimtab.qos.account import Account
from trimtab.qos.incarnation import LIFE_PODS, LifePod, life_of
from trimtab.qos.keeper import Keeper
from trimtab.qos.ttv import SECOND
from trimtab.qos.wire import QOS_ACCOUNTS, QosAccount, read_back

log = get_logger()
QUIET_S = 1.0  # what the API server remembers it sends at once
LONGEST_S = 30.0


class Outcome(Struct, frozen=True):
    """What became of the checkpoints."""

    accounts: int = 0
    replayed: int = 0
    lost: int = 0
    """Pods of which nobody knows when they ended."""
    gap: bool = False
    """The watch could not be continued."""
    as_of: int = 0
    """The newest checkpoint."""


class Checkpoint(Struct, frozen=True):
    account: Account
    version: int
    as_of: int


class Rebuild:
    def __init__(self, client: Client, keeper: Keeper) -> None:
        self._client = client
        self._keeper = keeper
        self._known: dict[str, Checkpoint] = {}
        self._stream_clock = 0
        self._replayed = 0

    @property
    def owners(self) -> list[str]:
        """The uids of those who had a checkpoint."""
        return list(self._known)

    async def run(self) -> Outcome:
        """Make the keeper's ledger what it would be if nobody had been away."""
        for stored in await self._stored():
            self._adopt(stored)
        gap = not await self._replay() if self._known else False
        lost = self._close_vanished()
        self._skip_what_is_in_the_sums()
        self._keeper.open()
        as_of = max((each.as_of for each in self._known.values()), default=0)
        return Outcome(len(self._known), self._replayed, lost, gap, as_of)

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
        half_life = self._keeper.ledger.half_life
        account = read_back(owner, ledger, half_life)
        self._keeper.ledger.adopt(account)
        version = int(ledger.resource_version or 0)
        self._known[owner.uid] = Checkpoint(account, version, ledger.as_of)

    # What happened since

    async def _replay(self) -> bool:
        """Watch from the checkpoints to now; false if that is not possible any more."""
        start = self._start()
        try:
            target = await self._newest_version()
            async with asyncio.timeout(LONGEST_S), aclosing(self._events(start)) as events:
                async for event in events:
                    if event.type != "BOOKMARK":
                        self._take(event)
                    if int(event.object.metadata.resource_version or 0) >= target:
                        return True
        except (Expired, TimeoutError):
            return False
        except ApiError as error:
            log.warning("watch not continued", error=str(error))
            return False
        return True

    def _start(self) -> int:
        """Accounts with open pods are written every minute; others change only with a pod."""
        alive = [c.version for c in self._known.values() if _is_open(c.account)]
        return min(alive, default=max(each.version for each in self._known.values()))

    async def _newest_version(self) -> int:
        pages = self._client.pages(LIFE_PODS, None, {}, 1)
        async with aclosing(pages):
            async for page in pages:
                return int(page.metadata.resource_version)
        return 0

    async def _events(self, start: int) -> AsyncGenerator[WatchEvent[LifePod]]:
        params: dict[str, str | int] = {"resourceVersion": str(start), "timeoutSeconds": 60}
        batches = self._client.watch(LIFE_PODS, None, params, LONGEST_S)
        async with aclosing(batches):
            while True:
                try:
                    batch = await asyncio.wait_for(anext(batches), QUIET_S)
                except (StopAsyncIteration, TimeoutError):
                    return
                for event in batch:
                    yield event

    def _take(self, event: WatchEvent[LifePod]) -> None:
        pod = event.object
        self._stream_clock = max(self._stream_clock, _newest_moment(pod))
        owner = self._keeper.stores.owner_of(pod)
        known = self._known.get(owner.uid)
        if known is not None and int(pod.metadata.resource_version or 0) <= known.version:
            return  # it is in the checkpoint
        if not self._keeper.counts(pod):
            return
        self._replayed += 1
        self._keeper.ledger.observe(life_of(pod), owner)
        if event.type == "DELETED":
            # the stream is in order: it happened after all that was told before
            as_of = known.as_of if known else 0
            self._keeper.ledger.gone(pod.metadata.uid, max(self._stream_clock, as_of))

    # What nobody saw

    def _close_vanished(self) -> int:
        present = {pod.metadata.uid for pod in self._keeper.stores.pods.store}
        now, lost = self._keeper.now(), 0
        for known in self._known.values():
            account = known.account
            account.done &= present
            for uid, pod in list(account.pods.items()):
                if pod.ended is None and uid not in present:
                    account.lose(uid, known.as_of, now)
                    account.note(known.as_of, pod.name, "lost from sight")
                    lost += 1
        return lost

    def _skip_what_is_in_the_sums(self) -> None:
        """An ended pod that has not changed since the checkpoint was counted by then."""
        for pod in self._keeper.stores.pods.store:
            known = self._known.get(self._keeper.stores.owner_of(pod).uid)
            meta = pod.metadata
            if known is None or int(meta.resource_version or 0) > known.version:
                continue
            if meta.uid not in known.account.pods and life_of(pod).ended is not None:
                known.account.done.add(meta.uid)


def _is_open(account: Account) -> bool:
    return any(pod.ended is None for pod in account.pods.values())


def _newest_moment(pod: LifePod) -> int:
    """The latest time that an object of the stream tells."""
    moments: list[datetime | None] = [
        pod.metadata.creation_timestamp,
        pod.status.start_time,
        *(each.last_transition_time for each in pod.status.conditions),
    ]
    return max((int(at.timestamp()) * SECOND for at in moments if at is not None), default=0)
