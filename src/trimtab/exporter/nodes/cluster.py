"""The ledger of a real cluster: stores of pods, VMs and nodes tell it of every change.

Nothing is asked of the API when somebody scrapes. A change of a VM is a change of all its
pods at once: in the moment of the cut-over the CPU leaves one node and is on the other.
"""

from collections.abc import Callable, Iterable
from typing import Any, Literal

from trimtab.errors import ConfigError
from trimtab.exporter import metrics
from trimtab.exporter.nodes.consumption import BadAnnotation, contribution, counts, without_use
from trimtab.exporter.nodes.ledger import NodeFacts, NodeLedger
from trimtab.exporter.nodes.wire import (
    INSTANCES,
    LAUNCHERS,
    MACHINES,
    MOVES,
    NODES,
    InstanceObject,
    Launcher,
    MachineObject,
    NodeObject,
)
from trimtab.exporter.scenario.scenario_view import vm_id
from trimtab.kube.client import Client
from trimtab.kube.clock import NAME as CLOCK
from trimtab.kube.clock import NAMESPACE, Clock, ClockReader
from trimtab.kube.kubevirt import VMIMS
from trimtab.kube.resources import CONFIG_MAPS, ConfigMap, Key, Kind
from trimtab.kube.runtime.reflector import Reflector
from trimtab.kube.scenario.objects import MANAGED_BY
from trimtab.kube.virtual_machines import LAUNCHER_LABEL
from trimtab.kube.worlds import World
from trimtab.model.load.pressure_curve import DEFAULT_PRESSURE, PressureCurve
from trimtab.model.quantity import parse_quantity
from trimtab.obs import get_logger

log = get_logger()
_ROLE = "node-role.kubernetes.io/"
_CONTROL = {"control-plane", "master"}
OVER = frozenset(("Stopped", "Succeeded", "Failed"))
"""Phases of VMs, and of KubeVirt's, that need no node."""


class ClusterFollower:
    """Follows one API server; `ledger` is what the metrics are made of."""

    source: Literal["pods"] = "pods"

    def __init__(
        self,
        client: Client,
        *,
        node_selector: str,
        namespace: str = "default",
        pressure: PressureCurve = DEFAULT_PRESSURE,
        migrations: bool = False,
        world: World = "trimtab",
    ) -> None:
        self.ledger = NodeLedger()
        self.clock = Clock()
        self._clock_reader = ClockReader()
        self.pressure = pressure
        self.namespace = namespace
        self.before_clock_change: Callable[[], None] = lambda: None
        self.pods = Reflector(
            client,
            LAUNCHERS,
            labels="=".join(LAUNCHER_LABEL),
            indexes={"vm": lambda pod: [str(pod.vm)]},
        )
        self.vms: Reflector[Any] = Reflector(client, INSTANCES if world == "kubevirt" else MACHINES)
        self.nodes = Reflector(client, NODES, labels=node_selector)
        self.clocks = Reflector(
            client, CONFIG_MAPS, namespace=NAMESPACE, fields=f"metadata.name={CLOCK}"
        )
        self.world: World = world
        moves: Kind[Any] = VMIMS if world == "kubevirt" else MOVES
        self.migrations: Reflector[Any] | None = (
            Reflector(client, moves, namespace=namespace) if migrations else None
        )
        self._unreadable: set[str] = set()
        self.vms.store.subscribe(self._vm_changed)
        self.pods.store.subscribe(self._pod_changed)
        self.nodes.store.subscribe(self._node_changed)
        self.clocks.store.subscribe(self._clock_changed)
        metrics.left_out.set_function(lambda: len(self.ledger.left_out()))

    @property
    def reflectors(self) -> tuple[Reflector[Any], ...]:
        followed = (self.pods, self.vms, self.nodes, self.clocks)
        return followed if self.migrations is None else (*followed, self.migrations)

    def refresh(self) -> None:
        """Book everything in the stores once more; what is right stays as it is."""
        self._book(self.pods.store)
        for node in self.nodes.store:
            self._node_changed(None, node)

    def node_of(self, vm: Key) -> str | None:
        """Where the VM runs."""
        for pod in self.pods.store.by("vm", str(vm)):
            share = self.ledger.pods.get(pod.metadata.uid)
            if share is not None and share.runs:
                return share.node
        return None

    def is_of_scenario(self, vm: Key) -> bool:
        """Whether a scenario made the VM, and may replace it."""
        machine = self.vms.store.get(vm.name, vm.namespace)
        return machine is not None and machine.metadata.labels.managed_by == MANAGED_BY[1]

    def unplaced(self) -> list[str]:
        """VMs that are to run and have no node."""
        waiting = (
            vm.metadata.key
            for vm in self.vms.store
            if vm.status.phase not in OVER and self.node_of(vm.metadata.key) is None
        )
        return sorted(vm_id(key, self.namespace) for key in waiting)

    def _pod_changed(self, old: Launcher | None, new: Launcher | None) -> None:
        if new is not None:
            self._book([new])
        elif old is not None:
            self._forget(old)

    def _vm_changed(
        self, old: MachineObject | InstanceObject | None, new: MachineObject | InstanceObject | None
    ) -> None:
        vm = new or old
        if vm is not None:
            self._book(self.pods.store.by("vm", str(vm.metadata.key)))

    def _node_changed(self, old: NodeObject | None, new: NodeObject | None) -> None:
        if new is not None:
            self.ledger.set_node(new.metadata.name, facts(new))
        elif old is not None:
            self.ledger.remove_node(old.metadata.name)

    def _clock_changed(self, _: ConfigMap | None, new: ConfigMap | None) -> None:
        clock = self._clock_reader.read(new)
        if clock != self.clock:
            self.before_clock_change()
            self.clock = clock

    def _book(self, pods: Iterable[Launcher]) -> None:
        for pod in pods:
            if not counts(pod):
                self._forget(pod)
                continue
            vm = self.vms.store.get(pod.vm.name, pod.vm.namespace)
            uid = pod.metadata.uid
            try:
                self.ledger.put(uid, contribution(pod, vm))
                self._unreadable.discard(uid)
            except BadAnnotation as error:
                self.ledger.put(uid, without_use(pod, vm))
                if uid not in self._unreadable:
                    log.warning("pod unreadable", pod=str(pod.metadata.key), error=str(error))
                self._unreadable.add(uid)
        metrics.unreadable.set(len(self._unreadable))

    def _forget(self, pod: Launcher) -> None:
        self.ledger.remove(pod.metadata.uid)
        self._unreadable.discard(pod.metadata.uid)
        metrics.unreadable.set(len(self._unreadable))


def facts(node: NodeObject) -> NodeFacts:
    """What the ledger needs of a Node; an unreadable capacity is none."""
    labels = node.metadata.labels
    roles = sorted(name.removeprefix(_ROLE) for name in labels if name.startswith(_ROLE))
    if not _CONTROL & set(roles) and "worker" not in roles:
        roles.append("worker")
    return NodeFacts(
        _amount(node, "cpu"), _amount(node, "memory"), ready=node.ready, roles=tuple(roles)
    )


def _amount(node: NodeObject, resource: str) -> float:
    try:
        return float(parse_quantity(node.status.allocatable.get(resource, "0")))
    except ConfigError:
        return 0.0
