"""The balancer stops by itself, says why and how it goes on, and goes on.

The hot node of each test has VMs that cannot move: there is always something to do and never
a move that helps, so every round's outcome is told, and the pause is the only thing that varies.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256

import pytest
from msgspec import to_builtins

from builders.labs.balancer import (
    AT_REST,
    acting,
    free_lease,
    hot_node,
    is_at_rest,
    outcomes,
    plans_of,
    stop_all,
)
from builders.labs.processes import ServiceProcess
from builders.labs.vmcluster import Cluster
from builders.proxies.trouble import ReadTroubleProxy
from builders.waiting import until, wait_until
from builders.witnesses.moves import by_balancer
from trimtab.balancer.requests import RebalanceRequests
from trimtab.balancer.wire import (
    REBALANCE_PLANS,
    MoveStatus,
    PlannedMove,
    RebalancePlanSpec,
    RebalancePlanStatus,
    plan_id,
    plan_name,
)
from trimtab.kube.apply import apply
from trimtab.kube.errors import TooManyRequests
from trimtab.policy.file.default import DEFAULT_POLICY

pytestmark = pytest.mark.engines
STUCK = AT_REST[1]


@pytest.fixture
def home(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace with a hot node whose VMs cannot move."""
    name = f"t{sha256(request.node.nodeid.encode()).hexdigest()[:10]}"
    hot_node(cluster, name, liveMigratable=False)
    free_lease(cluster, "balancer")
    yield name
    stop_all(cluster, name)


@contextmanager
def a_balancer(cluster: Cluster, *flags: str) -> Iterator[ServiceProcess]:
    process = acting(cluster.lab, *flags)
    try:
        yield process
        assert process.end() == 0
    finally:
        process.kill()


def await_told(process: ServiceProcess, *words: str) -> None:
    """Until a round came to an outcome with all these words."""

    def told() -> bool:
        return any(all(word in each for word in words) for each in outcomes(process))

    wait_until(told, f"nobody said {words}: {process.log}")


def test_it_rests_where_no_move_helps(cluster: Cluster, home: str) -> None:
    with a_balancer(cluster) as process:
        wait_until(lambda: is_at_rest(process), f"no rest: {process.log}")
        assert outcomes(process)[-1] == STUCK
    assert not cluster.migrations(home)


def test_metrics_that_nobody_answers_for_pause_it(cluster: Cluster, home: str) -> None:
    # Nothing listens on port 1. That it goes on once metrics are fresh again is not tested here.
    with a_balancer(cluster, "--prometheus=http://127.0.0.1:1") as process:
        await_told(process, "Prometheus has no metrics", "it goes on by itself once Prometheus")
        assert STUCK not in outcomes(process)


def test_a_drain_goes_first(cluster: Cluster, home: str) -> None:
    node = max(each["metadata"]["name"] for each in cluster.lab.get("nodes")["items"])
    for number in range(8):
        cluster.create_vm(home, f"calm-{number}", node=node, cpu="1", memory="8Gi")
    for number in range(8):
        cluster.await_phase(home, f"calm-{number}", "Running")
    with a_balancer(cluster, "--band=60") as process:
        wait_until(lambda: is_at_rest(process), f"no rest: {process.log}")
        cluster.patch_node(node, {"spec": {"unschedulable": True}})
        for number in range(8):
            with pytest.raises(TooManyRequests):
                cluster.evict(home, cluster.vm(home, f"calm-{number}").status.pod_name)
        wait_until(lambda: _has_left(cluster, home, node), "the drain does not end")
        wait_until(lambda: is_at_rest(process), f"it does not go on: {process.log}")
    cluster.patch_node(node, {"spec": {"unschedulable": None}})
    assert not [each for each in cluster.migrations(home) if by_balancer(each)]


def _has_left(cluster: Cluster, home: str, node: str) -> bool:
    places = [cluster.vm(home, f"calm-{number}").status for number in range(8)]
    return all(place.node_name != node and not place.evacuation_node_name for place in places)


def record(cluster: Cluster, number: int, *, failed: bool) -> None:
    """A plan that is over: its move failed, or brought nothing of what it promised."""
    now = datetime.now(UTC)
    moves = (PlannedMove(vm=f"gone/vm-{number}", source="a", target="b", gain=20.0),)
    identity = plan_id("act", now, moves)
    spec = RebalancePlanSpec(mode="act", plan_id=identity, made_at=now, moves=moves)
    outcome = MoveStatus(vm=moves[0].vm, outcome="Failed" if failed else "Succeeded")
    status = RebalancePlanStatus(
        phase="Failed" if failed else "Completed", moves=(outcome,), ended_at=now
    )
    meta = {"metadata": {"name": plan_name(identity)}}
    cluster.call(cluster.client.create(REBALANCE_PLANS, meta | {"spec": to_builtins(spec)}))
    body = meta | {"status": to_builtins(status)}
    cluster.call(apply(cluster.client, REBALANCE_PLANS, body, subresource="status", force=True))


@pytest.mark.parametrize(
    ("failed", "plans", "why"),
    [
        pytest.param(True, 3, "3 moves failed lately (limit 3)", id="failures"),
        pytest.param(False, 2, "less than half of what they promised", id="gains that fail"),
    ],
)
def test_a_bad_record_pauses_it_until_somebody_says_that_it_is_known(
    cluster: Cluster, home: str, failed: bool, plans: int, why: str
) -> None:
    with a_balancer(cluster) as process:
        for number in range(plans - 1):
            record(cluster, number, failed=failed)
        wait_until(lambda: is_at_rest(process), f"one too few pauses it: {process.log}")
        record(cluster, plans, failed=failed)
        await_told(process, why, "or now: trimtab balance resume")
        assert not is_at_rest(process)
        known = cluster.call(RebalanceRequests(cluster.client).resume())
        assert len(known) == plans
        wait_until(lambda: is_at_rest(process), f"it does not go on: {process.log}")


async def test_an_api_server_in_trouble_pauses_it_for_a_round(cluster: Cluster, home: str) -> None:
    async with ReadTroubleProxy(cluster.lab, "balancer", REBALANCE_PLANS.plural) as proxy:
        process = acting(cluster.lab, kubeconfig=proxy.kubeconfig)
        try:
            await until(lambda: is_at_rest(process), f"no rest: {process.log}")
            before = len(outcomes(process))
            proxy.refusing = True
            await until(lambda: proxy.refused >= 2, "it does not try again")
            proxy.refusing = False
            await until(lambda: len(outcomes(process)) >= before + 2, f"silent: {process.log}")
            paused, after = outcomes(process)[before : before + 2]
            assert "the API server did not answer as it should" in paused
            assert "goes on by itself after the next round that works" in paused
            assert after == STUCK
        finally:
            process.kill()


@contextmanager
def a_policy_with_low_node_utilization(cluster: Cluster) -> Iterator[None]:
    """The ConfigMap that a descheduler reads."""
    where = ("configmap", "descheduler-policy", "-n", "kube-descheduler")
    cluster.lab.kubectl("create", *where, f"--from-literal=policy.yaml={DEFAULT_POLICY}")
    try:
        yield
    finally:
        cluster.lab.kubectl("delete", *where)


def test_beside_an_enabled_descheduler_it_refuses_to_act(cluster: Cluster, home: str) -> None:
    with a_policy_with_low_node_utilization(cluster):
        process = acting(cluster.lab)
        try:
            assert process.process.wait(120) == 2
        finally:
            process.kill()
        assert process.said("LowNodeUtilization is enabled in")
        assert process.said("disable it there, or add --beside-descheduler")
        assert not process.said("Traceback")
        with a_balancer(cluster, "--beside-descheduler") as told:
            wait_until(lambda: is_at_rest(told), f"it was told so, and does not act: {told.log}")


def test_a_descheduler_that_is_enabled_later_pauses_it(cluster: Cluster, home: str) -> None:
    with a_balancer(cluster) as process:
        wait_until(lambda: is_at_rest(process), f"no rest: {process.log}")
        with a_policy_with_low_node_utilization(cluster):
            await_told(process, "two balancers undo each other", "disable it there")
        wait_until(lambda: is_at_rest(process), f"it does not go on: {process.log}")
    assert plans_of(cluster) == []
