"""Word of promises at risk, broken and kept again: Events on the owner, and a count.

An account is judged every few seconds. One that has hardly lived is not: everybody waits at
first. The recorder joins repetitions and bounds the noise.
"""

from collections.abc import Callable

from trimtab.kube.events import Recorder
from trimtab.kube.resources import ObjectReference
from trimtab.qos.ledger.account import Owner
from trimtab.qos.page.page import duration
from trimtab.qos.page.row import State
from trimtab.qos.page.rows import Book, Standing
from trimtab.qos.queue.stamper import Stamper
from trimtab.qos.service.metrics import violations


class Signals:
    def __init__(
        self, book: Book, stamper: Stamper, recorder: Recorder, leading: Callable[[], bool]
    ) -> None:
        self._book = book
        self._stamper = stamper
        self._recorder = recorder
        self._leading = leading
        self._states: dict[str, State] = {}

    def judge(self, now: int) -> None:
        """Compare every account with what it was, and tell the difference."""
        before, self._states = self._states, {}
        for standing in self._book.standings(now):
            uid = standing.account.owner.uid
            reading = standing.account.at(now)
            margin = self._stamper.horizon(standing.account.owner).margin
            if reading.running + reading.waiting < margin:
                continue
            self._states[uid] = standing.state
            old = before.get(uid, "ok")
            if standing.state != old:
                self._tell(standing, old)

    def _tell(self, standing: Standing, old: State) -> None:
        if standing.state == "violated":
            violations.labels(standing.promise.class_name).inc()
        news = _news(standing, old)
        if news is not None and self._leading():
            reason, note, kind = news
            about = reference(standing.account.owner)
            if kind == "Warning":
                self._recorder.record(about, reason, note, type="Warning")
            else:
                self._recorder.record(about, reason, note)

    def complain(self, owner: Owner, why: str) -> None:
        """An SLO could not be read."""
        if self._leading():
            self._recorder.record(reference(owner), "SLOInvalid", why, type="Warning")


def _news(standing: Standing, old: State) -> tuple[str, str, str] | None:
    slo, qos = standing.promise.slo, standing.qos
    if standing.state == "violated":
        return "SLOViolated", f"availability {qos:.4f} is below the promised {slo:g}", "Warning"
    if standing.state == "atRisk" and old == "ok":
        left = duration(standing.ttv)
        return "SLOAtRisk", f"the promised {slo:g} will be missed; time left: {left}", "Warning"
    if old == "violated":
        return "SLORecovered", f"availability {qos:.4f} keeps the promised {slo:g} again", "Normal"
    return None


def reference(owner: Owner) -> ObjectReference:
    return ObjectReference(
        api_version=owner.api_version,
        kind=owner.kind,
        namespace=owner.namespace,
        name=owner.name,
        uid=owner.uid,
    )
