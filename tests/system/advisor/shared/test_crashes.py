"""Operators that are killed after each of their writes in turn, and API servers that restart.

The plan ends the same, nothing is applied twice, nothing half.
"""

from collections.abc import Callable

import pytest

from builders.labs.advisor import (
    DESCHEDULER_HOME,
    EXAMPLE,
    LOAD_AWARE,
    Free,
    Kubectl,
    OperatorProcess,
    a_config,
    operator,
)
from builders.proxies.advisor import OperatorKillProxy
from builders.waiting import until, wait_until
from trimtab.advisor.api import MANAGER
from trimtab.advisor.plan.diff import sanitised

pytestmark = pytest.mark.engines
CONFIG_MAP = ("configmap", "example-config", "openshift-cnv")
DESCHEDULER = ("kubedescheduler", "cluster", DESCHEDULER_HOME)


@pytest.fixture
def kubectl(unattended: Kubectl) -> Kubectl:
    return unattended


async def lives(
    kubectl: Kubectl, name: str, *phases: str, between: Callable[[], None]
) -> list[str]:
    """Operators of one write each, one after the other, until it is in one of the phases."""
    async with OperatorKillProxy(kubectl.server) as proxy:
        for _ in range(40):
            between()
            if kubectl.status(name).get("phase") in phases:
                return proxy.writes
            kubectl.clear("lease", "trimtab-system")
            await one_write(kubectl, proxy)
    raise AssertionError(f"{kubectl.status(name).get('phase')} after {proxy.writes}")


async def one_write(kubectl: Kubectl, proxy: OperatorKillProxy) -> None:
    process = OperatorProcess(kubectl.server, "--no-advertise", kubeconfig=proxy.kubeconfig)
    proxy.after(1, process.process.kill)
    try:
        await until(lambda: not process.alive, f"it never writes: {process.log}")
    finally:
        process.kill()


def nothing() -> None:
    """Nobody else does anything."""


async def finish(
    kubectl: Kubectl, name: str, *phases: str, between: Callable[[], None] = nothing
) -> int:
    return len(await lives(kubectl, name, *phases, between=between))


def applies(obj: Free) -> int:
    """How often our fields were changed, as far as the object remembers."""
    entries = [e for e in obj["metadata"]["managedFields"] if e["manager"] == MANAGER]
    return len(entries)


async def test_killed_after_each_write_the_plan_ends_the_same(kubectl: Kubectl) -> None:
    before = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"enabled": "false"}}
    before["metadata"] = {"name": CONFIG_MAP[1], "namespace": CONFIG_MAP[2]}
    kubectl.apply(before)
    kubectl.apply(a_config(EXAMPLE))
    drafted = await finish(kubectl, EXAMPLE, "ReviewRequired")
    assert kubectl.get(*CONFIG_MAP)["data"] == {"enabled": "false"}
    kubectl.act(EXAMPLE, action="Apply")
    applied = await finish(kubectl, EXAMPLE, "Completed", "Failed", "CompletedWithErrors")
    live, status = kubectl.get(*CONFIG_MAP), kubectl.status(EXAMPLE)
    assert status["phase"] == "Completed"
    assert live["data"] == {"enabled": "true", "replicas": "3"}
    assert applies(live) == 1
    assert [line["what"] for line in status["history"]] == [
        "ReviewRequired",
        "Approved",
        "InProgress",
        "Completed",
    ]
    kubectl.act(EXAMPLE, action="Rollback")
    planned = await finish(kubectl, EXAMPLE, "ReviewRequired")
    kubectl.act(EXAMPLE, approvedPlan=kubectl.status(EXAMPLE)["planId"])
    undone = await finish(kubectl, EXAMPLE, "RolledBack", "Failed", "CompletedWithErrors")
    after = kubectl.get(*CONFIG_MAP)
    assert kubectl.status(EXAMPLE)["phase"] == "RolledBack"
    assert after["data"] == {"enabled": "false"}
    assert applies(after) == 0
    assert not kubectl.exists("secret", f"virtplatformconfig-{EXAMPLE}", "trimtab-system")
    print(f"\nlives: {drafted} to plan, {applied} to apply, {planned} + {undone} to go back")


@pytest.mark.full
async def test_the_same_with_nodes_that_roll(kubectl: Kubectl) -> None:
    before = kubectl.get(*DESCHEDULER)
    kubectl.apply(a_config(LOAD_AWARE, "Apply"))

    def roll_when_applied() -> None:
        if kubectl.status(LOAD_AWARE).get("phase") in ("InProgress", "RollingBack"):
            kubectl.roll()

    await finish(kubectl, LOAD_AWARE, "Completed", "Failed", between=roll_when_applied)
    assert kubectl.status(LOAD_AWARE)["phase"] == "Completed"
    kubectl.act(LOAD_AWARE, action="Rollback")
    await finish(kubectl, LOAD_AWARE, "ReviewRequired")
    kubectl.act(LOAD_AWARE, approvedPlan=kubectl.status(LOAD_AWARE)["planId"])
    await finish(kubectl, LOAD_AWARE, "RolledBack", "Failed", between=roll_when_applied)
    assert kubectl.status(LOAD_AWARE)["phase"] == "RolledBack"
    assert sanitised(kubectl.get(*DESCHEDULER)) == sanitised(before)


def test_an_api_server_that_restarts_delays_and_breaks_nothing(kubectl: Kubectl) -> None:
    with operator(kubectl.server, "--no-advertise") as process:
        kubectl.apply(a_config(EXAMPLE))
        kubectl.await_phase(EXAMPLE, "ReviewRequired")
        kubectl.server.kill()
        kubectl.server.start()
        wait_until(lambda: kubectl.is_policed(EXAMPLE), "nothing can be asked for yet")
        kubectl.act(EXAMPLE, action="Apply")
        kubectl.await_phase(EXAMPLE, "Completed")
        kubectl.patch(*CONFIG_MAP[:2], {"data": {"enabled": "no"}}, CONFIG_MAP[2])
        kubectl.await_phase(EXAMPLE, "Drifted")
        assert process.alive
