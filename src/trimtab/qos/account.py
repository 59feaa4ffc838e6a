"""The account of one controller: its running and waiting time, of all its pods there ever were.

Of pods that ended only sums are kept, so an account stays as small as what is alive. R and W
at any moment are what they were at the last change plus the pace since then: looking costs no
walk over the pods. A VM is one unit however many pods it has: `vmtime` makes its spans.
"""

from collections import deque
from collections.abc import Iterable

from msgspec import Struct, structs

from trimtab.qos.incarnation import Incarnation
from trimtab.qos.spans import Span, pod_spans
from trimtab.qos.sums import COUNTED, Base, Reading, Sums, Window
from trimtab.qos.ttv import SECOND, Pace, faded, faded_span
from trimtab.qos.vmtime import Life, fold_until, vm_spans

SETTLE = 10 * SECOND
"""For so long an ended pod is kept: the scheduler's word about it may still come."""
HISTORY = 64


class Owner(Struct, frozen=True, rename="camel"):
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

    def __init__(self, owner: Owner, *, half_life: int = 0) -> None:
        self.owner = owner
        self.closed = Sums()
        self.window = Window(half_life)
        self.pods: dict[str, Incarnation] = {}
        self.done: set[str] = set()
        """Pods that are in the sums already but still there: they must not count twice."""
        self.life = Life()
        self.incarnations = 0
        self.approximate = 0
        self.gap = 0
        """Nanoseconds of which nothing is known: the watch had to start anew."""
        self.history: deque[Transition] = deque(maxlen=HISTORY)
        self.sequence = 0
        self._base: Base | None = None

    def observe(
        self, facts: Incarnation, changed: int | None = None, known_until: int = 0
    ) -> Incarnation | None:
        """Take in a pod as it is since `changed`; what is known of it now, if that is news.

        What we knew of it held until `known_until` at least.
        """
        if facts.uid in self.done:
            return None
        known, news = self.pods.get(facts.uid), False
        if known is None:
            known = self.pods[facts.uid] = structs.replace(facts, ended=None, vague=False)
            self.incarnations += 1
            news = True
        since = facts.latest() if changed is None else changed
        if not known.learn(facts, since, 0 if news else known_until) and not news:
            return None
        self._changed()
        return known

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

    def lose(self, uid: str, known_until: int, now: int) -> None:
        """A pod vanished while nobody watched: it counts until it was last seen."""
        pod = self.pods.get(uid)
        if pod is not None and pod.ended is None:
            pod.close(known_until)
            self.gap += max(0, now - known_until)
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
        for kind in Sums.__struct_fields__:
            self.closed.add(kind, getattr(other.closed, kind))
        self.window.advance(other.window.as_of)
        other.window.advance(self.window.as_of)
        self.window.running += other.window.running
        self.window.waiting += other.window.waiting
        self.pods |= other.pods
        self.done |= other.done
        self.incarnations += other.incarnations
        self.approximate += other.approximate
        self.gap += other.gap
        self._changed()

    def settle(self, now: int, present: Iterable[str] = ()) -> None:
        """Put what cannot change any more into the sums; `present` pods are remembered by uid."""
        over = [p for p in self.pods.values() if p.ended is not None and p.ended <= now - SETTLE]
        if not over:
            return
        if self.owner.is_vm:
            over = self._settle_vm(over)
        else:
            for pod in over:
                self._take(pod_spans(pod))
        still_there = set(present)
        for pod in over:
            del self.pods[pod.uid]
            self.closed.about += pod.about_binding
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
            self.window.take(span)

    def at(self, now: int) -> Reading:
        """The account at `now`; a clock that went backwards finds it as it was."""
        base = self._base or self._compute()
        passed = max(0, now - base.at)
        running = base.running + base.running_now * passed
        waiting = base.waiting + base.waiting_now * passed
        credited, charged = running, waiting
        if self.window.half_life:
            credited, charged = self._faded(base, passed)
        gated = base.gated + base.gated_now * passed
        return Reading(
            running,
            waiting,
            base.binding,
            credited,
            charged,
            base.about,
            base.pace,
            gated,
            base.gated_now,
        )

    def latest(self) -> int:
        """When something last changed."""
        return (self._base or self._compute()).at

    def _faded(self, base: Base, passed: int) -> tuple[int, int]:
        half_life = self.window.half_life
        weight = faded_span(0, passed, passed, half_life)
        return (
            round(faded(base.window.running, passed, half_life) + base.pace.running * weight),
            round(faded(base.window.waiting, passed, half_life) + base.pace.waiting * weight),
        )

    def _spans(self) -> list[Span]:
        if self.owner.is_vm:
            return vm_spans(self.pods.values(), self.life)
        return [span for pod in self.pods.values() for span in pod_spans(pod)]

    def _compute(self) -> Base:
        spans = self._spans()
        sums = Sums(*(getattr(self.closed, f) for f in Sums.__struct_fields__))
        moments = [span.start for span in spans] + [span.end or 0 for span in spans]
        latest = max([*moments, self.window.as_of])
        window = Window(self.window.half_life, self.window.as_of)
        window.running, window.waiting = self.window.running, self.window.waiting
        window.advance(latest)
        pace = dict.fromkeys(("running", "waiting", "binding", "gated"), 0)
        for span in spans:
            pace[span.kind] += span.end is None
            done = Span(span.kind, span.start, latest if span.end is None else span.end)
            sums.add(span.kind, done.length)
            if span.kind in COUNTED and window.half_life:
                weight = faded_span(done.start, done.end or latest, latest, window.half_life)
                setattr(window, span.kind, getattr(window, span.kind) + weight)
        sums.about += sum(pod.about_binding for pod in self.pods.values())
        unmeasured = sum(p.bound is not None and not p.exact for p in self.pods.values())
        self._base = Base(
            latest,
            sums.running,
            sums.waiting,
            sums.binding + sums.about,
            pace["running"],
            pace["waiting"],
            self.approximate + unmeasured > 0,
            Pace(pace["running"], pace["waiting"]),
            window,
            sums.gated,
            pace["gated"],
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
