"""A balancer that is killed at each of its writes in turn, before it or after it."""

from collections import Counter

import pytest

from builders.labs.balancer import (
    acting,
    free_lease,
    hot_node,
    is_at_rest,
    plans_of,
    stop_all,
)
from builders.labs.vmcluster import Cluster
from builders.proxies.kills import KillProxy
from builders.waiting import until
from builders.witnesses.moves import Rules, broken_rules, by_balancer

pytestmark = pytest.mark.engines
LIVES = 60


async def one_life(cluster: Cluster, proxy: KillProxy) -> bool:
    """A balancer until its first write kills it; True if it found nothing to write any more."""
    free_lease(cluster, "balancer")
    process = acting(cluster.lab, kubeconfig=proxy.kubeconfig)
    proxy.after(1, process.process.kill)
    try:
        await until(
            lambda: not process.alive or is_at_rest(process), f"it never writes: {process.log}"
        )
        return process.alive
    finally:
        process.kill()


async def lives_until_level(cluster: Cluster, proxy: KillProxy) -> list[str]:
    async with proxy:
        for _ in range(LIVES):
            if await one_life(cluster, proxy):
                return proxy.writes
    raise AssertionError(f"not level after {proxy.writes}")


@pytest.mark.parametrize(
    ("home", "arrives"),
    [
        pytest.param("after", True, id="the write arrived, its answer did not"),
        pytest.param(
            "before", False, id="killed before every second write", marks=pytest.mark.full
        ),
    ],
)
async def test_killed_at_each_write_it_goes_on_and_moves_no_vm_twice(
    cluster: Cluster, home: str, arrives: bool
) -> None:
    hot_node(cluster, home)
    proxy = KillProxy(cluster.lab, "balancer", every_second_is_lost=not arrives)
    writes = await lives_until_level(cluster, proxy)

    moves = [each for each in cluster.migrations(home) if by_balancer(each)]
    assert len(moves) >= 3
    assert {each.status.phase for each in moves} == {"Succeeded"}
    assert set(Counter(each.spec.vm_name for each in moves).values()) == {1}
    assert broken_rules(cluster.chronicle, home, Rules()) == []
    assert cluster.complaints(home) == []
    assert {plan.status.phase for plan in plans_of(cluster)} == {"Completed"}
    kinds = Counter(write.split()[0] + " " + _kind(write) for write in writes)
    print(f"\n{len(writes)} lives for {len(moves)} moves: {dict(kinds)}")
    assert kinds["POST virtualmachinemigrations"] >= len(moves)
    assert kinds["PATCH rebalanceplans"] >= 1
    stop_all(cluster, home)


def _kind(write: str) -> str:
    parts = write.split()[1].split("/")
    named = ("virtualmachinemigrations", "rebalanceplans")
    return next((part for part in parts if part in named), parts[-1])
