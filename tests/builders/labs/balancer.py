"""A small lab for balancers that tests run themselves: VMs, no metrics, no descheduler.

    with running_lab(tmp_path_factory, stacks=(vm_stack(), account_stack()), ...) as lab:
        process = acting(lab)

Loads are what the VMs' pods say, so a balancer needs nothing more to act.
"""

from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from builders.labs.lab import RunningLab
from builders.labs.processes import ServiceProcess
from builders.labs.vmcluster import Cluster
from builders.waiting import wait_until
from trimtab.balancer.wire import REBALANCE_PLANS, RebalancePlan
from trimtab.install.components import objects
from trimtab.install.services import balancer
from trimtab.kube.errors import NotFound
from trimtab.kube.resources import LEASES, NODES
from trimtab.kube.virtual_machines import VMS
from trimtab.lab.components.identity import ServiceIdentity
from trimtab.lab.components.stack import Lab, Stack, StackContribution

AT_REST = ("level: no node is above the band", "above the band, but no move would help")


def account_stack() -> Stack:
    """The balancer's kind, policy and rights; tests start the process."""
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "kube-descheduler"},
    }

    def contribute(_: Lab) -> StackContribution:
        return StackContribution(
            services=(ServiceIdentity(balancer.SERVICE.name),),
            objects=(namespace, *objects(balancer.SERVICE)),
        )

    return Stack(name="balancer-account", contribute=contribute)


def acting(lab: RunningLab, *flags: str, kubeconfig: Path | None = None) -> ServiceProcess:
    """A balancer that acts at once: a lab's time is short, and holding back is tested elsewhere."""
    usual = ("--mode=act", "--per-hour=100", "--hold=1", "--hold-of=1")
    return ServiceProcess(lab, "balancer", *usual, *flags, kubeconfig=kubeconfig)


def outcomes(process: ServiceProcess) -> list[str]:
    """What its rounds came to, as far as it differed from the round before."""
    lines = process.log.read_bytes().splitlines()
    told = [msgspec.json.decode(line) for line in lines if b'"round decided"' in line]
    return [each["outcome"] for each in told]


def is_at_rest(process: ServiceProcess) -> bool:
    """Its last round found nothing more to do."""
    told = outcomes(process)
    return bool(told) and told[-1] in AT_REST


def free_lease(cluster: Cluster, name: str) -> None:
    """A killed leader's lease would last for another 15 s, each time."""
    with suppress(NotFound):
        cluster.call(cluster.client.delete(LEASES, name, "trimtab-system"))


def plans_of(cluster: Cluster) -> list[RebalancePlan]:
    return list(cluster.call(cluster.client.list(REBALANCE_PLANS)))


def hot_node(cluster: Cluster, home: str, **spec: Any) -> str:
    """Eight VMs on the first node, nothing elsewhere; `spec` is each VM's. The node's name."""
    cluster.new_namespace(home)
    node = min(each.metadata.name for each in cluster.call(cluster.client.list(NODES)))
    spec = {"cpu": "4", "memory": "1Gi", "utilization": {"cpu": 0.75, "memory": 0.5}} | spec
    for number in range(8):
        cluster.create_vm(home, f"vm-{number}", node=node, **spec)
    for number in range(8):
        cluster.await_phase(home, f"vm-{number}", "Running")
    return node


def stop_all(cluster: Cluster, home: str) -> None:
    """Stop the VMs of a namespace and forget all plans, so that the next test starts level."""
    for vm in cluster.chronicle.now.of(VMS, home):
        cluster.patch_vm(home, vm.metadata.name, {"spec": {"running": False}})
    wait_until(lambda: not cluster.pods(home), f"VMs of {home} do not stop")
    for plan in plans_of(cluster):
        cluster.call(cluster.client.delete(REBALANCE_PLANS, plan.metadata.name))
