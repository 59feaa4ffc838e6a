"""Checkpoints: each account as a QosAccount, so that a restart finds it.

A checkpoint is written when one of the account's pods ends, and once a minute while it has pods.
If a checkpoint is lost, pods that still exist are counted again from the API; the sums of pods
that are gone are lost with it.
"""

from collections.abc import Iterable
from contextlib import suppress
from random import Random

from msgspec import to_builtins

from trimtab.errors import TrimtabError
from trimtab.kube.apply import apply
from trimtab.kube.client import Client
from trimtab.kube.errors import NotFound
from trimtab.kube.resources import Free, Key
from trimtab.kube.runtime.controller import After, Done, Outcome
from trimtab.qos.ledger.account import Account, AccountOwner
from trimtab.qos.page.slo_status import AccountViews
from trimtab.qos.page.text import duration, ratios
from trimtab.qos.service.metrics import checkpoint_errors
from trimtab.qos.tracking.tracker import AccountTracker
from trimtab.qos.wire import QOS_ACCOUNTS, object_name, written_down

SOON_S = 1.0


class Checkpoints:
    def __init__(
        self,
        client: Client,
        tracker: AccountTracker,
        accounts: AccountViews,
        every_s: float = 60.0,
    ) -> None:
        self._client = client
        self._tracker = tracker
        self._accounts = accounts
        self._every_s = every_s
        self._random = Random().random
        self._made: dict[str, AccountOwner] = {}
        """Accounts that have their objects, by uid."""
        self._unwritten: dict[str, int] = {}
        self.written_at: dict[str, int] = {}

    def know(self, owners: Iterable[AccountOwner]) -> None:
        """These have their objects already."""
        self._made.update((owner.uid, owner) for owner in owners)

    def changed(self, uid: str) -> None:
        """From now until it is written again, an account is newer than its checkpoint."""
        # what a rebuild tells is older than what the store knows
        past = self._tracker.replaying_from
        version = self._tracker.stores.pod_version() if past is None else past
        self._unwritten.setdefault(uid, version)

    def complete_version(self, uid: str) -> int:
        """Up to where all accounts are written down once `uid` is."""
        there = self._tracker.ledger.accounts
        self._unwritten = {each: v for each, v in self._unwritten.items() if each in there}
        others = [version for each, version in self._unwritten.items() if each != uid]
        return min([*others, self._tracker.stores.pod_version()])

    async def reconcile(self, key: Key) -> Outcome:
        """Write one account down, and again in a minute if it has pods."""
        account = self._tracker.ledger.accounts.get(key.name)
        if account is None:
            await self._collect(key.name)
            return Done()
        self._tracker.tidy(account, self._tracker.now())
        if key.name not in self._tracker.ledger.accounts:
            await self._collect(key.name)
            return Done()
        if self._tracker.is_provisional(account.owner):
            return After(SOON_S)  # after a restart it would be a second account of the same pods
        try:
            await self._write(account)
        except TrimtabError:
            checkpoint_errors.inc()
            raise
        if account.is_empty and not account.owner.is_vm:
            return Done()
        return After(self._every_s * (1 - self._random() / 10))  # not all at the same moment

    async def _collect(self, uid: str) -> None:
        """Leave the object of an account whose owner is gone to the garbage collector.

        After a deletion with `--cascade=orphan` that takes the owner reference away and keeps the
        object. With the reference back, to an owner that is not there, it removes the object; so
        this service needs no right to delete. An account whose owner is of a kind that nobody
        watches may come back, so its object stays.
        """
        owner, stores = self._made.get(uid), self._tracker.stores
        gone = owner and stores.follows(owner) and stores.owner_meta(owner) is None
        if owner is not None and gone:
            name, body = object_name(owner), {"metadata": owned(owner)}
            with suppress(NotFound):  # the garbage collector was first
                await self._client.patch(QOS_ACCOUNTS, name, body, owner.namespace)
        self._made.pop(uid, None)
        self.written_at.pop(uid, None)

    async def _write(self, account: Account) -> None:
        now, uid = self._tracker.now(), account.owner.uid
        version, sequence = self._tracker.stores.pod_version(), account.sequence
        status = self._status(account, now, version)
        try:
            if uid not in self._made:
                await self._make(account)
            await apply(self._client, QOS_ACCOUNTS, status, force=True, subresource="status")
        except NotFound:
            self._made.pop(uid, None)
            raise
        self.written_at[uid] = now
        if account.sequence == sequence:
            self._unwritten.pop(uid, None)
        else:
            self._unwritten[uid] = version

    async def _make(self, account: Account) -> None:
        owner = account.owner
        body = self._named(account) | {"spec": {"owner": to_builtins(owner)}}
        body["metadata"] |= owned(owner)
        await apply(self._client, QOS_ACCOUNTS, body, force=True)
        self._made[owner.uid] = owner

    def _status(self, account: Account, now: int, version: int) -> Free:
        view = self._accounts.one(account, now)
        reading = view.reading
        complete = self.complete_version(account.owner.uid)
        ledger = written_down(account, now, str(version), str(complete))
        status = {
            "controller": view.name,
            "qos": ratios(view.qos, view.slo),
            "ttv": duration(view.ttv),
            "running": duration(reading.running),
            "waiting": duration(reading.waiting),
            "binding": ("~" if view.approximate else "") + duration(reading.binding),
            "state": view.state,
            "gap": duration(account.gap) if account.gap else "",
            "ledger": to_builtins(ledger),
        }
        return self._named(account) | {"status": status}

    def _named(self, account: Account) -> Free:
        owner = account.owner
        return {"metadata": {"name": object_name(owner), "namespace": owner.namespace}}

    def oldest(self) -> int | None:
        """The checkpoint that is longest ago, of accounts with pods."""
        alive = [
            at
            for uid, at in self.written_at.items()
            if (account := self._tracker.ledger.accounts.get(uid)) and not account.is_empty
        ]
        return min(alive, default=None)


def owned(owner: AccountOwner) -> Free:
    """The metadata that makes the garbage collector remove an object together with its owner."""
    reference = {
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.name,
        "uid": owner.uid,
    }
    return {"ownerReferences": [reference]}
