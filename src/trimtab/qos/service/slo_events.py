"""Events about promises: at risk, broken, kept again, or not to be read; and a count.

An account is judged every few seconds. One that has hardly lived is not: everybody waits at
first. The recorder joins repetitions and bounds the noise.
"""

from collections.abc import Callable
from typing import Literal

from trimtab.kube.events import EventRecorder
from trimtab.kube.resources import ObjectReference
from trimtab.qos.ledger.account import AccountOwner
from trimtab.qos.page.slo_status import AccountView, AccountViews, State
from trimtab.qos.page.text import duration
from trimtab.qos.service.metrics import violations
from trimtab.qos.tracking.tracker import AccountTracker

EventType = Literal["Normal", "Warning"]


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
            self._recorder.record(reference(view.owner), reason, note, type=kind)

    def _complain(self) -> None:
        """Record each SLO that cannot be read, once for each mistake."""
        before, self._complaints = self._complaints, dict(self._tracker.complaints)
        for owner, why in self._complaints.items():
            if before.get(owner) != why:
                self._recorder.record(reference(owner), "SLOInvalid", why, type="Warning")


def _news(view: AccountView, state: State, old: State) -> tuple[str, str, EventType] | None:
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
