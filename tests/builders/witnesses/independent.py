"""A second account of running, waiting and gated time, kept from watch events alone.

It shares no code with the service's ledger and knows no checkpoints: it is told every event at
the moment at which it happens and adds up the time between them.
"""

from collections import Counter, defaultdict
from typing import Any

Pod = dict[str, Any]
Place = tuple[str, str]
"""An account, by uid, and a state in it."""
BEST = ("running", "waiting", "gated")


class Independent:
    def __init__(self) -> None:
        self.sums: defaultdict[str, defaultdict[str, float]] = defaultdict(
            lambda: defaultdict(float)
        )
        self.transitions: Counter[str] = Counter()
        """Changes that concerned an account: each may be known to a second only."""
        self._pods: dict[str, Place] = {}
        self._above: dict[str, str] = {}
        self._vms: set[str] = set()
        self._now: float | None = None

    def vm(self, now: float, uid: str) -> None:
        """A VirtualMachine is there: it waits until one of its pods runs."""
        self.pass_time(now)
        self._vms.add(uid)

    def replica_set(self, now: float, uid: str, controller: str) -> None:
        """A ReplicaSet has this controller from now on; empty: none."""
        self.pass_time(now)
        before, after = self._above.get(uid) or uid, controller or uid
        self._above[uid] = controller
        for pod, (account, state) in self._pods.items():
            if account == before:
                self._put(pod, (after, state))

    def see(self, now: float, event: str, pod: Pod) -> None:
        """A pod was added, modified or deleted."""
        self.pass_time(now)
        uid = pod["metadata"]["uid"]
        if event == "DELETED":
            account, _ = self._pods.pop(uid, (self._account(pod), ""))
            self.transitions[account] += 1
            return
        over = self._pods.get(uid, ("", ""))[1] == "over"
        self._put(uid, (self._account(pod), "over" if over else state_of(pod)))

    def _put(self, uid: str, place: Place) -> None:
        before = self._pods.get(uid)
        if before != place:
            self.transitions.update({place[0], *([before[0]] if before else [])})
            self._pods[uid] = place

    def _account(self, pod: Pod) -> str:
        owners = pod["metadata"].get("ownerReferences", ())
        direct = next((each["uid"] for each in owners if each.get("controller")), None)
        return pod["metadata"]["uid"] if direct is None else self._above.get(direct) or direct

    def pass_time(self, now: float) -> None:
        """Everything stayed as it was until `now`."""
        passed = now - (now if self._now is None else self._now)
        self._now = now
        states: defaultdict[str, list[str]] = defaultdict(list)
        for account, state in self._pods.values():
            states[account].append(state)
        for account in self._vms:
            of_pods = [each for each in states[account] if each in BEST]
            states[account] = [min(of_pods, key=BEST.index, default="waiting")]
        for account, there in states.items():
            for state in there:
                self.sums[account][state] += passed


def state_of(pod: Pod) -> str:
    if pod["metadata"].get("deletionTimestamp"):
        return "over"
    if pod.get("status", {}).get("phase") in ("Failed", "Succeeded"):
        return "over"
    if pod["spec"].get("nodeName"):
        return "running"
    return "gated" if pod["spec"].get("schedulingGates") else "waiting"
