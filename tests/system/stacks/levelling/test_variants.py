"""The loop under other conditions: other migrations, VMs that cannot move, nodes that are lost."""

from collections import Counter

import pytest
from msgspec import structs

from builders.labs.loops import ONE_HOT_NODE, LoopLab, above_the_band, running_loop
from builders.waiting import LIMIT_S, wait_until
from builders.witnesses.invariants import guarded
from trimtab.model.scenarios.io import load_scenario
from trimtab.model.scenarios.scenario import Scenario
from trimtab.scores import RuleSettings, rule_groups
from trimtab.scores.prometheus.files import render

pytestmark = [pytest.mark.engines, pytest.mark.full]


@pytest.fixture
def hot() -> Scenario:
    return load_scenario(ONE_HOT_NODE)


def check_level(loop: LoopLab) -> None:
    story = loop.converge()
    assert story.deviation_after <= story.deviation_before / 2
    assert above_the_band(story.at_last) == []
    assert len(story.migrations) >= 5


def test_vms_that_are_recreated_level_the_cluster_as_well(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with running_loop(tmp_path_factory, settings={"migration": "recreate"}) as loop:
        loop.start_over()
        with guarded(loop.lab.kubeconfig, may_be_absent=True) as witness:
            check_level(loop)
        witness.check()


def test_vms_that_cannot_move_stay_and_the_others_level_the_cluster(
    loop: LoopLab, hot: Scenario
) -> None:
    loop.algorithm("linear_amplified_ippd_k3")
    fixed = tuple(
        structs.replace(vm, live_migratable=not vm.name.startswith("hot-web")) for vm in hot.vms
    )
    loop.start_over(structs.replace(hot, vms=fixed))
    check_level(loop)
    assert not any(m.spec.vm_name.startswith("hot-web") for m in loop.migrations())
    webs = [vm for vm in loop.vms() if vm.metadata.name.startswith("hot-web")]
    assert {vm.status.node_name for vm in webs} == {"kwok-node-1"}
    denied = [d for d in loop.decisions() if d.verdict == "denied"]
    assert all("hot-web" in decision.pod for decision in denied)


def test_a_cordoned_node_gives_nothing_and_gets_nothing(loop: LoopLab, hot: Scenario) -> None:
    """With a score of load: cordoned nodes count in the mean, so deviations never settle."""
    loop.algorithm("cpu_focused")
    first, second, *others = hot.nodes
    cordoned = (first, structs.replace(second, unschedulable=True), *others)
    loop.start_over(structs.replace(hot, nodes=cordoned))
    try:
        check_level(loop)
        placed = Counter(vm.status.node_name for vm in loop.vms())
        assert placed["kwok-node-2"] == 4
    finally:
        loop.lab.kubectl("uncordon", "kwok-node-2")


def test_a_lost_node_loses_its_vms_to_others_and_the_loop_goes_on(loop: LoopLab) -> None:
    loop.algorithm("cpu_focused")
    loop.start_over()
    with guarded(loop.lab.kubeconfig, may_be_absent=True) as witness:
        loop.await_migrations(2)
        loop.lab.kubectl("label", "node", "kwok-node-3", "trimtab.dev/not-ready=true")
        try:
            wait_until(lambda: not on_node(loop, "kwok-node-3"), "VMs stay on a lost node", LIMIT_S)
            loop.await_quiet()
            assert {vm.status.phase for vm in loop.vms()} == {"Running"}
        finally:
            loop.lab.kubectl("label", "node", "kwok-node-3", "trimtab.dev/not-ready-")
        wait_until(lambda: "kwok-node-3" in loop.query("node_vm_count"), "not measured", LIMIT_S)
        loop.await_quiet()
    witness.check()


def on_node(loop: LoopLab, node: str) -> list[str]:
    return [vm.metadata.name for vm in loop.vms() if vm.status.node_name == node]


def test_a_switch_of_the_score_in_the_middle_costs_nothing(loop: LoopLab) -> None:
    loop.algorithm("cpu_focused")
    loop.start_over()
    with guarded(loop.lab.kubeconfig) as witness:
        loop.await_migrations(2)
        loop.algorithm("linear_amplified_ippd_k3")
        loop.await_quiet()
        assert above_the_band(loop.state()) == []
    witness.check()


def test_production_rules_level_the_cluster_on_node_exporters_counters(loop: LoopLab) -> None:
    shipped = loop.lab.kubectl(
        "get", "configmap", "-n", "monitoring", "trimtab-rules", "-o", "yaml"
    )
    loop.algorithm("linear_amplified_ippd_k3")
    rules = render(rule_groups([], RuleSettings(interval_s=30.0), "openshift"), "configmap")
    query = "descheduler:node:linear_amplified_ideal_point_positive_distance:k3:avg1m"
    policy = (loop.lab.dir / "config/wished.policy.yaml").read_text()
    assert query in policy
    try:
        loop.policy(policy)
        loop.apply(rules)
        loop.start_over()
        check_level(loop)
    finally:
        loop.lab.kubectl("replace", "--force", "-f", "-", stdin=shipped)
