"""What a lab's machine-config operator decides: what is rendered, and which node is next."""

from collections.abc import Sequence
from typing import Any

import pytest

from trimtab.advisor.kinds import MACHINE_CONFIG_POOLS, MACHINE_CONFIGS, ROLE
from trimtab.advisor.mocks.baseline import WORKERS, machine_config, pool
from trimtab.advisor.plan import pools
from trimtab.advisor.plan.profile import ClusterFacts
from trimtab.advisor.profiles import psi, swap
from trimtab.kube.resources import Condition, Free, Node, NodeSpec, NodeStatus, ObjectMeta
from trimtab.stacks.advisor.machine_configs import (
    CURRENT,
    DESIRED,
    SINCE,
    STATE,
    Adopt,
    Begin,
    Finish,
    WaitForNode,
    configuration,
    members,
    next_step,
    patch_for,
    rendered,
    settled,
    status,
)

POOL = pool("worker", WORKERS, 0)
BASE = machine_config("00-worker", {ROLE: "worker"})
PSI = psi.machine_config("worker")
REBOOT_S = 10.0


def a_node(name: str, config: str = "", state: str = "Done", **notes: str) -> Node:
    known = {CURRENT: config, DESIRED: config, STATE: state} if config else {}
    conditions = (Condition(type="Ready", status="True"),)
    return Node(
        metadata=ObjectMeta(name=name, labels=WORKERS, annotations=known | notes),
        spec=NodeSpec(unschedulable=state == "Working"),
        status=NodeStatus(conditions=conditions),
    )


def patched(node: Node, patch: Free) -> Node:
    """The node as the API server would have it."""
    notes: dict[str, Any] = {**node.metadata.annotations, **patch["metadata"]["annotations"]}
    kept = {key: value for key, value in notes.items() if value is not None}
    off = bool(patch.get("spec", {}).get("unschedulable", node.spec.unschedulable))
    return Node(
        metadata=ObjectMeta(name=node.metadata.name, labels=WORKERS, annotations=kept),
        spec=NodeSpec(unschedulable=off),
        status=node.status,
    )


def test_configs_are_joined_in_the_order_of_their_names() -> None:
    late = psi.machine_config("worker")
    late["metadata"]["name"], late["spec"]["kernelArguments"] = "99-zz", ["psi=0"]
    other = machine_config("00-master", {ROLE: "master"})
    made = rendered(POOL, [late, PSI, other, swap.machine_config(), BASE])
    assert made["spec"]["kernelArguments"] == ["psi=1", "psi=0"]
    assert len(made["spec"]["config"]["storage"]["files"]) == 2
    names = [source["name"] for source in configuration(POOL, [late, PSI, other, BASE])["source"]]
    assert names == ["00-worker", "99-worker-psi-karg", "99-zz"]


def test_equal_contents_have_equal_names_and_rendered_ones_are_no_source() -> None:
    first = rendered(POOL, [BASE])
    assert rendered(POOL, [BASE, first])["metadata"]["name"] == first["metadata"]["name"]
    assert rendered(POOL, [BASE, PSI])["metadata"]["name"] != first["metadata"]["name"]


def test_a_pool_has_the_nodes_that_its_selector_selects() -> None:
    nodes = [a_node("n2"), a_node("n1"), Node(metadata=ObjectMeta(name="other"))]
    assert [node.metadata.name for node in members(POOL, nodes)] == ["n1", "n2"]
    nobody = pool("empty", {}, 0)
    assert members(nobody, nodes) == []


@pytest.mark.parametrize(
    ("nodes", "paused", "expected"),
    [
        pytest.param([a_node("n1")], False, Adopt("n1", "new"), id="a new node starts with it"),
        pytest.param([a_node("n1", "new")], False, None, id="all done"),
        pytest.param(
            [a_node("n1", "old"), a_node("n2", "old")], False, Begin("n1", "new"), id="the first"
        ),
        pytest.param(
            [a_node("n1", "old"), a_node("n2", "old", "Working", **{SINCE: "95"})],
            False,
            WaitForNode(5.0),
            id="one at a time",
        ),
        pytest.param(
            [a_node("n1", "old", "Working", **{SINCE: "90", DESIRED: "new"}), a_node("n2", "old")],
            False,
            Finish("n1", "new"),
            id="a reboot ends",
        ),
        pytest.param([a_node("n1", "old")], True, None, id="a paused pool begins nothing"),
        pytest.param(
            [a_node("n1", "old", "Working", **{SINCE: "0", DESIRED: "new"})],
            True,
            Finish("n1", "new"),
            id="a paused pool finishes what it began",
        ),
        pytest.param(
            [a_node("n1", "old", "Degraded"), a_node("n2", "old")],
            False,
            None,
            id="a degraded node holds up the others",
        ),
    ],
)
def test_the_next_step(nodes: Sequence[Node], paused: bool, expected: object) -> None:
    paused_pool = POOL | {"spec": POOL["spec"] | {"paused": paused}}
    assert next_step(paused_pool, nodes, "new", 100.0, REBOOT_S) == expected


def test_a_roll_out_takes_every_node_once_and_health_agrees_with_it() -> None:
    """From the apply to the last node: one node out of service at most, ready only at the end."""
    configs = [BASE, PSI]
    target = rendered(POOL, configs)
    wanted, old = configuration(POOL, configs), rendered(POOL, [BASE])
    nodes = {f"n{i}": a_node(f"n{i}", old["metadata"]["name"]) for i in (1, 2, 3)}
    now, begun = 0.0, []
    current = POOL | {"status": status(POOL, list(nodes.values()), configuration(POOL, [BASE]))}
    for _ in range(20):
        members_now = list(nodes.values())
        told = status(current, members_now, wanted)
        current = current | {"spec": POOL["spec"] | {"configuration": wanted}, "status": told}
        objects = {MACHINE_CONFIGS.ref(each["metadata"]["name"]): each for each in (target, old)}
        facts = ClusterFacts(objects, {}, {MACHINE_CONFIG_POOLS: (current,)})
        step = next_step(current, members_now, wanted["name"], now, REBOOT_S)
        assert pools.health(PSI, facts).healthy == (step is None)
        assert sum(node.spec.unschedulable for node in members_now) <= 1
        if step is None:
            break
        if isinstance(step, WaitForNode):
            now += step.seconds
            continue
        begun += [step.node] if isinstance(step, Begin) else []
        nodes[step.node] = patched(nodes[step.node], patch_for(step, now))
    assert begun == ["n1", "n2", "n3"]
    assert now == 3 * REBOOT_S


def test_a_degraded_node_is_told_with_its_reason() -> None:
    reason = {"machineconfiguration.openshift.io/reason": "disk is full"}
    sick = a_node("n1", "old", "Degraded", **reason)
    told = status(POOL, [sick], configuration(POOL, [BASE]))
    assert told["degradedMachineCount"] == 1
    assert told["conditions"][2] == {
        "type": "Degraded",
        "status": "True",
        "message": "disk is full",
    }


@pytest.mark.parametrize(
    ("counted", "configs", "expected"),
    [
        (2, ["a", "a"], True),
        (2, ["a", "b"], True),  # one is behind, but none is new
        (2, ["a", ""], False),
        (0, ["a", "a"], False),  # the pool does not know of them yet
        (None, [], False),
        (0, [], True),
    ],
)
def test_a_pool_is_settled_when_it_knows_every_node(
    counted: int | None, configs: Sequence[str], expected: bool
) -> None:
    told = POOL | {"status": {} if counted is None else {"machineCount": counted}}
    nodes = [a_node(f"n{number}", config) for number, config in enumerate(configs)]
    assert settled(told, nodes) is expected
