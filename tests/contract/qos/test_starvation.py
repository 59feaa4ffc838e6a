"""Whom the order serves, played with the product's own key: a queue in which places become free.

Pods are of one size. With S the SLO and n the replicas of each controller, and C places:

1. Whoever is urgent is passed by urgent pods of higher promises only, and those are below their
   promise: over a long time they take no more than the sum of S n. So a class is served if the
   sum of S n over itself and all classes above it leaves a place, whatever is asked for below.
2. Whoever is not urgent, an SLO of 0 included, waits no longer than the ageing until it is before
   all others who are not urgent. So it is served if the sum of all S n leaves a place.
3. Where the classes above take all places, a lower one waits: that is what they were promised.
"""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from builders.examples import FULL, examples
from builders.values.qos import START
from trimtab.qos.ledger.time_to_violation import SECOND, AccountGrowth, time_to_violation
from trimtab.qos.queue.key import Horizon, Place, PodSituation, SortKey, queue_key

HORIZON = Horizon(margin=30 * SECOND, ageing=600 * SECOND)
LONGEST_LIFE_S = 30.0
HOURS = 2 if FULL else 1
"""Longer than any wait that a test below allows for: at most 2,280 s."""


class Controller:
    """Replicas of one promise, with the account that the key is made of."""

    def __init__(self, slo: float, replicas: int) -> None:
        self.slo, self.replicas = slo, replicas
        self.running = self.waiting = 0
        self.since = 0
        self.pace = AccountGrowth(0, 0)
        self.longest_wait_s = 0.0

    def advance(self, now: int, running: int = 0, waiting: int = 0) -> None:
        """Account for the time since the last change, then change the pace."""
        passed = now - self.since
        self.running += self.pace.running * passed
        self.waiting += self.pace.waiting * passed
        self.since = now
        self.pace = AccountGrowth(self.pace.running + running, self.pace.waiting + waiting)

    def ttv(self, now: int) -> int | None:
        passed = now - self.since
        running = self.running + self.pace.running * passed
        waiting = self.waiting + self.pace.waiting * passed
        return time_to_violation(running, waiting, self.slo)


class Waiting(Struct):
    uid: str
    controller: Controller
    created: int


class Game:
    """Places that become free at random moments; the first by key gets each."""

    def __init__(self, places: int, controllers: list[Controller], seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self._places = places
        self._numbers = itertools.count()
        self._queue: list[Waiting] = []
        self._ends: list[tuple[int, Controller]] = []
        self.now = START * SECOND
        self.controllers = controllers
        for controller in controllers:
            controller.since = self.now
            for _ in range(controller.replicas):
                self._wait(controller)

    def _wait(self, controller: Controller) -> None:
        controller.advance(self.now, waiting=1)
        self._queue.append(Waiting(f"{next(self._numbers):09}", controller, self.now))

    def _key(self, pod: Waiting) -> SortKey:
        owner = pod.controller
        situation = PodSituation(self.now, pod.created, owner.ttv(self.now), owner.slo, owner.pace)
        stamp = queue_key(situation, HORIZON).stamp
        return Place(str(stamp), pod.created, pod.uid).sort_key

    def _serve(self) -> None:
        while self._queue and len(self._ends) < self._places:
            pod = min(self._queue, key=self._key)
            self._queue.remove(pod)
            self._waited(pod)
            pod.controller.advance(self.now, running=1, waiting=-1)
            life_s = self._random.uniform(1.0, LONGEST_LIFE_S)
            self._ends.append((self.now + round(life_s * SECOND), pod.controller))

    def _waited(self, pod: Waiting) -> None:
        waited_s = (self.now - pod.created) / SECOND
        pod.controller.longest_wait_s = max(pod.controller.longest_wait_s, waited_s)

    def play(self, hours: float) -> None:
        end = self.now + round(hours * 3600) * SECOND
        self._serve()
        while True:
            first = min(self._ends, key=lambda each: each[0])
            if first[0] > end:
                break
            self._ends.remove(first)
            self.now, controller = first
            controller.advance(self.now, running=-1)
            self._wait(controller)
            self._serve()
        self.now = end
        for pod in self._queue:  # who still waits has waited so far
            self._waited(pod)


def bound_s(controllers: list[Controller]) -> float:
    """Generous, and it does not grow with time: the ageing, and turns of everybody."""
    pods = sum(each.replicas for each in controllers)
    return 600 + 2 * pods * LONGEST_LIFE_S


promises = st.tuples(st.sampled_from([1.0, 0.99, 0.9, 0.8, 0.5, 0.2, 0.0]), st.integers(1, 4))
some = settings(max_examples=examples(4, full=30))


def played(places: int, promised: list[tuple[float, int]], seed: int) -> Game:
    game = Game(places, [Controller(slo, replicas) for slo, replicas in promised], seed)
    game.play(HOURS)
    return game


@some
@given(st.lists(promises, min_size=1, max_size=6), st.integers(0, 99))
def test_everybody_is_served_where_the_promises_leave_a_place(
    promised: list[tuple[float, int]], seed: int
) -> None:
    places = 1 + int(np.ceil(sum(slo * replicas for slo, replicas in promised)))
    game = played(places, promised, seed)
    for each in game.controllers:
        assert each.longest_wait_s <= bound_s(game.controllers), (each.slo, each.longest_wait_s)


@some
@given(
    st.lists(promises.filter(lambda each: each[0] >= 0.8), min_size=1, max_size=4),
    st.integers(1, 40),
    st.integers(0, 99),
)
def test_whatever_is_promised_below_the_classes_above_are_served(
    above: list[tuple[float, int]], flood: int, seed: int
) -> None:
    places = 1 + int(np.ceil(sum(slo * replicas for slo, replicas in above)))
    game = played(places, [*above, (0.5, flood)], seed)
    upper = game.controllers[:-1]
    for each in upper:
        assert each.longest_wait_s <= bound_s(upper), (each.slo, each.longest_wait_s)
        ttv = each.ttv(game.now)
        if each.slo < 1 and ttv is not None:
            owed_s = max(0, -ttv) / SECOND / each.replicas
            assert owed_s <= 4 * LONGEST_LIFE_S, (each.slo, owed_s)


@some
@given(st.integers(2, 5), st.integers(1, 20), st.integers(0, 99))
def test_nothing_promised_is_served_though_the_others_could_use_every_place(
    places: int, opportunists: int, seed: int
) -> None:
    """Twice as many replicas of 0.5 as places, less two: one place is promised to nobody."""
    game = played(places, [(0.5, 2 * places - 2), (0.0, opportunists)], seed)
    assert game.controllers[1].longest_wait_s <= bound_s(game.controllers)


def test_where_higher_promises_take_every_place_a_lower_one_waits() -> None:
    """More is promised at 1 than there is: nobody could serve the other and keep the promise."""
    game = played(3, [(1.0, 4), (0.5, 1)], seed=1)
    gold, bronze = game.controllers
    assert bronze.longest_wait_s == HOURS * 3600
    assert gold.longest_wait_s <= bound_s([gold]), "the shortage is shared within the class"


@some
@given(st.lists(st.integers(1, 6), min_size=2, max_size=5), st.integers(0, 99))
def test_a_shortage_within_a_class_is_shared_by_replica_and_not_by_size(
    sizes: list[int], seed: int
) -> None:
    """All of one class, half as many places as replicas: everybody runs about half of its time."""
    places = max(1, sum(sizes) // 2)
    game = played(places, [(0.9, replicas) for replicas in sizes], seed)
    shares = [each.running / (each.running + each.waiting) for each in game.controllers]
    assert max(shares) - min(shares) < 0.1, shares
