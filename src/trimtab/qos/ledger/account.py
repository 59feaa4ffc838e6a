"""The account of one controller: its running and waiting time, of all its pods there ever were.

Of pods that ended only sums are kept, so an account stays as small as what is alive. R and W
at any moment are what they were at the last change plus the pace since then: looking costs no
walk over the pods. A VM is one unit however many pods it has: `vm_time` makes its spans.
"""

from collections import deque
from collections.abc import Iterable

from msgspec import Struct, structs

from trimtab.qos.ledger.pod_life import Incarnation
from trimtab.qos.ledger.pod_moments import Observation
from trimtab.qos.ledger.spans import AS_USUAL, Counting, Span, pod_spans
from trimtab.qos.ledger.sums import AccountReading, Base, FadingWindow, TimeSums, base_of
from trimtab.qos.ledger.time_to_violation import SECOND
from trimtab.qos.ledger.vm_time import Life, fold_until, vm_spans

SETTLE = 10 * SECOND
"""For so long an ended pod is kept: the scheduler's word about it may still come."""
HISTORY = 64


class AccountOwner(Struct, frozen=True, rename="camel"):
    """The top controller that an account belongs to."""

    uid: str
    kind: str
    name: str
    namespace: str
    api_version: str = "v1"

    @property
    def is_vm(self) -> bool:
        return self.kind in ("VirtualMachine", "VirtualMachineInstance")


class Transition(Struct, frozen=True):
    """A line of an account's history."""

    at: int
    pod: str
    what: str


class Account:
    """All that is known about one owner's pods."""

    def __init__(self, owner: AccountOwner, counting: Counting = AS_USUAL) -> None:
        self.owner = owner
        self.counting = counting
        self.closed = TimeSums()
        self.window = FadingWindow(counting.half_life)
        self.pods: dict[str, Incarnation] = {}
        self.done: set[str] = set()
        """Pods that are in the sums already but still there: they must not count twice."""
        self.left: dict[str, int] = {}
        """Pods that another account has from a moment on: what was before stays in this one."""
        self.life = Life()
        self.known_until = 0
        """Up to then all was as it was written down, if it was read back."""
        self.provisional = False
        """Somebody above the owner may turn up, and then this becomes his account."""
        self.incarnations = 0
        self.approximate = 0
        self.gap = 0
        """Nanoseconds of which nothing is known: the watch had to start again."""
        self.history: deque[Transition] = deque(maxlen=HISTORY)
        self.sequence = 0
        self._base: Base | None = None

    def observe(self, facts: Incarnation, sight: Observation | None = None) -> Incarnation | None:
        """Take in a pod as it is; what is known of it now, if that is news."""
        if facts.uid in self.done:
            return None
        sight = sight or Observation(facts.latest(), facts.latest())
        known, first = self.pods.get(facts.uid), facts.uid not in self.pods
        if known is None:
            known = self.pods[facts.uid] = structs.replace(facts, ended=None, vague=False, turns=[])
            self.incarnations += 1
        alive, until = known.ended is None, 0 if first else max(self.known_until, sight.known_until)
        turns, by_ready = len(known.turns), self.counting.by_ready
        gated = known.is_gated
        if not known.learn(facts, sight.changed, until, by_ready=by_ready) and not first:
            return None
        if len(known.turns) - turns == 2:  # it was not ready in between, for an unknown time
            self.gap += known.turns[-1] - known.turns[-2]
        if gated and known.ungated is not None and not sight.witnessed:
            self.gap += max(0, known.ungated - max(until, known.created))
        if facts.vague and facts.ended is None and alive and known.ended is not None:
            self.gap += max(0, sight.now - known.ended)
        self._changed()
        return known

    def leave(self, uid: str, at: int) -> int:
        """A pod belongs to somebody else from `at` on; the moment that its time here ends.

        It may come back, so it is kept under another name.
        """
        self.done.discard(uid)
        pod = self.pods.pop(uid, None)
        if pod is not None:
            at = max(at, pod.latest())
            pod.close(at)
            pod.uid = f"{uid}@{at}"
            self.pods[pod.uid] = pod
        self.left[uid] = at
        self._changed()
        return at

    def shorten(self, name: str, at: int) -> int:
        """What was kept of a pod that left ended at `at` already; the moment that it does."""
        pod = self.pods.pop(name)
        pod.ended = min(pod.ended or at, max(at, pod.bound or pod.created))
        uid = name.partition("@")[0]
        pod.uid = f"{uid}@{pod.ended}"
        self.pods[pod.uid] = pod
        self.left[uid] = pod.ended
        self._changed()
        return pod.ended

    def cede(self, uid: str, to: "Account") -> int:
        """Another account has the pod too, and was written down later; since when it is there."""
        there = to.pods.get(uid)
        if there is not None:
            return self.leave(uid, there.created)
        at = self.leave(uid, self.known_until)  # it is in the other's sums since an unknown time
        self.gap += max(0, to.known_until - at)
        return at

    def join(self, facts: Incarnation, since: int) -> None:
        """A pod belongs to this account from `since` on: what was before is in another one."""
        pod = facts.part_since(since)
        self.pods[pod.uid] = pod
        self.incarnations += self.left.pop(pod.uid, None) is None
        self._changed()

    def measure(self, uid: str, start: int, end: int) -> bool:
        """The scheduler tells when it bound a pod."""
        pod = self.pods.get(uid)
        news = pod is not None and pod.measure(start, end)
        if news:
            self._changed()
        return news

    def forget(self, uid: str, at: int) -> Incarnation | None:
        """A pod object is gone; the incarnation if that is what ended it."""
        self.done.discard(uid)
        pod = self.pods.get(uid)
        if pod is None or not pod.close(at):
            return None
        self._changed()
        return pod

    def note(self, at: int, pod: str, what: str) -> None:
        self.history.append(Transition(at, pod, what))

    def lose(self, uid: str, at: int, unknown: int) -> None:
        """A pod vanished unseen: it counts until `at`, give or take `unknown`."""
        pod = self.pods.get(uid)
        if pod is not None and pod.ended is None:
            pod.close(at)
            self.gap += max(0, unknown)
            self._changed()

    def unwatched(self, since: int, now: int, *, begun: int = 0, told: int = 0) -> None:
        """The watch was interrupted since `since`; pods may have come and gone: that is a gap.

        So much was `told` of it already, and the owner is there since it was `begun`. To a bare
        pod, and to a VM that ran all the time, a pod that nobody saw makes no difference.
        """
        alone = self.owner.is_vm or self.owner.kind == "Pod"
        there = any(pod.created <= since and pod.ended is None for pod in self.pods.values())
        unknown = now - max(since, begun) - told
        if unknown > 0 and not (alone and there):
            self.gap += unknown
            self._changed()

    def want(self, wanted: bool, at: int) -> None:
        """A VM is to run, or is not."""
        if self.life.want(wanted, at):
            self._changed()

    def begin(self, at: int) -> None:
        """A VM exists since then, though it has no pod yet."""
        if self.life.since is None or at < self.life.since:
            self.life.since = at
            self._changed()

    def absorb(self, other: "Account") -> None:
        """Another account turns out to be this one's."""
        for kind in TimeSums.__struct_fields__:
            self.closed.add(kind, getattr(other.closed, kind))
        self.window.advance(other.window.as_of)
        other.window.advance(self.window.as_of)
        self.window.running += other.window.running
        self.window.waiting += other.window.waiting
        self.pods |= other.pods
        self.done |= other.done
        self.left |= other.left
        self.incarnations += other.incarnations
        self.approximate += other.approximate
        self.gap += other.gap
        self._changed()

    def settle(self, now: int, present: Iterable[str] = ()) -> None:
        """Put what cannot change any more into the sums; `present` pods are remembered by uid."""
        still_there = set(present)
        over = [
            pod
            for pod in self.pods.values()
            if pod.ended is not None
            and pod.ended <= now - SETTLE
            and not (pod.joined and pod.uid in still_there)  # since when it is here matters
        ]
        if not over:
            return
        if self.owner.is_vm:
            over = self._settle_vm(over)
        else:
            for pod in over:
                self._take(pod_spans(pod, self.counting))
        for pod in over:
            del self.pods[pod.uid]
            self.closed.about += 0 if self.counting.charge_binding else pod.about_binding
            self.approximate += not pod.exact and pod.bound is not None
            if pod.uid in still_there:
                self.done.add(pod.uid)
        self._base = None

    def _settle_vm(self, over: list[Incarnation]) -> list[Incarnation]:
        until = fold_until(self.pods.values(), over)
        self._take(span.before(until) for span in self._spans() if span.start < until)
        self.life.settle(until)
        return [pod for pod in over if (pod.ended or 0) <= until]

    def _take(self, spans: Iterable[Span]) -> None:
        for span in spans:
            self.closed.add(span.kind, span.length)
            self.window.take(span, self.counting)

    def at(self, now: int) -> AccountReading:
        """The account at `now`; a clock that went backwards finds it as it was."""
        return (self._base or self._compute()).reading(now)

    def latest(self) -> int:
        """When something last changed."""
        return (self._base or self._compute()).at

    def _spans(self) -> list[Span]:
        if self.owner.is_vm:
            return vm_spans(self.pods.values(), self.life, self.counting)
        return [span for pod in self.pods.values() for span in pod_spans(pod, self.counting)]

    def _compute(self) -> Base:
        self._base = base_of(
            self.closed,
            self.window,
            self._spans(),
            self.pods.values(),
            self.counting,
            self.approximate,
        )
        return self._base

    def _changed(self) -> None:
        self.sequence += 1
        self._base = None

    @property
    def waiting_pods(self) -> list[Incarnation]:
        return [pod for pod in self.pods.values() if pod.waits]

    @property
    def is_empty(self) -> bool:
        return not self.pods and not self.done
