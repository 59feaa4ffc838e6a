"""Delays after failures, and the limit on writes."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.virtualtime import run
from trimtab.kube.runtime.backoff import Backoff, TokenBucket


@given(st.integers(1, 10_000), st.floats(0, 1, exclude_max=True))
def test_a_delay_is_between_half_and_all_of_what_the_failures_earned(
    failures: int, draw: float
) -> None:
    whole = min(30.0, 0.2 * 2.0 ** min(failures - 1, 100))
    assert whole / 2 <= Backoff(0.2, 30.0).delay_s(failures, lambda: draw) <= whole


def test_a_burst_passes_at_once_and_the_rest_at_the_rate() -> None:
    async def main() -> list[float]:
        bucket, loop = TokenBucket(rate=10, burst=3), asyncio.get_running_loop()
        passed = []
        for _ in range(6):
            await bucket.take()
            passed.append(loop.time())
        return passed

    assert run(main()) == pytest.approx([0, 0, 0, 0.1, 0.2, 0.3])


def test_waiting_calls_pass_in_order_and_a_quiet_time_refills_the_burst_only() -> None:
    async def main() -> list[float]:
        bucket, loop = TokenBucket(rate=1, burst=2), asyncio.get_running_loop()
        passed = []

        async def call() -> None:
            await bucket.take()
            passed.append(loop.time())

        await asyncio.gather(*(call() for _ in range(4)))
        await asyncio.sleep(100)
        await asyncio.gather(*(call() for _ in range(3)))
        return passed

    assert run(main()) == pytest.approx([0, 0, 1, 2, 102, 102, 103])


def test_who_does_not_want_to_wait_is_told_so() -> None:
    bucket = TokenBucket(rate=1, burst=2)
    assert [bucket.try_take(at) for at in (0, 0, 0, 0.5, 1.0, 1.1)] == [
        True,
        True,
        False,
        False,
        True,
        False,
    ]
