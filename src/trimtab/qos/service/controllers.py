"""Controllers whose keys are accounts, and the one that writes stamps."""

from trimtab.kube.client import Client
from trimtab.kube.errors import Conflict, NotFound
from trimtab.kube.resources import PODS, Key
from trimtab.kube.runtime.controller import After, Controller, Done, Outcome, Reconcile
from trimtab.kube.runtime.queue import Queue
from trimtab.obs import get_logger
from trimtab.qos.ledger.ledger import Ledger
from trimtab.qos.ledger.time_to_violation import SECOND
from trimtab.qos.queue.key import ANNOTATION, differs
from trimtab.qos.queue.stamper import Stamper, WaitingPod
from trimtab.qos.service.metrics import restamps
from trimtab.qos.tracking.tracker import AccountTracker

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
