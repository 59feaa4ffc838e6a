"""Each account as of one moment, and whether its SLO is kept, at risk or violated.

`AccountView.state` defines these words for everybody: page, JSON, kubectl's columns, metrics and
Events show an `AccountView` and compute nothing of their own, so all of them say the same.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from trimtab.qos.ledger.account import Account, AccountOwner
from trimtab.qos.ledger.sums import AccountReading, added_up
from trimtab.qos.ledger.time_to_violation import (
    SECOND,
    availability,
    deadline,
    time_to_violation,
)
from trimtab.qos.promise import Promise
from trimtab.qos.queue.key import Horizon, horizon_of
from trimtab.qos.settings import QosSettings
from trimtab.qos.tracking.tracker import AccountTracker

State = Literal["ok", "atRisk", "violated"]
TOLERANCE = 0.01
"""Below its SLO by less than this an account is not called violated: SLO 1 allows no start."""
ACCURACY = SECOND
"""A debt smaller than this may be an error of measurement: Kubernetes tells whole seconds."""


class AccountView(Struct, frozen=True, gc=False):
    """One account at the moment `now`; times in nanoseconds."""

    name: str
    account: Account
    promise: Promise
    reading: AccountReading
    qos: float
    ttv: int | None
    approximate: bool
    """The scheduler did not measure the binding."""
    now: int
    horizon: Horizon

    @property
    def owner(self) -> AccountOwner:
        return self.account.owner

    @property
    def slo(self) -> float:
        return self.promise.slo

    @property
    def deadline(self) -> int | None:
        """When the promise is missed if nothing but time passes."""
        return deadline(self.now, self.ttv, self.reading.pace, self.slo, self.horizon.half_life)

    @property
    def urgent(self) -> bool:
        return self.ttv is not None and self.ttv < self.horizon.margin

    @property
    def state(self) -> State:
        """violated: below the SLO by more than what may be an error of measurement.

        atRisk: something of it waits, and the SLO would be missed within the margin.
        """
        if self.ttv is not None and self.ttv < -ACCURACY and self.slo - self.qos > TOLERANCE:
            return "violated"
        # A young account has little time left and loses none of it while nothing of it waits.
        at_risk = self.urgent and self.reading.pace.waiting > 0 and self.deadline is not None
        return "atRisk" if at_risk else "ok"


class AccountViews:
    """Reads the ledger and the promises; names every account so that no two names are equal."""

    def __init__(self, tracker: AccountTracker, settings: QosSettings) -> None:
        self._tracker = tracker
        self._legacy = settings.legacy
        self._default = Promise(settings.default_slo, "default", "")
        self._horizons = tuple(horizon_of(settings, is_vm=is_vm) for is_vm in (False, True))
        self._names: dict[str, str] = {}
        self._order: list[str] = []
        self._named_at = -1

    def all(self, now: int, namespace: str = "") -> list[AccountView]:
        """Every account, or those of a namespace, by name."""
        accounts, names = self._tracker.ledger.accounts, self._name_all()
        promise, view = self._tracker.promise, self._view
        return [
            view(names[uid], account, promise(account), account.at(now), now)
            for uid in self._order
            if not namespace or accounts[uid].owner.namespace == namespace
            for account in (accounts[uid],)
        ]

    def one(self, account: Account, now: int) -> AccountView:
        name = self._name_all().get(account.owner.uid, account.owner.name)
        return self._view(name, account, self._tracker.promise(account), account.at(now), now)

    def on_the_page(self, now: int, namespace: str = "") -> list[AccountView]:
        """The rows of the page. With `--legacy` they go by the bare annotation `controller`, and
        all accounts that have none share one row without a name."""
        if not self._legacy:
            return self.all(now, namespace)
        groups: dict[str, list[Account]] = {}
        for account in self._tracker.ledger.accounts.values():
            if not namespace or account.owner.namespace == namespace:
                groups.setdefault(self._tracker.legacy_name(account), []).append(account)
        return [self._joined(name, groups[name], now) for name in sorted(groups)]

    def _joined(self, name: str, accounts: list[Account], now: int) -> AccountView:
        reading = added_up([account.at(now) for account in accounts])
        promise = self._tracker.promise(accounts[-1]) if name else self._default
        return self._view(name, accounts[-1], promise, reading, now)

    def _view(
        self, name: str, account: Account, promise: Promise, reading: AccountReading, now: int
    ) -> AccountView:
        credited, charged, slo = reading.credited, reading.charged, promise.slo
        return AccountView(
            name,
            account,
            promise,
            reading,
            availability(credited, charged, slo),
            time_to_violation(credited, charged, slo),
            reading.about or not self._tracker.ledger.bindings_heard,
            now,
            self._horizons[account.owner.is_vm],
        )

    def _name_all(self) -> dict[str, str]:
        """Names by account, `namespace/name` where two have one name; in the page's order."""
        ledger = self._tracker.ledger
        if self._named_at != ledger.version:
            owners = [account.owner for account in ledger.accounts.values()]
            shared = Counter(owner.name for owner in owners)
            self._names = {
                owner.uid: owner.name
                if shared[owner.name] == 1
                else f"{owner.namespace}/{owner.name}"
                for owner in owners
            }
            self._order = sorted(self._names, key=lambda uid: (self._names[uid], uid))
            self._named_at = ledger.version
        return self._names


def by_ttv(views: Iterable[AccountView]) -> list[AccountView]:
    """The account that is closest to missing its promise first."""
    return sorted(views, key=lambda view: (view.ttv is None, view.ttv or 0, view.name))


def by_deadline(views: Iterable[AccountView]) -> list[AccountView]:
    """The account that misses its promise first, first."""
    dated = [(view.deadline, view) for view in views]
    dated.sort(key=lambda each: (each[0] is None, each[0] or 0, each[1].name))
    return [view for _, view in dated]
