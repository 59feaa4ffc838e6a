"""The cluster as the descheduler's informers may have seen it when a cycle began. Pure.

Our watch and the descheduler's hear of a change within fractions of a second of each other,
in the same order. So around a cycle there are a few states to choose from: one after each
change that was heard shortly before the cycle began or before it ended.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from trimtab.fidelity.recording import PodVersion, moment
from trimtab.model.snapshot import SnapshotPod
from trimtab.observe.descheduler_log import LoggedCycle
from trimtab.policy.cycle import PodOutcome
from trimtab.policy.inflight import EMPTY, InFlight, PodEvent
from trimtab.policy.snapshot_view import state_of

BEFORE_S, AFTER_S = 3.0, 1.0
"""How far the descheduler's watch may be behind ours, and ours behind its, if all are busy."""


class RunState(Struct, frozen=True, eq=False):
    """Pods by uid and the in-flight cache, after some changes."""

    pods: dict[str, SnapshotPod]
    in_flight: InFlight = EMPTY

    def after(self, change: PodVersion) -> "RunState":
        uid, pods = change.pod.uid, dict(self.pods)
        old = pods.pop(uid, None)
        if not change.gone:
            pods[uid] = change.pod
        return RunState(pods, self.in_flight.observe(_event(change, old)))

    def assuming(self, pods: Sequence[SnapshotPod], now: float) -> "RunState":
        """After evictions that were granted in background."""
        in_flight = self.in_flight
        for pod in pods:
            in_flight = in_flight.assume(pod.uid, pod.node, pod.namespace, now)
        return RunState(self.pods, in_flight)


def _name(pod: SnapshotPod) -> str:
    return f"{pod.namespace}/{pod.name}"


def _event(change: PodVersion, old: SnapshotPod | None) -> PodEvent:
    if change.gone:
        return PodEvent("deleted", state_of(change.pod))
    if old is None:
        return PodEvent("added", state_of(change.pod))
    return PodEvent("updated", state_of(change.pod), state_of(old))


class StateHistory:
    """Goes through the changes of a run, cycle by cycle."""

    def __init__(self, changes: Sequence[PodVersion]) -> None:
        self._changes, self._next = changes, 0
        self._state = RunState({})

    def around(self, cycle: LoggedCycle) -> Iterator[RunState]:
        """The states that the cycle may have seen, the likeliest first."""
        began, ended = moment(cycle.began), moment(cycle.ended)
        while self._next < len(self._changes) and self._at(self._next) < began - BEFORE_S:
            self._state = self._state.after(self._changes[self._next])
            self._next += 1
        states, likely = [self._state], 0
        victims = {note.pod for note in cycle.notes}
        for change in self._changes[self._next :]:
            if change.at > ended + AFTER_S:
                break
            if change.at > began and _name(change.pod) in victims:
                continue  # that is what came of the cycle
            states.append(states[-1].after(change))
            likely += change.at <= began
        yield states[likely]
        for away in range(1, len(states)):
            for at in (likely - away, likely + away):
                if 0 <= at < len(states):
                    yield states[at]

    def settle(self, cycle: LoggedCycle) -> None:
        """Remember what the cycle asked for: from now on it is in flight."""
        named = {_name(pod): pod for pod in self._known()}
        asked = [n.pod for n in cycle.notes if n.outcome is PodOutcome.BACKGROUND]
        pods = [named[name] for name in asked if name in named]
        self._state = self._state.assuming(pods, moment(cycle.ended))

    def _known(self) -> Iterator[SnapshotPod]:
        yield from self._state.pods.values()
        for change in self._changes[self._next :]:
            if not change.gone:
                yield change.pod

    def _at(self, number: int) -> float:
        return self._changes[number].at
