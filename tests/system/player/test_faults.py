"""Programs that are killed while VMs migrate: no VM is lost, none runs twice, all moves end."""

import os
import random
import time

import pytest

from builders.labs.kubevirt import KubevirtLab, needs_kubevirt
from builders.waiting import wait_until

pytestmark = [pytest.mark.engines, needs_kubevirt]
VICTIMS = ("virt-api", "virt-controller", "virt-handler-player", "kube-apiserver")
ROUNDS = 50 if os.environ.get("TRIMTAB_TEST_FULL") else 10
LONGEST_PAUSE_S = 3.0
"""A move takes about so long: the kill comes anywhere in it."""
NAMES = [f"vm-{number}" for number in range(6)]


@pytest.mark.timeout(300 * ROUNDS)
def test_whatever_is_killed_every_vm_runs_once_and_every_migration_ends(
    kubevirt: KubevirtLab,
) -> None:
    # the copy of so much memory takes one second and a half of real time
    kubevirt.create(*NAMES, resources={"cpu": "1", "memory": "16Gi"})
    uids = {vmi.metadata.name: vmi.metadata.uid for vmi in kubevirt.vmis()}
    chance = random.Random(17)
    for victim in chance.choices(VICTIMS, k=ROUNDS):
        for name in chance.sample(NAMES, 3):
            for pod in kubevirt.running_launchers(name)[:1]:
                kubevirt.evict(pod.metadata.name)
        time.sleep(chance.uniform(0.0, LONGEST_PAUSE_S))
        kubevirt.lab.kill(victim)
        kubevirt.lab.await_ready()
        kubevirt.await_all_over()
        running = {vmi.metadata.name: vmi for vmi in kubevirt.vmis()}
        assert {name: vmi.metadata.uid for name, vmi in running.items()} == uids, victim
        for name, vmi in running.items():
            assert vmi.status.phase == "Running", (victim, name)

            def one(name: str = name, node: str = vmi.status.node_name) -> bool:
                pods = kubevirt.running_launchers(name)
                return [pod.spec.node_name for pod in pods] == [node]

            wait_until(one, f"{name} does not run in exactly one pod after {victim} was killed")
