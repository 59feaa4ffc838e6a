"""Checkpoints: each account as a QosAccount, so that a restart finds it.

Written when an incarnation ends, and once a minute while there are pods. Losing one costs
nothing that the API does not know anyway: only the sums of pods that are gone.
"""

from collections.abc import Callable, Iterable
from random import Random

from msgspec import to_builtins

from trimtab.errors import TrimtabError
from trimtab.kube.apply import apply
from trimtab.kube.client import Client
from trimtab.kube.errors import NotFound
from trimtab.kube.resources import Free, Key
from trimtab.kube.runtime.controller import After, Done, Outcome
from trimtab.qos.ledger.account import Account
from trimtab.qos.page.page import Line, duration, ratios
from trimtab.qos.service.keeper import Keeper
from trimtab.qos.service.metrics import checkpoint_errors
from trimtab.qos.wire import QOS_ACCOUNTS, object_name, written_down

Describe = Callable[[Account, int], tuple[Line, str]]
"""An account as a line of the page, and its state."""

SOON_S = 1.0


class Checkpoints:
    def __init__(
        self, client: Client, keeper: Keeper, describe: Describe, every_s: float = 60.0
    ) -> None:
        self._client = client
        self._keeper = keeper
        self._describe = describe
        self._every_s = every_s
        self._random = Random().random
        self._made: set[str] = set()
        self._rebuilt = False
        self._rebuilt_from = 0
        self._unwritten: dict[str, int] = {}
        self.written_at: dict[str, int] = {}

    def begin(self, version: int) -> None:
        """The ledger will be rebuilt from what happened since this version of the pods."""
        self._rebuilt_from = version

    def know(self, uids: Iterable[str]) -> None:
        """The ledger is rebuilt; these have their objects already."""
        self._made.update(uids)
        self._rebuilt = True

    def changed(self, uid: str) -> None:
        """From now until it is written again, an account is newer than its checkpoint."""
        # what a rebuild tells is older than what the store knows
        version = self._keeper.stores.pod_version() if self._rebuilt else self._rebuilt_from
        self._unwritten.setdefault(uid, version)

    def complete_version(self, uid: str) -> int:
        """Up to where all accounts are written down once `uid` is."""
        there = self._keeper.ledger.accounts
        self._unwritten = {each: v for each, v in self._unwritten.items() if each in there}
        others = [version for each, version in self._unwritten.items() if each != uid]
        return min([*others, self._keeper.stores.pod_version()])

    async def reconcile(self, key: Key) -> Outcome:
        """Write one account down, and again in a minute if it has pods."""
        account = self._keeper.ledger.accounts.get(key.name)
        if account is None:
            self._made.discard(key.name)
            self.written_at.pop(key.name, None)
            return Done()
        self._keeper.tidy(account, self._keeper.now())
        if key.name not in self._keeper.ledger.accounts:
            return Done()
        if self._keeper.is_provisional(account.owner):
            return After(SOON_S)  # after a restart it would be a second account of the same pods
        try:
            await self._write(account)
        except TrimtabError:
            checkpoint_errors.inc()
            raise
        if account.is_empty and not account.owner.is_vm:
            return Done()
        return After(self._every_s * (1 - self._random() / 10))  # not all at the same moment

    async def _write(self, account: Account) -> None:
        now, uid = self._keeper.now(), account.owner.uid
        version, sequence = self._keeper.stores.pod_version(), account.sequence
        status = self._status(account, now, version)
        try:
            if uid not in self._made:
                await self._make(account)
            await apply(self._client, QOS_ACCOUNTS, status, force=True, subresource="status")
        except NotFound:
            self._made.discard(uid)
            raise
        self.written_at[uid] = now
        if account.sequence == sequence:
            self._unwritten.pop(uid, None)
        else:
            self._unwritten[uid] = version

    async def _make(self, account: Account) -> None:
        owner = account.owner
        body = self._named(account) | {"spec": {"owner": to_builtins(owner)}}
        body["metadata"]["ownerReferences"] = [
            {
                "apiVersion": owner.api_version,
                "kind": owner.kind,
                "name": owner.name,
                "uid": owner.uid,
            }
        ]
        await apply(self._client, QOS_ACCOUNTS, body, force=True)
        self._made.add(owner.uid)

    def _status(self, account: Account, now: int, version: int) -> Free:
        line, state = self._describe(account, now)
        complete = self.complete_version(account.owner.uid)
        ledger = written_down(account, now, str(version), str(complete))
        status = {
            "controller": line.name,
            "qos": ratios(line.qos, line.slo),
            "ttv": duration(line.ttv),
            "running": duration(line.running),
            "waiting": duration(line.waiting),
            "binding": ("~" if line.about else "") + duration(line.binding),
            "state": state,
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
            if (account := self._keeper.ledger.accounts.get(uid)) and not account.is_empty
        ]
        return min(alive, default=None)
