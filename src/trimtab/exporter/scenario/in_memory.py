"""The exporter without Kubernetes: a scenario's VMs, and moves that happen at once.

There is no scheduler either: a VM without a node goes where it fits best, which is the node
that is least full afterwards.
"""

import time
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import Literal

import numpy as np

from trimtab.exporter.http.api import MigrationWish, Moved
from trimtab.exporter.nodes.consumption import BYTES, CORES, UNIT, Amounts, PodContribution
from trimtab.exporter.nodes.ledger import NodeFacts, NodeLedger
from trimtab.exporter.scenario.scenario_view import vm_id, vm_key
from trimtab.kube.clock import Clock
from trimtab.kube.resources import Key
from trimtab.kube.scenario.objects import first_vms
from trimtab.kube.virtual_machines import Load
from trimtab.model.load.curve import Constant
from trimtab.model.load.pressure_curve import DEFAULT_PRESSURE
from trimtab.model.nodes_and_vms import Vm
from trimtab.model.scenarios.scenario import Scenario


class InMemoryCluster:
    """Nodes and VMs of one scenario; loading another replaces it."""

    source: Literal["scenario"] = "scenario"

    def __init__(self, namespace: str = "default", now: Callable[[], float] = time.time) -> None:
        self.ledger = NodeLedger()
        self.clock = Clock()
        self.pressure = DEFAULT_PRESSURE
        self.namespace = namespace
        self._now = now
        self._homeless: list[str] = []

    def refresh(self) -> None:
        """Nothing can have changed behind the ledger's back."""

    def unplaced(self) -> list[str]:
        return self._homeless

    def is_of_scenario(self, vm: Key) -> bool:
        return True

    async def load(
        self, scenario: Scenario, *, resume: bool = False, by_hand: AbstractSet[str] = frozenset()
    ) -> list[str]:
        """Become the scenario; its curves begin now.

        In memory there is nothing to `resume`, and nobody makes VMs by hand.
        """
        self.ledger.clear()
        self.clock = Clock(epoch=self._now())
        self.pressure = scenario.pressure
        self._homeless = []
        for node in scenario.nodes:
            self.ledger.set_node(node.name, NodeFacts(float(node.cpu), float(node.memory)))
        vms = first_vms(scenario)
        for vm in vms:
            if vm.node is not None:
                share = contribution_of(vm, self.namespace)
                self.ledger.put(vm.name, share._replace(node=vm.node))
        self._place([vm for vm in vms if vm.node is None])
        return ["events: nothing happens later without Kubernetes"] if scenario.events else []

    async def migrate(self, wishes: Sequence[MigrationWish]) -> list[Moved]:
        """Every move at once, one after the other."""
        return [self._move(wish) for wish in wishes]

    def _place(self, vms: Sequence[Vm]) -> None:
        """Find a node for each VM in turn."""
        room = self._room()
        for vm in vms:
            share = contribution_of(vm, self.namespace)
            node = room.least_full(share.whole(0.0))
            if node is None:
                self._homeless.append(vm.name)
                continue
            room.fill(node, share.whole(0.0))
            self.ledger.put(vm.name, share._replace(node=node))

    def _elsewhere(self, share: PodContribution) -> str | None:
        use = share.whole(self.clock.lab_s(self._now()))
        return self._room().least_full(use, avoid=share.node)

    def _room(self) -> "FreeCapacity":
        return FreeCapacity(self.ledger, self.clock.lab_s(self._now()))

    def _move(self, wish: MigrationWish) -> Moved:
        name = vm_id(vm_key(wish.vm_id, self.namespace), self.namespace)
        share = self.ledger.pods.get(name)
        if share is None:
            return _unmoved(wish, None, f'there is no VM "{wish.vm_id}"')
        if share.node != wish.from_node:
            return _unmoved(wish, share.node, f'VM "{wish.vm_id}" is on node "{share.node}"')
        if wish.to_node is not None and wish.to_node not in self.ledger.nodes:
            return _unmoved(wish, share.node, f'there is no node "{wish.to_node}"')
        node = wish.to_node or self._elsewhere(share)
        if node is None or node == share.node:
            return _unmoved(wish, share.node, f'there is no other node for VM "{wish.vm_id}"')
        self.ledger.put(name, share._replace(node=node))
        return Moved(wish.vm_id, wish.from_node, wish.to_node, node)


class FreeCapacity:
    """How full every node is at a moment, all at once: 20,000 VMs look for one in seconds."""

    def __init__(self, ledger: NodeLedger, time: float) -> None:
        self._names = ledger.measurable()
        self._rows = {name: row for row, name in enumerate(self._names)}
        books = [ledger.nodes[name] for name in self._names]
        self._full = np.array([book.ratios(book.amounts(time)) for book in books]).reshape(-1, 2)
        sizes = [book.ratios(Amounts(1, 1)) for book in books]
        self._per_unit = np.array(sizes).reshape(-1, 2)

    def least_full(self, use: Amounts, avoid: str = "") -> str | None:
        """The node whose fuller resource is least full with the VM on it."""
        then = (self._full + np.array(use) * self._per_unit).max(axis=1)
        if avoid in self._rows:
            then[self._rows[avoid]] = np.inf
        if not np.isfinite(then).any():
            return None
        return self._names[int(then.argmin())]

    def fill(self, node: str, use: Amounts) -> None:
        row = self._rows[node]
        self._full[row] += np.array(use) * self._per_unit[row]


def contribution_of(vm: Vm, namespace: str) -> PodContribution:
    """What a VM's pod would say, wherever it is."""
    key = Key(namespace, vm.name)
    if isinstance(vm.cpu_load, Constant) and isinstance(vm.memory_load, Constant):
        cpu = float(vm.cpu) * vm.cpu_load.value / CORES
        memory = float(vm.memory) * vm.memory_load.value / BYTES
        return PodContribution("", key, fixed=Amounts(round(cpu * UNIT), round(memory * UNIT)))
    load = Load(float(vm.cpu), float(vm.memory), vm.cpu_load, vm.memory_load)
    return PodContribution("", key, load=load)


def _unmoved(wish: MigrationWish, node: str | None, why: str) -> Moved:
    return Moved(wish.vm_id, wish.from_node, wish.to_node, node, why)
