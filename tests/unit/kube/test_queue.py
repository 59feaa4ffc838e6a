"""The queue's promises, in virtual time."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.examples import examples
from builders.virtualtime import run
from trimtab.kube.runtime.backoff import Backoff
from trimtab.kube.runtime.queue import Queue

Step = tuple[str, str, float]
KEYS = ("a", "b", "c")
steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.sampled_from(KEYS), st.just(0.0)),
        st.tuples(st.just("after"), st.sampled_from(KEYS), st.floats(0.1, 5.0)),
        st.tuples(st.just("retry"), st.sampled_from(KEYS), st.just(0.0)),
        st.tuples(st.just("pass"), st.just(""), st.floats(0.0, 3.0)),
    ),
    max_size=40,
)


class Log:
    """What the workers did: (key, start, end), and when each key was last asked for."""

    def __init__(self) -> None:
        self.turns: list[tuple[str, float, float]] = []
        self.asked: dict[str, float] = {}

    def starts(self, key: str) -> list[float]:
        return [start for name, start, _ in self.turns if name == key]


async def play(queue: Queue[str], script: list[Step], *, work_s: float, workers: int) -> Log:
    log = Log()
    loop = asyncio.get_running_loop()

    async def worker() -> None:
        while True:
            key = await queue.get()
            start = loop.time()
            await asyncio.sleep(work_s)
            log.turns.append((key, start, loop.time()))
            queue.done(key)

    tasks = [asyncio.create_task(worker()) for _ in range(workers)]
    for verb, key, seconds in script:
        if verb == "pass":
            await asyncio.sleep(seconds)
            continue
        log.asked[key] = loop.time()
        if verb == "add":
            queue.add(key)
        elif verb == "after":
            queue.add_after(key, seconds)
        else:
            queue.retry(key)
    await asyncio.sleep(1000)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return log


@settings(max_examples=examples(50), deadline=None)
@given(steps, st.floats(0.0, 2.0), st.integers(1, 3), st.sampled_from([0.0, 1.5]))
def test_no_key_is_lost_and_none_runs_twice_at_once(
    script: list[Step], work_s: float, workers: int, spacing_s: float
) -> None:
    queue: Queue[str] = Queue(at_most_every_s=spacing_s, backoff=Backoff(0.1, 10.0))
    log = run(play(queue, script, work_s=work_s, workers=workers))
    for key, asked in log.asked.items():
        assert max(log.starts(key)) >= asked, f"{key} was asked for and had no turn afterwards"
    for key in KEYS:
        turns = sorted((start, end) for name, start, end in log.turns if name == key)
        for (_, end), (start, _) in itertools.pairwise(turns):
            assert start >= end, f"two workers held {key}"
        for first, second in itertools.pairwise(turns):
            assert second[0] - first[0] >= spacing_s - 1e-9
    assert (queue.ready, queue.held, queue.delayed) == (0, 0, 0)


async def turns_of(
    script: Callable[[Queue[str]], Awaitable[None]], queue: Queue[str]
) -> list[float]:
    """When `a` had its turns, each of which takes one second."""
    loop = asyncio.get_running_loop()
    starts: list[float] = []

    async def worker() -> None:
        while True:
            key = await queue.get()
            starts.append(loop.time())
            await asyncio.sleep(1)
            queue.done(key)

    task = asyncio.create_task(worker())
    await script(queue)
    await asyncio.sleep(500)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return starts


async def many_adds(queue: Queue[str]) -> None:
    for _ in range(100):
        queue.add("a")


async def adds_while_held(queue: Queue[str]) -> None:
    queue.add("a")
    await asyncio.sleep(0.5)
    queue.add("a")
    queue.add("a")


async def the_earlier_delay(queue: Queue[str]) -> None:
    queue.add_after("a", 30)
    queue.add_after("a", 10)
    queue.add_after("a", 20)


async def an_add_during_a_delay(queue: Queue[str]) -> None:
    queue.add_after("a", 30)
    await asyncio.sleep(3)
    queue.add("a")


async def a_delay_that_ends_while_held(queue: Queue[str]) -> None:
    queue.add("a")
    await asyncio.sleep(0.2)
    queue.add_after("a", 0.3)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        pytest.param(many_adds, [0], id="a hundred adds are one turn"),
        pytest.param(adds_while_held, [0, 1], id="adds during a turn are one more turn"),
        pytest.param(the_earlier_delay, [10], id="the earliest of several delays counts"),
        pytest.param(an_add_during_a_delay, [3], id="an add overtakes a delay and replaces it"),
        pytest.param(a_delay_that_ends_while_held, [0, 1], id="a delay may end during a turn"),
    ],
)
def test_a_key_has_exactly_the_turns_it_needs(
    script: Callable[[Queue[str]], Awaitable[None]], expected: list[float]
) -> None:
    async def main() -> list[float]:
        return await turns_of(script, Queue())

    assert run(main()) == expected


def test_a_key_that_changes_all_the_time_has_a_turn_at_the_given_rate() -> None:
    async def busy(queue: Queue[str]) -> None:
        for _ in range(500):
            queue.add("a")
            await asyncio.sleep(0.02)

    async def main() -> list[float]:
        return await turns_of(busy, Queue(at_most_every_s=3.0))

    assert run(main()) == pytest.approx([0, 3, 6, 9, 12])


def test_retries_double_up_to_the_ceiling_and_start_over_after_success() -> None:
    async def main() -> list[float]:
        queue: Queue[str] = Queue(backoff=Backoff(first_s=1.0, most_s=5.0), random=lambda: 0.0)
        delays = [queue.retry("a") for _ in range(5)]
        queue.succeeded("a")
        return [*delays, queue.retry("a")]

    assert run(main()) == [1, 2, 4, 5, 5, 1]


def test_keys_are_served_in_the_order_they_came() -> None:
    async def main() -> list[str]:
        queue: Queue[str] = Queue()
        for key in ("c", "a", "b", "a"):
            queue.add(key)
        return [await queue.get() for _ in range(3)]

    assert run(main()) == ["c", "a", "b"]
