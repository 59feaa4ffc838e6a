"""Stamps written after creation: the missing ones at once, the others when it is worth it."""

from typing import Any

import msgspec
import pytest

from builders.values.qos import World, a_life_pod, at, controlled_by
from trimtab.kube.errors import NotFound, Status
from trimtab.kube.runtime.controller import After, Done, Outcome
from trimtab.qos.ledger.time_to_violation import SECOND
from trimtab.qos.promise import ANNOTATION as SLO
from trimtab.qos.queue.key import ANNOTATION, LARGEST_RANK, Stamp, parse, tolerance
from trimtab.qos.service.controllers import Restamper, account_key

SET = controlled_by("StatefulSet", "web")


class Pen:
    """A client that writes into the world's store, and remembers what."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.written: list[str] = []
        self.refuses = False

    async def patch(self, _: Any, name: str, patch: dict[str, Any], namespace: str) -> None:
        if self.refuses:
            raise NotFound("patch", Status(404))
        self.written.append(name)
        pod = self._world.stores.pods.store.get(name, namespace)
        assert pod is not None
        assert patch["metadata"]["uid"] == pod.metadata.uid, "only this very pod"
        notes = pod.metadata.annotations | patch["metadata"]["annotations"]
        meta = msgspec.structs.replace(pod.metadata, annotations=notes)
        self._world.put(msgspec.structs.replace(pod, metadata=meta))


def a_restamper(world: World) -> tuple[Restamper, Pen]:
    pen = Pen(world)
    return Restamper(pen, world.stamper, world.tracker), pen  # type: ignore[arg-type]


async def turn(restamper: Restamper, uid: str = "uid-web") -> Outcome:
    return await restamper.reconcile(account_key(uid))


def waiting(number: int, created: float = 0) -> Any:
    return a_life_pod(f"w{number}", owner=SET, created=created)


async def test_many_siblings_are_stamped_at_once_and_then_rest() -> None:
    world = World()
    restamper, pen = a_restamper(world)
    world.put(*map(waiting, range(100)))
    world.second = 1
    await turn(restamper)
    assert len(pen.written) == 100
    pen.written.clear()
    world.second = 3
    for number in range(60):
        world.put(a_life_pod(f"w{number}", owner=SET, created=0, scheduled=3))
    world.second = 5
    world.put(waiting(100, created=5))
    again = await turn(restamper)
    assert pen.written == ["w100"], "the one without a stamp; the others rest"
    assert again == After(1)
    world.second = 6
    await turn(restamper)
    assert {f"w{n}" for n in range(60, 100)} <= set(pen.written)


async def test_a_singletons_stamp_is_written_once_and_stays() -> None:
    world = World()
    restamper, pen = a_restamper(world)
    world.put(waiting(0))
    for second in range(0, 500, 7):
        world.second = second
        await turn(restamper)
    assert pen.written == ["w0"]


async def test_it_is_stamped_again_when_it_becomes_urgent() -> None:
    world = World()
    restamper, pen = a_restamper(world)
    world.owner("StatefulSet", "web", annotations={SLO: "0.5"})
    ran = a_life_pod("old", owner=SET, created=0, scheduled=0, deleted=100)
    world.put(ran)
    world.second = 100
    world.put(waiting(0, created=100))
    outcome = await turn(restamper)
    assert outcome == After(70), "in credit for 100 s: urgent 30 s before that"
    world.second = 170.1
    assert await turn(restamper) == Done()
    assert pen.written == ["w0"] * 2
    assert stamp_on(world, "w0").rank == 500_000


async def test_it_is_stamped_again_when_it_has_waited_for_too_long() -> None:
    world = World()
    restamper, pen = a_restamper(world)
    world.owner("StatefulSet", "web", annotations={SLO: "0"})
    world.put(waiting(0))
    assert await turn(restamper) == After(600)
    world.second = 601
    assert await turn(restamper) == Done()
    assert pen.written == ["w0"] * 2
    assert stamp_on(world, "w0") == Stamp(0, LARGEST_RANK, at(600))


def stamp_on(world: World, name: str) -> Stamp:
    pod = world.stores.pods.store.get(name, "default")
    assert pod is not None
    stamp = parse(pod.metadata.annotations[ANNOTATION])
    assert stamp is not None
    return stamp


@pytest.mark.parametrize("running", [0, 1, 3])
@pytest.mark.parametrize("slo", ["0.5", "0.9", "1"])
async def test_stamps_below_the_promise_stay_true_though_nothing_happens(
    running: int, slo: str
) -> None:
    """The stamps of three that wait, while siblings run and nobody comes or goes."""
    world = World()
    restamper, pen = a_restamper(world)
    world.owner("StatefulSet", "web", annotations={SLO: slo})
    world.put(*map(waiting, range(3)))
    world.second = 60
    for number in range(running):
        world.put(a_life_pod(f"r{number}", owner=SET, created=0, scheduled=60))
    due, turns = 60.0, 0
    for second in range(60, 660, 2):
        world.second = second
        if due <= second:
            outcome, turns = await turn(restamper), turns + 1
            due = second + outcome.seconds if isinstance(outcome, After) else 1e9
        account = world.account("uid-web")
        for seat in world.stamper.waiting_pods(account, world.now()):
            true, said = seat.decision.stamp, stamp_on(world, seat.pod.metadata.name)
            assert (said.tier, said.rank) == (true.tier, true.rank), second
            # a turn every two seconds is the most there can be here
            slack = 2 * tolerance(world.now(), true) + 4 * SECOND
            assert abs(said.deadline - true.deadline) <= slack, second
    assert len(pen.written) <= 3 * (1 if running == 0 else 160)


async def test_who_owes_most_for_each_replica_is_first() -> None:
    """One replica, and three that came half a minute later: it goes by the wait, not by size."""
    world = World()
    restamper, _ = a_restamper(world)
    world.put(a_life_pod("one", owner=controlled_by("StatefulSet", "one"), created=0))
    three = controlled_by("StatefulSet", "three")
    world.second = 30
    world.put(*(a_life_pod(f"three-{n}", owner=three, created=30) for n in range(3)))
    world.second = 105
    for uid in ("uid-one", "uid-three"):
        await turn(restamper, uid)
    assert next(pod.metadata.name for pod in world.waiting.pods()) == "one"
    assert stamp_on(world, "three-0").deadline == at(30)


async def test_a_pod_that_is_gone_is_no_trouble() -> None:
    world = World()
    restamper, pen = a_restamper(world)
    world.put(waiting(0))
    pen.refuses = True
    await turn(restamper)
    assert await turn(restamper, "uid-nobody") == Done()


async def test_stamps_made_at_one_moment_keep_siblings_in_the_order_of_their_age() -> None:
    world = World()
    restamper, _ = a_restamper(world)
    world.put(*(waiting(n, created=n) for n in range(5)))
    world.second = 10
    await turn(restamper)
    assert [pod.metadata.name for pod in world.waiting.pods()] == [f"w{n}" for n in range(5)]
    assert world.account("uid-web").at(at(10)).pace.waiting == 5
