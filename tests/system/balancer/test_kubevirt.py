"""The balancer on the real KubeVirt: it asks for a labelled set of nodes, and nothing sticks."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from builders.labs.balancer import acting
from builders.labs.kubevirt import needs_kubevirt
from builders.labs.loops import LoopLab, running_loop
from builders.waiting import wait_until
from trimtab.balancer.requests import RebalanceRequests
from trimtab.balancer.wire import REBALANCE_PLANS, RebalancePlan
from trimtab.kube.kubevirt import COOL_LABEL, HOSTNAME, VMIMS, VMIS, Vmim
from trimtab.kube.resources import NODES
from trimtab.kube.virtual_machines import PLAN_LABEL
from trimtab.stacks.balancer.stack import BalancerStackSettings, balancer_stack
from trimtab.stacks.kubevirt.settings import KubevirtSettings
from trimtab.stacks.kubevirt.stack import kubevirt_stack

pytestmark = [pytest.mark.engines, pytest.mark.full, needs_kubevirt]


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoopLab]:
    """A hot lab of KubeVirt's VMs in which the balancer acts and the descheduler runs dry."""
    stacks = (kubevirt_stack(KubevirtSettings()), balancer_stack(BalancerStackSettings(mode="act")))
    with running_loop(tmp_path_factory, beside=stacks, settings={"dry_run": True}) as found:
        yield found


def plans_of(loop: LoopLab) -> list[RebalancePlan]:
    found = loop.ask(lambda it: it.api.list(REBALANCE_PLANS))
    return sorted(found, key=lambda plan: str(plan.spec.made_at))


def migrations(loop: LoopLab) -> list[Vmim]:
    return list(loop.ask(lambda it: it.api.list(VMIMS)))


def places(loop: LoopLab) -> dict[str, str]:
    vmis = loop.ask(lambda it: it.api.list(VMIS))
    return {str(vmi.metadata.key): vmi.status.node_name for vmi in vmis}


def labelled(loop: LoopLab) -> list[str]:
    nodes = loop.ask(lambda it: it.api.list(NODES))
    return [node.metadata.name for node in nodes if COOL_LABEL in node.metadata.labels]


def is_level(loop: LoopLab) -> bool:
    """The newest plan is over and left nothing above the band."""
    plans = plans_of(loop)
    return bool(plans) and plans[-1].over and plans[-1].status.excess_now == 0


def test_a_hot_node_is_levelled_by_migrations_to_labelled_nodes(loop: LoopLab) -> None:
    wait_until(lambda: is_level(loop), "the balancer does not level KubeVirt's VMs")
    asked = migrations(loop)
    assert asked
    assert all(PLAN_LABEL in each.metadata.labels for each in asked)
    assert all(each.spec.added_node_selector == {COOL_LABEL: "true"} for each in asked)
    assert len({each.spec.vmi_name for each in asked}) == len(asked)
    wait_until(lambda: not labelled(loop), "a label of targets sticks to a node")


def test_the_record_has_the_nodes_that_the_scheduler_chose(loop: LoopLab) -> None:
    wait_until(lambda: is_level(loop), "the balancer does not level KubeVirt's VMs")
    now = places(loop)
    done = [move for plan in plans_of(loop) for move in plan.status.moves]
    succeeded = {move.vm: move.node for move in done if move.outcome == "Succeeded"}
    assert succeeded
    assert succeeded == {vm: now[vm] for vm in succeeded}


def test_a_plan_is_taken_back_to_the_node_that_the_vms_left(loop: LoopLab) -> None:
    wait_until(lambda: is_level(loop), "the balancer does not level KubeVirt's VMs")
    first = plans_of(loop)[0]
    undone = loop.ask(lambda it: RebalanceRequests(it.api).undo(first.metadata.name))
    assert undone.plan is not None
    assert undone.staying == {}
    name = undone.plan.metadata.name
    over = loop.ask(lambda it: RebalanceRequests(it.api).await_over(name, 300.0))
    assert over.status.phase == "Completed"
    now = places(loop)
    left = {move.vm: move.source for move in first.spec.moves}
    assert {vm: now[vm] for vm in left} == left


@contextmanager
def another_balancer(loop: LoopLab, *flags: str) -> Iterator[None]:
    """A balancer with other flags in the place of the lab's own, which hangs meanwhile."""
    prometheus = f"--prometheus={loop.lab.urls['prometheus']}"
    with loop.stopped("balancer"):
        process = acting(loop.lab, "--beside-descheduler", prometheus, *flags)
        try:
            wait_until(lambda: process.said("round decided"), f"it does not lead: {process.log}")
            yield
            assert process.end() == 0
        finally:
            process.kill()


def test_an_exact_target_is_the_node_where_the_vm_ends(loop: LoopLab) -> None:
    former = {each.metadata.uid for each in migrations(loop)}
    earlier = {plan.metadata.name for plan in plans_of(loop)}
    with another_balancer(loop, "--exact-target"):
        loop.start_over()

        def has_levelled() -> bool:
            return plans_of(loop)[-1].metadata.name not in earlier and is_level(loop)

        wait_until(has_levelled, "the balancer does not level with exact targets")
    asked = [each for each in migrations(loop) if each.metadata.uid not in former]
    now = places(loop)
    ended = {f"{each.metadata.namespace}/{each.spec.vmi_name}": each for each in asked}
    assert ended
    assert all(each.spec.added_node_selector.keys() == {HOSTNAME} for each in asked)
    assert {vm: each.spec.added_node_selector[HOSTNAME] for vm, each in ended.items()} == {
        vm: now[vm] for vm in ended
    }
    assert labelled(loop) == []
