"""Controllers whose keys are accounts, and the one that writes stamps."""

from collections.abc import Callable

from trimtab.kube.client import Client
from trimtab.kube.errors import Conflict, NotFound
from trimtab.kube.events import EventRecorder
from trimtab.kube.resources import PODS, Key, ObjectReference
from trimtab.kube.runtime.controller import After, Controller, Done, Outcome, Reconcile
from trimtab.kube.runtime.queue import Queue
from trimtab.obs import get_logger
from trimtab.qos.ledger.account import AccountOwner
from trimtab.qos.ledger.ledger import Ledger
from trimtab.qos.ledger.time_to_violation import SECOND
from trimtab.qos.page.accounts import AccountView, AccountViews, State
from trimtab.qos.page.text import duration
from trimtab.qos.queue.key import ANNOTATION, differs
from trimtab.qos.queue.stamper import Stamper, WaitingPod
from trimtab.qos.service.metrics import restamps, violations
from trimtab.qos.tracking.tracker import AccountTracker

# Events about promises: at risk, broken, kept again, or not to be read; and a count.
#
# An account is judged every few seconds. One that has hardly lived is not: everybody waits at
# first. The recorder joins repetitions and bounds the noise.


class SloEvents:
    def __init__(
        self,
        tracker: AccountTracker,
        accounts: AccountViews,
        recorder: EventRecorder,
        leading: Callable[[], bool],
    ) -> None:
        self._tracker = tracker
        self._accounts = accounts
        self._recorder = recorder
        self._leading = leading
        self._states: dict[str, State] = {}
        self._complaints: dict[AccountOwner, str] = {}

    def judge(self, now: int) -> None:
        """Compare every account with what it was, and record what changed."""
        before, self._states = self._states, {}
        for view in self._accounts.all(now):
            uid = view.owner.uid
            if view.reading.running + view.reading.waiting < view.horizon.margin:
                continue
            state = self._states[uid] = view.state
            old = before.get(uid, "ok")
            if state != old:
                self._changed(view, state, old)
        if self._leading():
            self._complain()

    def _changed(self, view: AccountView, state: State, old: State) -> None:
        if state == "violated":
            violations.labels(view.promise.class_name).inc()
        news = _news(view, state, old)
        if news is not None and self._leading():
            reason, note, kind = news
            about = reference(view.owner)
            if kind == "Warning":
                self._recorder.record(about, reason, note, type="Warning")
            else:
                self._recorder.record(about, reason, note)

    def _complain(self) -> None:
        """Record each SLO that cannot be read, once for each mistake."""
        before, self._complaints = self._complaints, dict(self._tracker.complaints)
        for owner, why in self._complaints.items():
            if before.get(owner) != why:
                self._recorder.record(reference(owner), "SLOInvalid", why, type="Warning")


def _news(view: AccountView, state: State, old: State) -> tuple[str, str, str] | None:
    slo, qos = view.slo, view.qos
    if state == "violated":
        return "SLOViolated", f"availability {qos:.4f} is below the promised {slo:g}", "Warning"
    if state == "atRisk" and old == "ok":
        left = duration(view.ttv)
        return "SLOAtRisk", f"the promised {slo:g} will be missed; time left: {left}", "Warning"
    if old == "violated":
        return "SLORecovered", f"availability {qos:.4f} keeps the promised {slo:g} again", "Normal"
    return None


def reference(owner: AccountOwner) -> ObjectReference:
    return ObjectReference(
        api_version=owner.api_version,
        kind=owner.kind,
        namespace=owner.namespace,
        name=owner.name,
        uid=owner.uid,
    )


log = get_logger()
REST = SECOND // 20
"""For each stamp written an account rests so long: a thousand siblings are not stamped again
each time that one of them is bound."""


def account_key(uid: str) -> Key:
    return Key("", uid)


class AccountController(Controller):
    """Begins with all accounts when it gets the lease.

    `at_most_every_s` is the least time between two turns of one account.
    """

    def __init__(
        self,
        name: str,
        reconcile: Reconcile,
        ledger: Ledger,
        *,
        at_most_every_s: float,
    ) -> None:
        super().__init__(name, reconcile, queue=Queue(at_most_every_s=at_most_every_s))
        self.begin_with(lambda: (account_key(uid) for uid in ledger.accounts))

    def enqueue_account(self, uid: str) -> None:
        """Give an account a turn soon, if we lead."""
        self.enqueue(account_key(uid))


class Restamper:
    """The controller's turn: an account's pods get the stamps that they should have."""

    def __init__(self, client: Client, stamper: Stamper, tracker: AccountTracker) -> None:
        self._client = client
        self._stamper = stamper
        self._tracker = tracker
        self._rested_at: dict[str, int] = {}

    async def reconcile(self, key: Key) -> Outcome:
        account = self._tracker.ledger.accounts.get(key.name)
        if account is None:
            self._rested_at.pop(key.name, None)
            return Done()
        now = self._tracker.now()
        pods = self._stamper.waiting_pods(account, now)
        due = [each for each in pods if differs(each.stamp, each.decision.stamp, now)]
        rested_at = self._rested_at.get(key.name, 0)
        if now < rested_at:
            for each in due:
                if each.stamp is None:
                    await self._write(each)
            return After((rested_at - now) / SECOND) if due else self._later(pods, now)
        for each in due:
            await self._write(each)
        self._rested_at[key.name] = now + len(due) * REST
        return self._later(pods, now)

    def _later(self, pods: list[WaitingPod], now: int) -> Outcome:
        """When time alone will change one of the stamps."""
        again = [each.decision.again_at for each in pods if each.decision.again_at is not None]
        return After(max(0.05, (min(again) - now) / SECOND)) if again else Done()

    async def _write(self, waiting: WaitingPod) -> None:
        meta = waiting.pod.metadata
        patch = {
            "metadata": {"uid": meta.uid, "annotations": {ANNOTATION: str(waiting.decision.stamp)}}
        }
        try:
            await self._client.patch(PODS, meta.name, patch, meta.namespace)
        except (NotFound, Conflict):
            return  # gone, or another one by now
        restamps.inc()
        log.debug("pod stamped", pod=str(meta.key), stamp=str(waiting.decision.stamp))
