"""QosAccount on the wire: an account as the API server keeps it over restarts.

Its printer columns are the page's, so `kubectl get qos` shows what the page shows, as of the
last checkpoint. What counts is `status.ledger`.
"""

from operator import itemgetter

from msgspec import field

from trimtab.kube.resources import Kind, Object, Wire
from trimtab.qos.ledger.account import Account, AccountOwner
from trimtab.qos.ledger.pod_life import Incarnation
from trimtab.qos.ledger.spans import AS_USUAL, Counting
from trimtab.qos.ledger.sums import FadingWindow, TimeSums
from trimtab.qos.ledger.vm_time import Life

GROUP, VERSION = "qos.trimtab.dev", "v1alpha1"
MOST_PODS = 4096


class LedgerStatus(Wire, frozen=True):
    """Sums of what is over and moments of what is not, in nanoseconds."""

    as_of: int = 0
    resource_version: str = ""
    """Of the pods: from here on a watch tells what happened since."""
    complete_version: str = ""
    """Up to here all accounts were written down, not only this one."""
    closed: TimeSums = field(default_factory=TimeSums)
    window: FadingWindow = field(default_factory=FadingWindow)
    pods: tuple[Incarnation, ...] = ()
    done: tuple[str, ...] = ()
    left: dict[str, int] = field(default_factory=dict)
    life: Life = field(default_factory=Life)
    incarnations: int = 0
    approximate: int = 0
    gap: int = 0


class QosAccountSpec(Wire, frozen=True):
    owner: AccountOwner | None = None


class QosAccountStatus(Wire, frozen=True):
    controller: str = ""
    qos: str = ""
    ttv: str = ""
    running: str = ""
    waiting: str = ""
    binding: str = ""
    state: str = ""
    gap: str = ""
    """How much time is missing from the account, if any is."""
    ledger: LedgerStatus = LedgerStatus()


class QosAccount(Object, frozen=True):
    spec: QosAccountSpec = QosAccountSpec()
    status: QosAccountStatus = QosAccountStatus()


QOS_ACCOUNTS = Kind(GROUP, VERSION, "qosaccounts", "QosAccount", QosAccount)


def written_down(account: Account, now: int, version: str, complete: str = "") -> LedgerStatus:
    """The account as of `now`, when pods were known up to `version`."""
    # whoever lives can be read from the API again; who ended, perhaps not
    newest = sorted(account.pods.values(), key=lambda p: (p.ended is not None, p.created))
    newest = newest[-MOST_PODS:]
    return LedgerStatus(
        as_of=now,
        resource_version=version,
        complete_version=complete,
        closed=account.closed,
        window=account.window,
        pods=tuple(newest),
        done=tuple(sorted(account.done))[:MOST_PODS],
        left=dict(sorted(account.left.items(), key=itemgetter(1))[-MOST_PODS:]),
        life=account.life,
        incarnations=account.incarnations,
        approximate=account.approximate,
        gap=account.gap,
    )


def read_back(owner: AccountOwner, ledger: LedgerStatus, counting: Counting = AS_USUAL) -> Account:
    """The account that was written down."""
    account = Account(owner, counting)
    account.known_until = ledger.as_of
    account.closed = ledger.closed
    account.window = _window(ledger, counting.half_life)
    account.pods = {pod.uid: pod for pod in ledger.pods}
    account.done = set(ledger.done)
    account.left = dict(ledger.left)
    account.life = ledger.life
    account.incarnations = ledger.incarnations
    account.approximate = ledger.approximate
    account.gap = ledger.gap
    return account


def _window(ledger: LedgerStatus, half_life: int) -> FadingWindow:
    """The window as it was; with another half-life it begins with the lifetime's share."""
    if not half_life or ledger.window.half_life == half_life:
        return FadingWindow(
            half_life, ledger.window.as_of, ledger.window.running, ledger.window.waiting
        )
    sums = ledger.closed
    total = sums.running + sums.waiting
    weight = min(1.0, half_life / 0.6931471805599453 / total) if total else 0.0
    return FadingWindow(half_life, ledger.as_of, sums.running * weight, sums.waiting * weight)


def object_name(owner: AccountOwner) -> str:
    """Unique among owners: another one of the same name has another uid."""
    return f"{owner.name[:200].lower().replace('_', '-').strip('.-')}-{owner.uid[:8]}"
