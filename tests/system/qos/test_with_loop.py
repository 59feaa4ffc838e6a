"""The queue and the closed loop in one lab: what a migration costs a VM's promise."""

import pytest

from builders.labs.loops import running_loop
from builders.labs.queues import QueueLab
from trimtab.stacks.qos.stack import QosStackSettings, qos_stack

pytestmark = pytest.mark.engines
ROUNDING_S = 0.002


def test_the_loop_levels_the_cluster_and_its_live_migrations_add_no_waiting(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with running_loop(tmp_path_factory, beside=(qos_stack(QosStackSettings()),)) as loop:
        queue = QueueLab(loop.lab)
        before = queue.controllers("default")
        moved = {migration.spec.vm_name for migration in loop.converge().migrations}
        after = queue.controllers("default")
        launchers = loop.lab.get("pods", "-n", "default")["items"]
    assert len(moved) >= 5
    assert after.keys() == {vm.name for vm in loop.scenario.vms}
    for name, row in after.items():
        assert (row["kind"], row["replicas"]["running"]) == ("VirtualMachine", 1)
        assert row["runningSeconds"] > before[name]["runningSeconds"]
        assert row["waitingSeconds"] == pytest.approx(
            before[name]["waitingSeconds"], abs=ROUNDING_S
        )
    assert all(after[name]["incarnations"] >= 2 for name in moved)
    assert all("qos.trimtab.dev/key" in pod["metadata"]["annotations"] for pod in launchers)
