"""The reconcile loop in virtual time, on a store that the test fills."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest

from builders.values.kube import a_pod
from builders.virtualtime import run
from trimtab.errors import Unavailable
from trimtab.kube.resources import PODS, Key, Pod
from trimtab.kube.runtime.backoff import Backoff
from trimtab.kube.runtime.controller import After, Controller, Done, Outcome
from trimtab.kube.runtime.queue import Queue
from trimtab.kube.runtime.reflector import Reflector

A, B = Key("default", "a"), Key("default", "b")


def a_reflector() -> Reflector[Pod]:
    """One that nobody runs: its store is the test's."""
    return Reflector(cast(Any, None), PODS)


def quick_queue() -> Queue[Key]:
    return Queue(backoff=Backoff(first_s=1.0, most_s=8.0), random=lambda: 0.0)


async def during(controller: Controller, script: Callable[[], Coroutine[Any, Any, None]]) -> None:
    task = asyncio.create_task(controller.run())
    await asyncio.sleep(0)
    await script()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_everything_there_is_gets_a_turn_at_the_start_and_changes_get_one_each() -> None:
    turns: list[str] = []

    async def reconcile(key: Key) -> Outcome:
        turns.append(key.name)
        return Done()

    async def main() -> None:
        pods = a_reflector()
        pods.store.put(a_pod("a"))
        controller = Controller("test", reconcile).follow(pods)

        async def script() -> None:
            await asyncio.sleep(1)
            pods.store.put(a_pod("b"))
            await asyncio.sleep(1)
            pods.store.discard(A)
            await asyncio.sleep(1)

        await during(controller, script)

    run(main())
    assert turns == ["a", "b", "a"]


def test_an_object_that_changes_hands_wakes_both_owners() -> None:
    turns: list[str] = []

    async def reconcile(key: Key) -> Outcome:
        turns.append(key.name)
        return Done()

    def owner(pod: Pod) -> list[Key]:
        controller = pod.metadata.controller
        return [Key("default", controller.name)] if controller else []

    async def main() -> None:
        pods = a_reflector()
        controller = Controller("test", reconcile).follow(pods, owner)

        async def script() -> None:
            pods.store.put(a_pod("p", owner="vm-1", version=1))
            await asyncio.sleep(1)
            turns.clear()
            pods.store.put(a_pod("p", owner="vm-2", version=2))
            await asyncio.sleep(1)

        await during(controller, script)

    run(main())
    assert turns == ["vm-1", "vm-2"]


def test_failures_back_off_and_success_asks_again_when_told() -> None:
    at: list[float] = []

    async def reconcile(key: Key) -> Outcome:
        at.append(asyncio.get_running_loop().time())
        if len(at) <= 3:
            raise Unavailable("the other side sleeps; wait")
        return After(30) if len(at) == 4 else Done()

    async def main() -> None:
        controller = Controller("test", reconcile, queue=quick_queue())

        async def script() -> None:
            controller.queue.add(A)
            await asyncio.sleep(1000)

        await during(controller, script)

    run(main())
    assert at == pytest.approx([0, 1, 3, 7, 37])


def test_a_reconciler_that_never_ends_is_ended_and_tried_again() -> None:
    at: list[float] = []

    async def reconcile(key: Key) -> Outcome:
        at.append(asyncio.get_running_loop().time())
        if len(at) == 1:
            await asyncio.Event().wait()
        return Done()

    async def main() -> None:
        controller = Controller("test", reconcile, limit_s=20, queue=quick_queue())

        async def script() -> None:
            controller.queue.add(A)
            await asyncio.sleep(100)

        await during(controller, script)

    run(main())
    assert at == [0, 21]


def test_a_bug_in_one_key_does_not_stop_the_others() -> None:
    done: list[str] = []

    async def reconcile(key: Key) -> Outcome:
        if key == A:
            raise ZeroDivisionError
        done.append(key.name)
        return Done()

    async def main() -> None:
        controller = Controller("test", reconcile, workers=1, queue=quick_queue())

        async def script() -> None:
            controller.queue.add(A)
            controller.queue.add(B)
            await asyncio.sleep(1)

        await during(controller, script)

    run(main())
    assert done == ["b"]


@pytest.mark.parametrize(
    ("limit_s", "drained", "finished"),
    [(10.0, True, ["a"]), (2.0, False, [])],
    ids=["in time", "too slow"],
)
def test_draining_finishes_the_turn_under_way_and_begins_no_other(
    limit_s: float, drained: bool, finished: list[str]
) -> None:
    ended: list[str] = []

    async def reconcile(key: Key) -> Outcome:
        await asyncio.sleep(5)
        ended.append(key.name)
        return Done()

    async def main() -> bool:
        controller = Controller("test", reconcile, workers=1)
        task = asyncio.create_task(controller.run())
        controller.queue.add(A)
        controller.queue.add(B)
        await asyncio.sleep(1)
        result = await controller.drain(limit_s)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return result

    assert run(main()) is drained
    assert ended == finished


def test_no_more_keys_at_once_than_workers() -> None:
    busy = most = 0

    async def reconcile(key: Key) -> Outcome:
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        await asyncio.sleep(1)
        busy -= 1
        return Done()

    async def main() -> None:
        controller = Controller("test", reconcile, workers=3)

        async def script() -> None:
            for n in range(20):
                controller.queue.add(Key("default", str(n)))
            await asyncio.sleep(100)

        await during(controller, script)

    run(main())
    assert most == 3
