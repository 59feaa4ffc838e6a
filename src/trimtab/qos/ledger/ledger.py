"""All accounts, and which pod is in which.

Observations may come late, twice or out of order, and from a watch as well as from a list
after a restart: the accounts are the same in the end.
"""

from collections.abc import Callable
from copy import copy

from msgspec import Struct, structs

from trimtab.qos.ledger.account import Account, AccountOwner
from trimtab.qos.ledger.pod_life import Incarnation
from trimtab.qos.ledger.pod_moments import Observation
from trimtab.qos.ledger.spans import AS_USUAL, Counting

What = str
LOST = "lost from sight"
LEFT, JOINED = "left", "joined"
"""A pod changed its controller: its time until then stays in the old account."""


class AccountChange(Struct, frozen=True):
    """Something happened to a pod of an account."""

    account: Account
    pod: Incarnation
    what: What
    at: int


Listener = Callable[[AccountChange], None]


class Ledger:
    def __init__(self, counting: Counting = AS_USUAL) -> None:
        self.accounts: dict[str, Account] = {}
        self.counting = counting
        self.version = 0
        """Changes when an account comes or goes."""
        self.bindings_heard = False
        """True while the scheduler reports its bindings."""
        self._account_of: dict[str, str] = {}
        self._since: dict[str, int] = {}
        """Pods that changed their account: since when they are in the one that they are in."""
        self._past: dict[str, tuple[Account, str]] = {}
        """Pods whose past is being replayed: where it was last, and under which name."""
        self._listeners: list[Listener] = []

    def listen(self, listener: Listener) -> None:
        self._listeners.append(listener)

    @property
    def half_life(self) -> int:
        return self.counting.half_life

    def account(self, owner: AccountOwner, *, provisional: bool = False) -> Account:
        """The owner's account; a new one if it has none."""
        known = self.accounts.get(owner.uid)
        if known is None:
            known = self.accounts[owner.uid] = Account(owner, self.counting)
            known.provisional = provisional
            self.version += 1
        known.provisional &= provisional
        return known

    def of_pod(self, uid: str) -> Account | None:
        return self.accounts.get(self._account_of.get(uid, ""))

    def observe(
        self,
        facts: Incarnation,
        owner: AccountOwner,
        sight: Observation | None = None,
        *,
        provisional: bool = False,
    ) -> None:
        """A pod as it is, and whose it is; `provisional` if somebody above may turn up."""
        account = self.account(owner, provisional=provisional)
        joined = self._move(facts, account, sight)
        known = account.pods.get(facts.uid)
        before = copy(known) if known is not None else None
        pod = account.observe(facts, sight)
        if joined is not None and known is not None:
            self._notify(account, known, JOINED, joined)
        if pod is not None:
            self._notify_changes(account, before, pod)

    def _notify_changes(
        self, account: Account, before: Incarnation | None, pod: Incarnation
    ) -> None:
        """Every transition that is known now and was not before."""
        if before is None:
            self._notify(account, pod, "created", pod.created)
            before = Incarnation(pod.uid, pod.created)
            if pod.gated:
                self._notify(account, pod, "gated", pod.created)
        for what, was, now in (
            ("ungated", before.ungated, pod.ungated),
            ("bound", before.bound, pod.bound),
            ("ended", before.ended, pod.ended),
        ):
            if was is None and now is not None:
                self._notify(account, pod, what, now)

    def observe_past(self, facts: Incarnation, owner: AccountOwner, sight: Observation) -> None:
        """How a pod was before it came to an account that was written down later."""
        uid, told = facts.uid, self._past.get(facts.uid)
        since = self._came_elsewhere(uid, owner, sight.changed)
        if since is None or facts.created >= since:
            return
        ended = since if facts.ended is None else min(facts.ended, since)
        if told is not None and told[0].owner != owner:  # it was in a third account in between
            before, name = told
            facts = facts.part_since(before.shorten(name, sight.changed))
        account, name = self.account(owner), f"{uid}@{since}"
        self._past[uid] = account, name
        account.left[uid] = since
        self._since.setdefault(uid, since)
        past = structs.replace(facts, uid=name, ended=max(ended, facts.created), vague=False)
        if account.observe(past, sight) is not None:
            self._notify(account, past, LEFT, since)

    def release(self, uid: str, owner: AccountOwner, at: int) -> None:
        """A pod came to the account of `owner`, which knows that already: it is in no other."""
        account, there = self.of_pod(uid), self.accounts[owner.uid]
        if account is None or account is there or uid not in account.pods:
            return
        pod = account.pods[uid]
        self._notify(account, pod, LEFT, account.leave(uid, at))
        if uid in there.pods or uid in there.done:
            self._account_of[uid] = owner.uid
        else:  # and it is gone from there, too
            del self._account_of[uid]

    def _came_elsewhere(self, uid: str, owner: AccountOwner, after: int) -> int | None:
        """When a pod came to another account, the first time after a moment."""
        came = [
            pod.created
            for account in self.accounts.values()
            if account.owner != owner
            for name, pod in account.pods.items()
            if name.partition("@")[0] == uid
            and pod.created >= after
            and (pod.ended is None or pod.ended > after)
            and (account, name) != self._past.get(uid)
        ]
        return min(came, default=self._since.get(uid))

    def left_at(self, uid: str) -> int:
        """When a pod last changed its account; 0 if it never did."""
        return self._since.get(uid, 0)

    def gone(self, uid: str, at: int) -> None:
        """A pod's object is gone; if nothing said before that it ended, it ended now."""
        account = self.of_pod(uid)
        self._account_of.pop(uid, None)
        if self._since.pop(uid, None) is not None:
            for each in self.accounts.values():
                each.left.pop(uid, None)
        if account is None:
            return
        pod = account.forget(uid, at)
        if pod is not None and pod.ended is not None:
            self._notify(account, pod, "ended", pod.ended)

    def lost(self, uid: str, known_until: int, now: int, ended: int | None = None) -> bool:
        """A pod vanished between two moments; true if that is what ended it.

        It counts until `ended`, or until it was last known to be there.
        """
        account = self.of_pod(uid)
        pod = account.pods.get(uid) if account is not None else None
        if account is None or pod is None or pod.ended is not None:
            return False
        at = known_until if ended is None else ended
        account.lose(uid, at, now - known_until)
        self._notify(account, pod, LOST, at)
        return True

    def measured(self, uid: str, start: int, end: int) -> bool:
        """The scheduler bound a pod then; false if the pod is not known."""
        account = self.of_pod(uid)
        if account is None:
            return False
        pod = account.pods.get(uid)
        first = pod is not None and pod.bound is None
        news = account.measure(uid, start, end)
        if news and first and pod is not None and pod.bound is not None:
            self._notify(account, pod, "bound", pod.bound)
        return news

    def adopt(self, account: Account) -> None:
        """An account as it was written down; it replaces what there is of that owner."""
        self.accounts[account.owner.uid] = account
        for uid in [*account.pods, *account.done]:
            self._settle_claims(uid, account)
        for uid, at in account.left.items():
            self._since[uid] = max(at, self._since.get(uid, 0))
        self.version += 1

    def _settle_claims(self, uid: str, account: Account) -> None:
        """A pod in two checkpoints: one was written before it went to the other account."""
        other = self.of_pod(uid)
        if other is not None and other is not account:
            older, newer = sorted((account, other), key=lambda each: each.known_until)
            self._since[uid] = older.cede(uid, newer)
            account = newer
        self._account_of[uid] = account.owner.uid

    def prune(self, present: set[str]) -> None:
        """Forget where pods were that are gone; the replay is over."""
        self._past.clear()
        self._since = {uid: at for uid, at in self._since.items() if uid in present}
        for account in self.accounts.values():
            account.done &= present
            account.left = {uid: at for uid, at in account.left.items() if uid in present}

    def drop(self, uid: str) -> None:
        """The owner is gone."""
        account = self.accounts.pop(uid, None)
        if account is not None:
            self.version += 1
            for pod in [*account.pods, *account.done]:
                self._account_of.pop(pod, None)

    def _move(self, facts: Incarnation, account: Account, sight: Observation | None) -> int | None:
        """If the pod was in another account, take it from there; since when it is in this one.

        A provisional account becomes this one. Any other keeps all time until now.
        """
        uid = facts.uid
        before = self.accounts.get(self._account_of.get(uid, ""))
        self._account_of[uid] = account.owner.uid
        if before is not None and before is not account:
            if before.provisional:
                self._merge(before, account)
                return None
            known_until = max(before.known_until, sight.known_until) if sight else 0
            pod = before.pods.get(uid)
            at = before.leave(uid, max(known_until, sight.changed) if sight else facts.latest())
            if sight is not None and not sight.witnessed and pod is not None:
                before.gap += max(0, at - max(known_until, pod.created))
            self._since[uid] = at
            self._notify(before, pod or facts, LEFT, at)
        since = self._since.get(uid)
        if since is None or uid in account.pods or uid in account.done:
            return None
        account.join(facts, since)
        return since

    def _merge(self, before: Account, account: Account) -> None:
        for uid in [*before.pods, *before.done]:
            self._account_of[uid] = account.owner.uid
        account.absorb(before)
        del self.accounts[before.owner.uid]
        self.version += 1

    def _notify(self, account: Account, pod: Incarnation, what: What, at: int) -> None:
        account.note(at, pod.name, what)
        for listener in self._listeners:
            listener(AccountChange(account, pod, what, at))
