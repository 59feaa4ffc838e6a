"""One pod's life as three moments: created, bound, ended.

What the API says about a pod is true whenever it is read, so reading it twice, late or out of
order makes no difference, and a ledger can be rebuilt from it. The API's times are whole
seconds; whoever sees a change happen knows the moment better, within that second.
"""

from datetime import datetime
from itertools import pairwise

from msgspec import Struct, field, structs

from trimtab.kube.resources import Condition, Container, Kind, Object, ObjectMeta, Wire
from trimtab.qos.ledger.time_to_violation import SECOND

MIRROR = "kubernetes.io/config.mirror"
"""Annotation of a static pod's copy: no scheduler has to do with it."""
STAMP = "qos.trimtab.dev/key"
"""The annotation that holds a pod's place in the queue."""


MOST_TURNS = 64
"""Of a pod that turns ready and not ready more often, the shortest times are not counted."""


class Written(Wire, frozen=True):
    """An entry of managedFields: when somebody last changed what is his."""

    time: datetime | None = None
    subresource: str = ""


class PodMeta(ObjectMeta, frozen=True):
    deletion_grace_period_seconds: int | None = None
    managed_fields: tuple[Written, ...] = ()


class SchedulingGate(Wire, frozen=True):
    name: str = ""


class Terminated(Wire, frozen=True):
    finished_at: datetime | None = None


class ContainerState(Wire, frozen=True):
    terminated: Terminated | None = None


class ContainerStatus(Wire, frozen=True):
    state: ContainerState = ContainerState()


class LifeSpec(Wire, frozen=True):
    node_name: str = ""
    scheduler_name: str = ""
    priority: int | None = None
    priority_class_name: str = ""
    containers: tuple[Container, ...] = ()
    scheduling_gates: tuple[SchedulingGate, ...] = ()


class LifeStatus(Wire, frozen=True):
    phase: str = ""
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    start_time: datetime | None = None


class LifePod(Object, frozen=True):
    """A pod, as far as its life and its promise are concerned."""

    metadata: PodMeta = PodMeta()
    spec: LifeSpec = LifeSpec()
    status: LifeStatus = LifeStatus()

    def condition(self, name: str) -> Condition | None:
        return next((each for each in self.status.conditions if each.type == name), None)


LIFE_PODS = Kind("", "v1", "pods", "Pod", LifePod)


class Incarnation(Struct, omit_defaults=True, rename="camel"):
    """A pod in an account; moments in nanoseconds since 1970."""

    uid: str
    created: int
    name: str = ""
    bind_start: int | None = None
    bound: int | None = None
    ended: int | None = None
    exact: bool = False
    """The binding was measured by the scheduler."""
    started: int | None = None
    """When the kubelet took it; without the scheduler's word that ends the binding, about."""
    gated: bool = False
    """Its scheduling gates kept it from the scheduler at first."""
    ungated: int | None = None
    """When the last of them was removed."""
    joined: bool = False
    """It came from another account, at `created`."""
    turns: list[int] = field(default_factory=list)
    """When it became ready, then not ready, and so on; kept only where that counts."""
    vague: bool = False
    """Of a pod object alone: it is over, and `ended` is a clue at best."""

    @property
    def is_over(self) -> bool:
        return self.ended is not None or self.vague

    @property
    def waits(self) -> bool:
        """Whether it waits for the scheduler."""
        return self.bound is None and self.ended is None and not self.is_gated

    @property
    def is_gated(self) -> bool:
        """Whether it waits for its gates, and the scheduler does not look at it."""
        return self.gated and self.ungated is None and self.bound is None and self.ended is None

    @property
    def waits_since(self) -> int:
        """When it came to the scheduler; its end if it never did."""
        if not self.gated:
            return self.created
        ends = (self.ungated, self.bind_start, self.bound, self.ended)
        return min((end for end in ends if end is not None), default=self.created)

    @property
    def runs(self) -> bool:
        return self.bound is not None and self.ended is None

    def latest(self) -> int:
        return max(self.created, self.bind_start or 0, self.bound or 0, self.ended or 0)

    def learn(
        self, facts: "Incarnation", changed: int, known_until: int = 0, *, by_ready: bool = False
    ) -> bool:
        """Take in what a pod object says; true if it is news.

        The object became what it is at `changed`; up to `known_until` all was as we know it.
        """
        before = (self.bound, self.ended, self.started, self.ungated, len(self.turns))
        if self.gated and self.ungated is None and not facts.gated:
            self.ungated = max(self.created, changed)
        if self.bound is None and facts.bound is not None:
            self.bound = max(facts.bound, self.created)
            if self.ended is not None:
                self.bound = min(self.bound, self.ended)
        if self.bound is not None and self.ungated is not None:
            self.ungated = min(self.ungated, self.bound)
        self._learn_end(facts, known_until)
        if by_ready and self.bound is not None:
            self._learn_ready(facts, known_until)
        self.started = self.started or facts.started
        return before != (self.bound, self.ended, self.started, self.ungated, len(self.turns))

    def _learn_ready(self, facts: "Incarnation", known_until: int) -> None:
        if not facts.turns:
            return
        last = self.turns[-1] if self.turns else self.bound or self.created
        told = max(facts.turns[-1], last)
        if facts.is_ready != self.is_ready:
            self.turns.append(told)
        elif self.is_ready and told - last > SECOND:  # not ready in between, unseen
            self.turns += [min(max(last, known_until), told), told]
        if len(self.turns) > MOST_TURNS:
            lengths = [end - start for start, end in pairwise(self.turns)]
            shortest = lengths.index(min(lengths))
            del self.turns[shortest : shortest + 2]

    @property
    def is_ready(self) -> bool:
        return len(self.turns) % 2 == 1

    def _learn_end(self, facts: "Incarnation", known_until: int) -> None:
        if facts.vague:
            if self.ended is None:  # a clue never corrects what is known
                self.ended = max(facts.ended or 0, known_until, self.latest())
        elif facts.ended is not None:
            ended = max(facts.ended, self.bound or self.created)
            self.ended = ended if self.ended is None else _earlier(self.ended, ended)

    def part_since(self, since: int) -> "Incarnation":
        """The pod in the account that it came to at `since`: what was before is in another one."""
        part = structs.replace(
            self, created=max(self.created, since), ended=None, vague=False, turns=[], joined=True
        )
        if part.bound is not None and part.bound <= since:
            part.bound = part.bind_start = since
            part.exact, part.started = True, None  # its binding is in the other account
        if part.ungated is not None:
            part.ungated = max(part.ungated, since)
        return part

    def measure(self, start: int, end: int) -> bool:
        """The scheduler's own times of the binding; true if they are news."""
        if self.exact:
            return False
        # who saw the pod come saw it late: the scheduler may have had it before. Not before the
        # second of its creation, though: then clocks differ, and only the length is certain
        self.bind_start = max(start, self.created - self.created % SECOND)
        self.created = min(self.created, self.bind_start)
        self.bound = self.bind_start + max(0, end - start)
        if self.ended is not None:
            self.ended = max(self.ended, self.bound)
        if self.ungated is not None:
            self.ungated = min(self.ungated, self.bind_start)
        self.exact = True
        return True

    def close(self, at: int) -> bool:
        """It is gone, and nothing says since when."""
        if self.ended is not None:
            return False
        self.ended = max(at, self.latest())
        return True

    @property
    def about_binding(self) -> int:
        """What the binding took, to the second, where the scheduler did not say."""
        if self.exact or self.bound is None or self.started is None:
            return 0
        return max(0, self.started - self.bound)


def _earlier(known: int, told: int) -> int:
    """The first end counts; the same second reported again is the same moment."""
    return known if abs(known - told) < SECOND else min(known, told)
