"""Requests that a server wants to be far apart."""

import asyncio

from builders import virtualtime
from trimtab.prom.client import RequestPacer


def times_of(least_s: float, work_s: list[float]) -> list[float]:
    """When each of some requests was sent that take so long."""

    async def ask() -> list[float]:
        pace, sent = RequestPacer(least_s), []
        for seconds in work_s:
            await pace.turn()
            sent.append(asyncio.get_running_loop().time())
            await asyncio.sleep(seconds)
        return sent

    return virtualtime.run(ask())


def test_the_first_request_does_not_wait_and_the_others_keep_their_distance() -> None:
    assert times_of(30.0, [1.0, 5.0, 1.0]) == [0.0, 30.0, 60.0]


def test_a_request_after_a_slow_one_does_not_wait() -> None:
    assert times_of(30.0, [45.0, 0.0]) == [0.0, 45.0]


def test_without_a_pace_nothing_waits() -> None:
    assert times_of(0.0, [0.0, 0.0, 0.0]) == [0.0, 0.0, 0.0]


def test_requests_at_the_same_time_wait_one_after_the_other() -> None:
    async def ask() -> list[float]:
        pace = RequestPacer(2.0)

        async def one() -> float:
            await pace.turn()
            return asyncio.get_running_loop().time()

        return list(await asyncio.gather(one(), one(), one()))

    assert virtualtime.run(ask()) == [0.0, 2.0, 4.0]
