"""The ledger of a real cluster: stores of pods, VMs and nodes tell it of every change.

Nothing is asked of the API when somebody scrapes. A change of a VM is a change of all its
pods at once: in the moment of the cut-over the CPU leaves one node and is on the other.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Literal

from trimtab.errors import ConfigError
from trimtab.exporter import metrics
from trimtab.exporter.clock import NAME as CLOCK
from trimtab.exporter.clock import NAMESPACE, Clock, clock_from
from trimtab.exporter.consumption import BadAnnotation, contribution, counts, without_use
from trimtab.exporter.ledger import Ledger, NodeFacts
from trimtab.exporter.wire import LAUNCHERS, MACHINES, NODES, Launcher, Machine, Node
from trimtab.kube.client import Client
from trimtab.kube.reflector import Reflector
from trimtab.kube.resources import CONFIG_MAPS, ConfigMap
from trimtab.kube.virt import APP_LABEL
from trimtab.model.quantity import parse_quantity
from trimtab.obs import get_logger

log = get_logger()
_ROLE = "node-role.kubernetes.io/"
_CONTROL = {"control-plane", "master"}


class Cluster:
    """Follows one API server; `ledger` is what the metrics are made of."""

    source: Literal["pods"] = "pods"

    def __init__(self, client: Client, ledger: Ledger, *, node_selector: str) -> None:
        self.ledger = ledger
        self.clock = Clock()
        self.before_clock_change: Callable[[], None] = lambda: None
        self.pods = Reflector(
            client, LAUNCHERS, labels="=".join(APP_LABEL), indexes={"vm": lambda pod: [str(pod.vm)]}
        )
        self.vms = Reflector(client, MACHINES)
        self.nodes = Reflector(client, NODES, labels=node_selector)
        self.clocks = Reflector(
            client, CONFIG_MAPS, namespace=NAMESPACE, fields=f"metadata.name={CLOCK}"
        )
        self._unreadable: set[str] = set()
        self._changed = asyncio.Event()
        self.vms.store.subscribe(self._vm_changed)
        self.pods.store.subscribe(self._pod_changed)
        self.nodes.store.subscribe(self._node_changed)
        self.clocks.store.subscribe(self._clock_changed)

    @property
    def reflectors(self) -> tuple[Reflector[Any], ...]:
        return self.pods, self.vms, self.nodes, self.clocks

    async def changed(self) -> None:
        """Wait for the next change of a pod or VM."""
        await self._changed.wait()

    def refresh(self) -> None:
        """Book everything in the stores once more; what is right stays as it is."""
        self._book(self.pods.store)
        for node in self.nodes.store:
            self._node_changed(None, node)

    def _pod_changed(self, old: Launcher | None, new: Launcher | None) -> None:
        if new is not None:
            self._book([new])
        elif old is not None:
            self._forget(old)
        self._tell()

    def _vm_changed(self, old: Machine | None, new: Machine | None) -> None:
        vm = new or old
        if vm is not None:
            self._book(self.pods.store.by("vm", str(vm.metadata.key)))
        self._tell()

    def _node_changed(self, old: Node | None, new: Node | None) -> None:
        if new is not None:
            self.ledger.set_node(new.metadata.name, facts(new))
        elif old is not None:
            self.ledger.remove_node(old.metadata.name)
        books = self.ledger.nodes.values()
        metrics.left_out.set(sum(b.facts is not None and not b.measurable for b in books))

    def _clock_changed(self, _: ConfigMap | None, new: ConfigMap | None) -> None:
        try:
            clock = clock_from(new)
        except ConfigError as error:
            log.warning("clock ignored", error=str(error), scale=self.clock.scale)
            return
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

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


def facts(node: Node) -> NodeFacts:
    """What the ledger needs of a Node; an unreadable capacity is none."""
    labels = node.metadata.labels
    roles = sorted(name.removeprefix(_ROLE) for name in labels if name.startswith(_ROLE))
    if not _CONTROL & set(roles) and "worker" not in roles:
        roles.append("worker")
    return NodeFacts(
        _amount(node, "cpu"), _amount(node, "memory"), ready=node.ready, roles=tuple(roles)
    )


def _amount(node: Node, resource: str) -> float:
    try:
        return float(parse_quantity(node.status.allocatable.get(resource, "0")))
    except ConfigError:
        return 0.0
