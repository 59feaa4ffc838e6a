"""Accounts as people and programs see them, all as of one moment."""

from collections import Counter
from collections.abc import Callable

from msgspec import Struct, structs

from trimtab.qos.ledger.account import Account
from trimtab.qos.page.page import Line, duration
from trimtab.qos.page.row import Replicas, Row, State, moment
from trimtab.qos.queue.slo import Promise
from trimtab.qos.queue.stamper import Stamper
from trimtab.qos.queue.time_to_violation import (
    SECOND,
    Pace,
    availability,
    deadline,
    time_to_violation,
)
from trimtab.qos.service.keeper import Keeper
from trimtab.qos.settings import Settings

TOLERANCE = 0.01
"""Below its SLO by less than this an account is not called violated: SLO 1 allows no start."""
ACCURACY = SECOND
"""A debt smaller than this may be an error of measurement: Kubernetes tells whole seconds."""


class Standing(Struct, frozen=True):
    """Where an account stands; everything else is made of it."""

    account: Account
    promise: Promise
    qos: float
    ttv: int | None
    state: State
    urgent: bool


class Book:
    """Reads the ledger for the page, the API, metrics and Events."""

    def __init__(
        self,
        keeper: Keeper,
        stamper: Stamper,
        settings: Settings,
        measured: Callable[[], bool] = lambda: False,
    ) -> None:
        self._keeper = keeper
        self._stamper = stamper
        self._legacy = settings.legacy
        self._default = settings.default_slo
        self._measured = measured
        self._names: dict[str, str] = {}
        self._order: list[str] = []
        self._named_at = -1

    def standing(self, account: Account, now: int) -> Standing:
        promise = self._keeper.promise(account)
        reading = account.at(now)
        qos = availability(reading.credited, reading.charged, promise.slo)
        ttv = time_to_violation(reading.credited, reading.charged, promise.slo)
        urgent = ttv is not None and ttv < self._stamper.horizon(account.owner).margin
        below = ttv is not None and ttv < -ACCURACY and promise.slo - qos > TOLERANCE
        # A young account has little time left and loses none of it while nothing of it waits.
        lapsing = urgent and reading.pace.waiting > 0
        due = self._deadline(reading.pace, ttv, promise.slo, now) if lapsing else None
        state: State = "violated" if below else "atRisk" if due is not None else "ok"
        return Standing(account, promise, qos, ttv, state, urgent)

    def standings(self, now: int) -> list[Standing]:
        return [self.standing(account, now) for account in self._keeper.ledger.accounts.values()]

    # The page

    def lines(self, now: int, namespace: str = "") -> list[Line]:
        """The page's rows by name."""
        if self._legacy:
            return self._legacy_lines(now, namespace)
        accounts, promise_of = self._keeper.ledger.accounts, self._keeper.promise
        names, unmeasured = self._name_all(), not self._measured()
        lines = []
        for uid in self._order:
            account = accounts[uid]
            if namespace and account.owner.namespace != namespace:
                continue
            slo, reading = promise_of(account).slo, account.at(now)
            lines.append(
                Line(
                    names[uid],
                    availability(reading.credited, reading.charged, slo),
                    slo,
                    time_to_violation(reading.credited, reading.charged, slo),
                    reading.running,
                    reading.waiting,
                    reading.binding,
                    reading.about or unmeasured,
                )
            )
        return lines

    def by_deadline(self, now: int, namespace: str = "", *, wide: bool = False) -> list[Line]:
        """The rows of whoever misses its promise first, first."""
        rows = [
            (
                self._due(account, now),
                self._widened(account, now) if wide else self.line(account, now)[0],
            )
            for _, account in self._ordered()
            if not namespace or account.owner.namespace == namespace
        ]
        rows.sort(key=lambda each: (each[0] is None, each[0] or 0, each[1].name))
        return [line for _, line in rows]

    def _due(self, account: Account, now: int) -> int | None:
        standing, pace = self.standing(account, now), account.at(now).pace
        return self._deadline(pace, standing.ttv, standing.promise.slo, now)

    def _deadline(self, pace: Pace, ttv: int | None, slo: float, now: int) -> int | None:
        return deadline(now, ttv, pace, slo, self._keeper.ledger.half_life)

    def line(self, account: Account, now: int) -> tuple[Line, str]:
        """One row, and the account's state."""
        standing, reading = self.standing(account, now), account.at(now)
        name = self._name_all().get(account.owner.uid, account.owner.name)
        about = reading.about or not self._measured()
        line = Line(
            name,
            standing.qos,
            standing.promise.slo,
            standing.ttv,
            reading.running,
            reading.waiting,
            reading.binding,
            about,
        )
        return line, standing.state

    def wide(self, now: int, namespace: str = "") -> list[Line]:
        """The rows with more columns."""
        return [
            self._widened(account, now)
            for uid, account in self._ordered()
            if not namespace or account.owner.namespace == namespace
        ]

    def _widened(self, account: Account, now: int) -> Line:
        line, state = self.line(account, now)
        reading, owner = account.at(now), account.owner
        due = self._due(account, now)
        seats = self._stamper.seats(account, now)
        rank = f"{seats[0].decision.stamp.rank:06d}" if seats else "-"
        replicas = f"{reading.pace.running}+{reading.pace.waiting}"
        wide = (
            f"  {owner.namespace:>20}  {owner.kind:>15}  {state:>9}  {replicas:>11}"
            f"  {moment(due) or 'never':>24}  {rank:>6}  {duration(reading.gated):>20}"
        )
        return structs.replace(line, wide=wide)

    def _ordered(self) -> list[tuple[str, Account]]:
        self._name_all()
        return [(uid, self._keeper.ledger.accounts[uid]) for uid in self._order]

    def _name_all(self) -> dict[str, str]:
        """Names by account, `namespace/name` where two have one name; in the page's order."""
        ledger = self._keeper.ledger
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

    def _legacy_lines(self, now: int, namespace: str) -> list[Line]:
        """Rows by the bare annotation `controller`; all who have none share one without a name."""
        groups: dict[str, list[Account]] = {}
        for account in self._keeper.ledger.accounts.values():
            if not namespace or account.owner.namespace == namespace:
                groups.setdefault(self._keeper.legacy_name(account), []).append(account)
        return [self._merged(name, groups[name], now) for name in sorted(groups)]

    def _merged(self, name: str, accounts: list[Account], now: int) -> Line:
        readings = [account.at(now) for account in accounts]
        slo = self._keeper.promise(accounts[-1]).slo if name else self._default
        credited = sum(each.credited for each in readings)
        charged = sum(each.charged for each in readings)
        return Line(
            name,
            availability(credited, charged, slo),
            slo,
            time_to_violation(credited, charged, slo),
            sum(each.running for each in readings),
            sum(each.waiting for each in readings),
            sum(each.binding for each in readings),
            not self._measured() or any(each.about for each in readings),
        )

    # JSON

    def rows(self, now: int, namespace: str = "") -> list[Row]:
        return [
            self.row(account, now)
            for _, account in self._ordered()
            if not namespace or account.owner.namespace == namespace
        ]

    def row(self, account: Account, now: int) -> Row:
        standing, reading, owner = self.standing(account, now), account.at(now), account.owner
        slo, ceiling = standing.promise.slo, self._keeper.ceiling(owner)
        due = self._due(account, now)
        return Row(
            namespace=owner.namespace,
            kind=owner.kind,
            name=owner.name,
            uid=owner.uid,
            class_name=standing.promise.class_name,
            slo=slo,
            slo_source=standing.promise.source,
            ceiling=ceiling,
            above_ceiling=slo > ceiling,
            qos=standing.qos,
            ttv_seconds=None if standing.ttv is None else standing.ttv / SECOND,
            never_violated=due is None,
            deadline=moment(due),
            state=standing.state,
            urgent=standing.urgent,
            running_seconds=reading.running / SECOND,
            waiting_seconds=reading.waiting / SECOND,
            binding_seconds=reading.binding / SECOND,
            binding_approximate=reading.about or not self._measured(),
            gated_seconds=reading.gated / SECOND,
            unready_seconds=reading.unready / SECOND,
            replicas=Replicas(reading.pace.running, reading.pace.waiting, reading.gated_now),
            incarnations=account.incarnations,
            gap_seconds=account.gap / SECOND,
            as_of=moment(now) or "",
        )
