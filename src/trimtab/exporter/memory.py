"""The exporter without Kubernetes: a scenario's VMs, and moves that happen at once.

There is no scheduler either: a VM without a node goes where it fits best, which is the node
that is least full afterwards.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Literal

from trimtab.exporter.api import MigrationWish, Moved
from trimtab.exporter.clock import Clock
from trimtab.exporter.consumption import BYTES, CORES, UNIT, Amounts, Contribution
from trimtab.exporter.ledger import Ledger, NodeFacts
from trimtab.exporter.objects import first_vms
from trimtab.exporter.scene import vm_id, vm_key
from trimtab.kube.resources import Key
from trimtab.kube.virt import Load
from trimtab.model.curve import Constant
from trimtab.model.machines import Vm
from trimtab.model.pressure import DEFAULT_PRESSURE
from trimtab.model.scenario import Scenario


class Memory:
    """Nodes and VMs of one scenario; loading another replaces it."""

    source: Literal["scenario"] = "scenario"

    def __init__(self, namespace: str = "default", now: Callable[[], float] = time.time) -> None:
        self.ledger = Ledger()
        self.clock = Clock()
        self.pressure = DEFAULT_PRESSURE
        self.namespace = namespace
        self._now = now
        self._homeless: list[str] = []

    def refresh(self) -> None:
        """Nothing can have changed behind the ledger's back."""

    def unplaced(self) -> list[str]:
        return self._homeless

    async def load(self, scenario: Scenario) -> list[str]:
        """Become the scenario; its curves begin now."""
        self.ledger.clear()
        self.clock = Clock(epoch=self._now())
        self.pressure = scenario.pressure
        self._homeless = []
        for node in scenario.nodes:
            self.ledger.set_node(node.name, NodeFacts(float(node.cpu), float(node.memory)))
        for count, vm in enumerate(sorted(first_vms(scenario), key=lambda vm: vm.node is None)):
            self._place(vm)
            if count % 500 == 499:
                await asyncio.sleep(0)  # let others have the loop
        return ["events: nothing happens later without Kubernetes"] if scenario.events else []

    async def migrate(self, wishes: Sequence[MigrationWish]) -> list[Moved]:
        """Every move at once, one after the other."""
        return [self._move(wish) for wish in wishes]

    def _place(self, vm: Vm) -> None:
        share = contribution_of(vm, self.namespace)
        node = vm.node or self._least_full(share)
        if node is None:
            self._homeless.append(vm.name)
        else:
            self.ledger.put(vm.name, share._replace(node=node))

    def _move(self, wish: MigrationWish) -> Moved:
        name = vm_id(vm_key(wish.vm_id, self.namespace), self.namespace)
        share = self.ledger.pods.get(name)
        if share is None:
            return _unmoved(wish, None, f'there is no VM "{wish.vm_id}"')
        if share.node != wish.from_node:
            return _unmoved(wish, share.node, f'VM "{wish.vm_id}" is on node "{share.node}"')
        if wish.to_node is not None and wish.to_node not in self.ledger.nodes:
            return _unmoved(wish, share.node, f'there is no node "{wish.to_node}"')
        node = wish.to_node or self._least_full(share, avoid=share.node)
        if node is None or node == share.node:
            return _unmoved(wish, share.node, f'there is no other node for VM "{wish.vm_id}"')
        self.ledger.put(name, share._replace(node=node))
        return Moved(wish.vm_id, wish.from_node, wish.to_node, node)

    def _least_full(self, share: Contribution, avoid: str = "") -> str | None:
        """The node whose fuller resource is least full with the VM on it."""
        time = self.clock.curve_time(self._now())
        use = share.whole(time)

        def fullness(name: str) -> tuple[float, str]:
            book = self.ledger.nodes[name]
            return max(book.ratios(book.amounts(time).plus(use))), name

        return min(
            (name for name in self.ledger.measurable() if name != avoid), key=fullness, default=None
        )


def contribution_of(vm: Vm, namespace: str) -> Contribution:
    """What a VM's pod would say, wherever it is."""
    key = Key(namespace, vm.name)
    if isinstance(vm.cpu_load, Constant) and isinstance(vm.memory_load, Constant):
        cpu = float(vm.cpu) * vm.cpu_load.value / CORES
        memory = float(vm.memory) * vm.memory_load.value / BYTES
        return Contribution("", key, fixed=Amounts(round(cpu * UNIT), round(memory * UNIT)))
    load = Load(float(vm.cpu), float(vm.memory), vm.cpu_load, vm.memory_load)
    return Contribution("", key, load=load)


def _unmoved(wish: MigrationWish, node: str | None, why: str) -> Moved:
    return Moved(wish.vm_id, wish.from_node, wish.to_node, node, why)
