"""Soft taints: the scheduler follows them, and stale ones stop the descheduler altogether."""

import asyncio

import pytest

from builders.labs.loops import LoopLab, above_the_band, running_loop
from builders.waiting import LIMIT_S, wait_until
from trimtab.kube.client import Client
from trimtab.kube.errors import Invalid
from trimtab.kube.resources import NODES as NODE_OBJECTS
from trimtab.virt.soft_taints import APPROPRIATE, KEYS, OVER

pytestmark = [pytest.mark.engines, pytest.mark.full]
STALE = f"{APPROPRIATE}=true:PreferNoSchedule"
NODES = tuple(f"kwok-node-{number}" for number in range(1, 6))


def soft_taints(loop: LoopLab) -> dict[str, set[str]]:
    nodes = loop.lab.get("nodes")["items"]
    return {
        node["metadata"]["name"]: {t["key"] for t in node["spec"].get("taints", ())} & KEYS
        for node in nodes
    }


def start_over_with_stale_taints(loop: LoopLab) -> None:
    """A scenario brings its own taints, so these come after it."""
    loop.start_over()
    for node in NODES[1:]:
        loop.lab.kubectl("taint", "node", node, STALE)


async def cordon_as_the_tainter(loop: LoopLab, node: str) -> None:
    """Not with kubectl, which reads the node first: the tainter may only list them."""
    account = loop.lab.dir / "pki/soft-tainter.kubeconfig"
    async with Client.from_kubeconfig(account) as client:
        await client.patch(NODE_OBJECTS, node, {"spec": {"unschedulable": True}})


def test_stale_soft_taints_on_every_emptier_node_stop_all_evictions(loop: LoopLab) -> None:
    loop.algorithm("linear_amplified_ippd_k3")
    try:
        with loop.stopped("descheduler"):
            start_over_with_stale_taints(loop)
            before = {migration.metadata.uid for migration in loop.migrations()}
        assert loop.await_over() == ("kwok-node-1",)

        def three_blind_cycles() -> bool:
            seeing = [c for c in loop.cycles() if "overutilized" in c.classes.values()]
            return len(seeing) >= 3

        wait_until(three_blind_cycles, "no cycle saw the hot node", LIMIT_S)
        assert loop.requests() == []
        assert {migration.metadata.uid for migration in loop.migrations()} <= before
    finally:
        for node in NODES[1:]:
            loop.lab.kubectl("taint", "node", node, f"{APPROPRIATE}-")
    loop.await_quiet()
    assert above_the_band(loop.state()) == []


def test_the_soft_tainter_taints_the_hot_node_and_frees_stale_ones_so_the_loop_goes_on(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with running_loop(tmp_path_factory, settings={"soft_taints": True}) as loop:
        with loop.stopped("soft-tainter"):
            start_over_with_stale_taints(loop)
        hot = {name: {OVER, APPROPRIATE} if name == NODES[0] else set() for name in NODES}
        wait_until(lambda: soft_taints(loop) == hot, "not the hot node alone is tainted", LIMIT_S)
        loop.await_quiet()
        assert above_the_band(loop.state()) == []
        with pytest.raises(Invalid, match="nothing of a node but its own two taints"):
            asyncio.run(cordon_as_the_tainter(loop, "kwok-node-2"))


def test_an_orderly_stop_leaves_no_soft_taint_behind(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with running_loop(tmp_path_factory, settings={"soft_taints": True}) as loop:
        loop.start_over()
        wait_until(lambda: any(soft_taints(loop).values()), "nothing is tainted", LIMIT_S)
        loop.lab.down()
        loop.lab.up()
        log = loop.lab.lab.log("soft-tainter").read_text()
        assert '"taints": []' in log
