"""Would some other node take the pod? DefaultEvictor's last look before an eviction (2.2).

It asks every ready node, over-utilised ones too; only the source itself is left out.

Rule ids in parentheses are explained in docs/reference/policy.md.
"""

from trimtab.errors import ConfigError
from trimtab.model.quantity import NANO
from trimtab.model.selectors import matches_node, selector_of
from trimtab.model.snapshot import AntiAffinityTerm
from trimtab.policy.cycle import Reason
from trimtab.policy.file.settings import Evictor
from trimtab.policy.pods.migration_aware import PLUGIN, resting_for_s
from trimtab.policy.pods.taints import tolerates_for_scheduling
from trimtab.policy.usage import shown
from trimtab.policy.view import ClusterView, NodeView, PodView, Traits


class PreEviction:
    """nodeFit and namespaceLabelSelector on one view; remembers what a node has left."""

    def __init__(self, evictor: Evictor, view: ClusterView) -> None:
        self._evictor, self._view = evictor, view
        self._known: dict[tuple[Traits, str], bool] = {}
        self.refuses_nobody = not (
            evictor.node_fit or evictor.migration_aware or evictor.namespace_selector.requirements
        )

    def passes(self, pod: PodView, node: str) -> bool:
        return self.refuses_nobody or self.refusal(pod, node) is None

    def refusal(self, pod: PodView, node: str) -> Reason | None:
        """Why the pod on `node` is left alone, or None."""
        if self._evictor.node_fit and not self._fits_elsewhere(pod, node):
            return Reason(
                "2.2.nodeFit",
                "pod does not fit on any other node because of nodeSelector(s), Taint(s), "
                "or nodes marked as unschedulable",
            )
        if resting := self._resting(pod):
            return resting
        selector = self._evictor.namespace_selector
        if not selector.requirements:
            return None
        labels = self._view.namespace_labels(pod.namespace)
        if labels is not None and selector.matches(labels):
            return None
        return Reason(
            "2.2.namespaceLabelSelector",
            "pod namespace do not match the namespaceLabelSelector filter in the policy parameter",
        )

    def _resting(self, pod: PodView) -> Reason | None:
        aware = self._evictor.migration_aware
        if aware is None:
            return None
        left = resting_for_s(self._view.migrations(pod), self._view.now, aware)
        if not left:
            return None
        return Reason(
            f"2.2.{PLUGIN}", f"its VM migrated lately and rests for {left / 60:.0f} more minutes"
        )

    def _fits_elsewhere(self, pod: PodView, node: str) -> bool:
        if pod.traits.anti_affinity:
            return self._try_all(pod, node)
        key = (pod.traits, node)
        if key not in self._known:
            self._known[key] = self._try_all(pod, node)
        return self._known[key]

    def _try_all(self, pod: PodView, node: str) -> bool:
        if self._evictor.node_selector is None:
            return False
        others = self._view.selected(self._evictor.node_selector).nodes
        return any(o.name != node and misfit(pod, o, self._view) is None for o in others)


def misfit(pod: PodView, node: NodeView, view: ClusterView) -> str | None:
    """The first reason why the pod could not run on the node, or None."""
    traits = pod.traits
    if node.unschedulable:
        return "node is not schedulable"
    if not matches_node(traits.node_affinity, traits.node_selector, node.name, node.labels):
        return "pod node selector does not match the node label"
    if not tolerates_for_scheduling(traits.tolerations, node.taints):
        return "pod does not tolerate taints on the node"
    if any(_repelled(pod, term, node, view) for term in traits.anti_affinity):
        return "pod matches inter-pod anti-affinity rule of other pod on node"
    return _insufficient(traits, node, view)


def _repelled(pod: PodView, term: AntiAffinityTerm, node: NodeView, view: ClusterView) -> bool:
    """Any other pod there that the term names, if the node has the topology label at all.

    Pods of the same name never count, not even in another namespace. A selector that
    Kubernetes cannot read repels from every node.
    """
    if term.label_selector is None:
        return False
    try:
        selector = selector_of(term.label_selector, "anti-affinity")
    except ConfigError:
        return True
    namespaces = term.namespaces or (pod.namespace,)
    return term.topology_key in node.labels and any(
        other.name != pod.name
        and other.namespace in namespaces
        and selector.matches(other.traits.labels)
        for other in view.pods_on(node.name)
    )


def _insufficient(traits: Traits, node: NodeView, view: ClusterView) -> str | None:
    """Requests against allocatable less the requests of the pods there, in thousandths."""
    requested, pods = view.requested_on(node.name)
    if shown("pods", node.allocatable.get("pods", 0)) - pods <= 0:
        return "insufficient pods"
    for name, amount in traits.requests.items():
        left = shown(name, node.allocatable.get(name, 0)) - shown(name, requested.get(name, 0))
        if name not in _BASIC and name not in node.allocatable:
            left = 0
        unit = 1 if name == "cpu" else 1000
        if -(-amount * 1000 // NANO) > left * unit:
            return f"insufficient {name}"
    return None


_BASIC = ("cpu", "memory", "pods")
