"""Stamps written after creation: the missing ones at once, the others when it is worth it."""

from typing import Any

import msgspec

from builders.qos import World, a_life_pod, at, controlled_by
from trimtab.kube.controller import After, Done, Outcome
from trimtab.kube.errors import NotFound, Status
from trimtab.qos.key import ANNOTATION
from trimtab.qos.rounds import account_key
from trimtab.qos.slo import ANNOTATION as SLO
from trimtab.qos.stamper import Restamper

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
    return Restamper(pen, world.stamper, world.keeper), pen  # type: ignore[arg-type]


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
    world.put(a_life_pod("w0", owner=SET, created=0, scheduled=3))
    world.put(waiting(100, created=3))
    again = await turn(restamper)
    assert pen.written == ["w100"], "the one without a stamp; the others rest"
    assert again == After(3)
    world.second = 6
    await turn(restamper)
    assert {f"w{n}" for n in range(1, 100)} <= set(pen.written)


async def test_a_singletons_stamp_is_written_once_and_stays() -> None:
    world = World()
    restamper, pen = a_restamper(world)
    world.put(waiting(0))
    for second in range(0, 500, 7):
        world.second = second
        await turn(restamper)
    assert pen.written == ["w0"]


async def test_it_is_stamped_again_when_it_becomes_urgent_and_when_it_is_old() -> None:
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
    outcome = await turn(restamper)
    assert isinstance(outcome, After)
    world.second = 100 + 601
    assert await turn(restamper) == Done()
    assert pen.written == ["w0"] * 3
    pod = world.stores.pods.store.get("w0", "default")
    assert pod is not None
    assert pod.metadata.annotations[ANNOTATION].startswith("v1:0:000000:")


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
