"""All accounts, and which pod is in which.

Observations may come late, twice or out of order, and from a watch as well as from a list
after a restart: the accounts are the same in the end.
"""

from collections.abc import Callable
from copy import copy

from msgspec import Struct

from trimtab.qos.account import Account, Owner
from trimtab.qos.incarnation import Incarnation

What = str
LOST = "lost from sight"


class Change(Struct, frozen=True):
    """Something happened to a pod of an account."""

    account: Account
    pod: Incarnation
    what: What
    at: int


Listener = Callable[[Change], None]


class Ledger:
    def __init__(self, half_life: int = 0) -> None:
        self.accounts: dict[str, Account] = {}
        self.half_life = half_life
        self.version = 0
        """Changes when an account comes or goes."""
        self._account_of: dict[str, str] = {}
        self._listeners: list[Listener] = []

    def listen(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def account(self, owner: Owner) -> Account:
        """The owner's account; a new one if it has none."""
        known = self.accounts.get(owner.uid)
        if known is None:
            known = self.accounts[owner.uid] = Account(owner, half_life=self.half_life)
            self.version += 1
        return known

    def of_pod(self, uid: str) -> Account | None:
        return self.accounts.get(self._account_of.get(uid, ""))

    def observe(self, facts: Incarnation, owner: Owner, changed: int | None = None) -> None:
        """A pod as it is since `changed`, and whose it is."""
        account = self.account(owner)
        self._move(facts.uid, account)
        known = account.pods.get(facts.uid)
        before = copy(known) if known is not None else None
        pod = account.observe(facts, changed)
        if pod is not None:
            self._tell_news(account, before, pod)

    def _tell_news(self, account: Account, before: Incarnation | None, pod: Incarnation) -> None:
        """Every transition that is known now and was not before."""
        if before is None:
            self._tell(account, pod, "created", pod.created)
            before = Incarnation(pod.uid, pod.created)
            if pod.gated:
                self._tell(account, pod, "gated", pod.created)
        for what, was, now in (
            ("ungated", before.ungated, pod.ungated),
            ("bound", before.bound, pod.bound),
            ("ended", before.ended, pod.ended),
        ):
            if was is None and now is not None:
                self._tell(account, pod, what, now)

    def gone(self, uid: str, at: int) -> None:
        """A pod's object is gone; if nothing said before that it ended, it ended now."""
        account = self.of_pod(uid)
        self._account_of.pop(uid, None)
        if account is None:
            return
        pod = account.forget(uid, at)
        if pod is not None and pod.ended is not None:
            self._tell(account, pod, "ended", pod.ended)

    def lost(self, uid: str, known_until: int, now: int) -> bool:
        """A pod vanished while nobody watched; true if that is what ended it."""
        account = self.of_pod(uid)
        pod = account.pods.get(uid) if account is not None else None
        if account is None or pod is None or pod.ended is not None:
            return False
        account.lose(uid, known_until, now)
        self._tell(account, pod, LOST, known_until)
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
            self._tell(account, pod, "bound", pod.bound)
        return news

    def adopt(self, account: Account) -> None:
        """An account as it was written down; it replaces what there is of that owner."""
        self.accounts[account.owner.uid] = account
        for uid in [*account.pods, *account.done]:
            self._account_of[uid] = account.owner.uid
        self.version += 1

    def drop(self, uid: str) -> None:
        """The owner is gone."""
        account = self.accounts.pop(uid, None)
        if account is not None:
            self.version += 1
            for pod in [*account.pods, *account.done]:
                self._account_of.pop(pod, None)

    def _move(self, pod_uid: str, account: Account) -> None:
        """If the pod was in another account, that one was provisional: it becomes this one."""
        before = self.accounts.get(self._account_of.get(pod_uid, ""))
        self._account_of[pod_uid] = account.owner.uid
        if before is None or before is account:
            return
        for uid in [*before.pods, *before.done]:
            self._account_of[uid] = account.owner.uid
        account.absorb(before)
        del self.accounts[before.owner.uid]
        self.version += 1

    def _tell(self, account: Account, pod: Incarnation, what: What, at: int) -> None:
        account.note(at, pod.name, what)
        for listener in self._listeners:
            listener(Change(account, pod, what, at))
