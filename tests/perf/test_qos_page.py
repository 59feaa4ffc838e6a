"""The page of a thousand controllers, so that `watch` costs nothing. Goal: 5 ms of CPU."""

import time

from builders.values.qos import World, a_life, a_life_pod, an_owner, at, controlled_by
from trimtab.qos.page.slo_status import AccountViews
from trimtab.qos.page.text import page

CONTROLLERS, PODS = 1000, 5000
GOAL_MS, MEASURED_US, SLACK = 5.0, 22.0, 3.0


def a_thousand() -> AccountViews:
    world = World()
    for number in range(CONTROLLERS):
        owner = an_owner(f"web-{number:04d}")
        bound = number % 97 + 0.5
        measured = a_life(f"p{number}", 0, bound, binding=bound - 0.25)
        world.tracker.ledger.observe(measured, owner)
        world.tracker.ledger.observe(a_life(f"q{number}", 5000 + number), owner)
        slo = {"qos.trimtab.dev/slo": f"0.{number % 90 + 10}"}
        pod = a_life_pod(f"p{number}", uid=f"p{number}", annotations=slo)
        world.tracker.members[owner.uid] = {pod.metadata.uid: pod}
    return world.accounts


def cpu_ms(accounts: AccountViews, second: int) -> float:
    started = time.process_time()
    text = page(accounts.on_the_page(at(second)))
    taken = (time.process_time() - started) * 1000
    assert text.count("\n") == CONTROLLERS + 1
    return taken


async def test_the_page_of_a_thousand_controllers_takes_milliseconds() -> None:
    """Every second another page: nothing of the one before can be reused."""
    accounts = a_thousand()
    cpu_ms(accounts, 10_000)
    taken = sorted(cpu_ms(accounts, 10_001 + n) for n in range(21))
    print(
        f"page of {CONTROLLERS} controllers: {taken[0]:.2f} ms of CPU at the least, "
        f"{taken[10]:.2f} ms in the middle, goal {GOAL_MS:g}"
    )
    assert taken[0] < GOAL_MS * SLACK


async def test_news_of_a_pod_costs_microseconds() -> None:
    """Three words about each of 5,000 pods of 1,000 controllers, the rarest first."""
    world = World()
    owners = [controlled_by("StatefulSet", f"web-{n}") for n in range(CONTROLLERS)]
    news = [
        a_life_pod(
            f"p{n}", owner=owners[n % CONTROLLERS], created=n, scheduled=scheduled, deleted=deleted
        )
        for scheduled, deleted in ((None, None), (PODS, None), (PODS, PODS + 9))
        for n in range(PODS)
    ]
    started = time.process_time()
    world.put(*news)
    each_us = (time.process_time() - started) * 1e6 / len(news)
    print(f"news of a pod: {each_us:.1f} µs of CPU, {MEASURED_US:g} once measured")
    assert len(world.tracker.ledger.accounts) == CONTROLLERS
    assert each_us < MEASURED_US * SLACK
