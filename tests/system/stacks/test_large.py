"""A hundred nodes and a thousand VMs: the loop behaves, and the hot nodes are relieved.

With a score of load. The default one looks at distances from the mean, and among so many
small VMs it never settles: the last node above the mean is always far above it. `trimtab sim`
says the same of this scenario.
"""

import time
from collections import Counter

import pytest

from builders.labs.loops import LoopLab, running_loop
from builders.waiting import wait_until
from builders.witnesses.invariants import guarded
from builders.worlds.crowded import ON_HOT, crowded
from trimtab.policy.file.default import DEFAULT_POLICY
from trimtab.stacks.loop.projector.policy_file import with_algorithm

pytestmark = [pytest.mark.engines, pytest.mark.full]
NODES, VMS, HOT = 100, 1000, 4
LIMIT_S = 900.0


def test_a_thousand_vms_on_a_hundred_nodes_are_levelled_and_counted(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    began = time.monotonic()
    scenario = crowded(NODES, VMS, HOT)
    policy = with_algorithm(DEFAULT_POLICY, "cpu_focused")
    with running_loop(tmp_path_factory, scenario=scenario, policy=policy, scale=5) as loop:
        started = time.monotonic()
        with guarded(loop.lab.kubeconfig) as witness:
            loop.await_quiet(limit_s=LIMIT_S)
        witness.check()
        quiet = time.monotonic()
        check_order(loop)
        moved = sum(m.status.phase == "Succeeded" for m in loop.migrations())
        print(
            f"\n{VMS} VMs on {NODES} nodes: started in {started - began:.0f} s, quiet after "
            f"{quiet - started:.0f} s, {moved} migrations in {len(loop.cycles())} cycles"
        )
        assert moved >= HOT * (ON_HOT - 15)


def check_order(loop: LoopLab) -> None:
    """Every VM runs, everybody counts the same, and no node is over-utilised."""
    vms = loop.vms()
    assert Counter(vm.status.phase for vm in vms) == {"Running": VMS}
    real = Counter(vm.status.node_name for vm in vms)
    wait_until(lambda: Counter(loop.query("node_vm_count")) == real, "not every VM is counted")
    kinds = Counter(node.kind for node in loop.state().nodes)
    assert kinds["over"] == 0
    assert sum(kinds.values()) == NODES
