"""The balancer on the real KubeVirt: it asks for a labelled set of nodes, and nothing sticks."""

from collections.abc import Iterator

import pytest

from builders.labs.kubevirt import needs_kubevirt
from builders.labs.loops import LoopLab, running_loop
from builders.waiting import wait_until
from trimtab.balancer.wire import REBALANCE_PLANS, RebalancePlan
from trimtab.kube.kubevirt import COOL_LABEL, VMIMS, VMIS, Vmim
from trimtab.kube.machines import PLAN_LABEL
from trimtab.kube.resources import NODES
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
