"""Operators that are killed after each of their writes in turn, and API servers that restart.

The plan ends the same, nothing is applied twice, nothing half.
"""

from collections.abc import Callable, Iterator

import pytest

from builders.labs.advisor import (
    DESCHEDULER_HOME,
    EXAMPLE,
    LOAD_AWARE,
    Desk,
    Free,
    OperatorProcess,
    a_config,
    advisor_cluster,
    operator,
)
from builders.proxies.advisor import OperatorKillProxy
from builders.waiting import until, wait_until
from trimtab.advisor.api import MANAGER
from trimtab.advisor.plan.diff import sanitised

pytestmark = pytest.mark.engines
CONFIG_MAP = ("configmap", "example-config", "openshift-cnv")
DESCHEDULER = ("kubedescheduler", "cluster", DESCHEDULER_HOME)


@pytest.fixture(scope="module")
def desk() -> Iterator[Desk]:
    """No operator: the tests start their own."""
    with advisor_cluster("5.32") as desk:
        yield desk


async def lives(desk: Desk, name: str, *phases: str, between: Callable[[], None]) -> list[str]:
    """Operators of one write each, one after the other, until it is in one of the phases."""
    async with OperatorKillProxy(desk.server) as proxy:
        for _ in range(40):
            between()
            if desk.status(name).get("phase") in phases:
                return proxy.writes
            desk.run("delete", "leases", "--all", "-n", "trimtab-system")
            await one_write(desk, proxy)
    raise AssertionError(f"{desk.status(name).get('phase')} after {proxy.writes}")


async def one_write(desk: Desk, proxy: OperatorKillProxy) -> None:
    process = OperatorProcess(desk.server, "--no-advertise", kubeconfig=proxy.kubeconfig)
    proxy.after(1, process.process.kill)
    try:
        await until(lambda: not process.alive, f"it never writes: {process.log}")
    finally:
        process.kill()


def nothing() -> None:
    """Nobody else does anything."""


async def finish(desk: Desk, name: str, *phases: str, between: Callable[[], None] = nothing) -> int:
    return len(await lives(desk, name, *phases, between=between))


def applies(obj: Free) -> int:
    """How often our fields were changed, as far as the object remembers."""
    entries = [e for e in obj["metadata"]["managedFields"] if e["manager"] == MANAGER]
    return len(entries)


async def test_killed_after_each_write_the_plan_ends_the_same(desk: Desk) -> None:
    before = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"enabled": "false"}}
    before["metadata"] = {"name": CONFIG_MAP[1], "namespace": CONFIG_MAP[2]}
    desk.apply(before)
    desk.apply(a_config(EXAMPLE))
    drafted = await finish(desk, EXAMPLE, "ReviewRequired")
    assert desk.get(*CONFIG_MAP)["data"] == {"enabled": "false"}
    desk.act(EXAMPLE, action="Apply")
    applied = await finish(desk, EXAMPLE, "Completed", "Failed", "CompletedWithErrors")
    live, status = desk.get(*CONFIG_MAP), desk.status(EXAMPLE)
    assert status["phase"] == "Completed"
    assert live["data"] == {"enabled": "true", "replicas": "3"}
    assert applies(live) == 1
    assert [line["what"] for line in status["history"]] == [
        "ReviewRequired",
        "Approved",
        "InProgress",
        "Completed",
    ]
    desk.act(EXAMPLE, action="Rollback")
    planned = await finish(desk, EXAMPLE, "ReviewRequired")
    desk.act(EXAMPLE, approvedPlan=desk.status(EXAMPLE)["planId"])
    undone = await finish(desk, EXAMPLE, "RolledBack", "Failed", "CompletedWithErrors")
    after = desk.get(*CONFIG_MAP)
    assert desk.status(EXAMPLE)["phase"] == "RolledBack"
    assert after["data"] == {"enabled": "false"}
    assert applies(after) == 0
    assert not desk.exists("secret", f"virtplatformconfig-{EXAMPLE}", "trimtab-system")
    print(f"\nlives: {drafted} to plan, {applied} to apply, {planned} + {undone} to go back")
    desk.forget(EXAMPLE)


@pytest.mark.full
async def test_the_same_with_nodes_that_roll(desk: Desk) -> None:
    before = desk.get(*DESCHEDULER)
    desk.apply(a_config(LOAD_AWARE, "Apply"))

    def roll_when_applied() -> None:
        if desk.status(LOAD_AWARE).get("phase") in ("InProgress", "RollingBack"):
            desk.roll()

    await finish(desk, LOAD_AWARE, "Completed", "Failed", between=roll_when_applied)
    assert desk.status(LOAD_AWARE)["phase"] == "Completed"
    desk.act(LOAD_AWARE, action="Rollback")
    await finish(desk, LOAD_AWARE, "ReviewRequired")
    desk.act(LOAD_AWARE, approvedPlan=desk.status(LOAD_AWARE)["planId"])
    await finish(desk, LOAD_AWARE, "RolledBack", "Failed", between=roll_when_applied)
    assert desk.status(LOAD_AWARE)["phase"] == "RolledBack"
    assert sanitised(desk.get(*DESCHEDULER)) == sanitised(before)


def test_an_api_server_that_restarts_delays_and_breaks_nothing(desk: Desk) -> None:
    desk.run("delete", "leases", "--all", "-n", "trimtab-system")
    with operator(desk.server, "--no-advertise") as process:
        desk.apply(a_config(EXAMPLE))
        desk.await_phase(EXAMPLE, "ReviewRequired")
        desk.server.kill()
        desk.server.start()
        wait_until(lambda: desk.attempt("get", "--raw", "/readyz").returncode == 0, "not ready")
        desk.act(EXAMPLE, action="Apply")
        desk.await_phase(EXAMPLE, "Completed")
        desk.patch(*CONFIG_MAP[:2], {"data": {"enabled": "no"}}, "-n", CONFIG_MAP[2])
        desk.await_phase(EXAMPLE, "Drifted")
        assert process.alive
