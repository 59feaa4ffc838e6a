"""The books: which node carries which pods, kept current with every change.

Fixed amounts are summed once per change; pods with curves are evaluated when somebody looks.
The invariant, tested: after any sequence of changes the sums equal a recount from nothing.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from trimtab.exporter.nodes.consumption import BYTES, CORES, UNIT, Amounts, PodContribution, PodRole


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What the Node object says."""

    cores: float = 0.0
    bytes: float = 0.0
    ready: bool = True
    roles: tuple[str, ...] = ("worker",)

    @property
    def sizes(self) -> tuple[float, float]:
        """What amounts of the reference node are divided by, so that one rounding is all."""
        return self.cores * UNIT, self.bytes * UNIT

    @property
    def measurable(self) -> bool:
        """False without capacity, which a ratio needs, and for a lost node."""
        return self.ready and self.cores > 0 and self.bytes > 0


@dataclass(slots=True)
class NodeBook:
    """One node and what its pods add up to; pods may be seen before their node is."""

    facts: NodeFacts | None = None
    pods: int = 0
    vms: int = 0
    fixed_cpu: int = 0
    fixed_memory: int = 0
    curves: dict[str, PodContribution] = field(default_factory=dict)
    moving: dict[str, PodContribution] = field(default_factory=dict)

    @property
    def measurable(self) -> bool:
        return self.facts is not None and self.facts.measurable

    @property
    def fixed(self) -> Amounts:
        return Amounts(self.fixed_cpu, self.fixed_memory)

    def amounts(self, time: float) -> Amounts:
        total = self.fixed
        for each in self.curves.values():
            total = total.plus(each.at(time))
        return total

    def ratios(self, amounts: Amounts) -> tuple[float, float]:
        """CPU and memory as shares of this node, which must be measurable."""
        assert self.facts is not None
        cpu, memory = self.facts.sizes
        return amounts.cpu * CORES / cpu, amounts.memory * BYTES / memory


class Changes:
    """What one reader has not seen yet: nodes whose pods changed, or that nodes themselves did."""

    def __init__(self) -> None:
        self._nodes: set[str] = set()
        self._others = True

    def add(self, node: str) -> None:
        self._nodes.add(node)

    def other_nodes(self) -> None:
        self._others = True

    def take(self) -> set[str] | None:
        """Nodes whose pods changed since the last call; None if nodes came, went or changed."""
        nodes = None if self._others else self._nodes
        self._nodes, self._others = set(), False
        return nodes


class NodeLedger:
    """All nodes. Pods are known by uid; a pod that does not count is simply not in it.

    `before_change` hears of every node whose numbers are about to change: counters add up
    what was until then.
    """

    def __init__(self) -> None:
        self.nodes: dict[str, NodeBook] = {}
        self.before_change: Callable[[str, NodeBook], None] = lambda _name, _book: None
        self._pods: dict[str, PodContribution] = {}
        self._readers: list[Changes] = []

    def follow(self) -> Changes:
        """Everything from now on, beginning with all nodes."""
        changes = Changes()
        self._readers.append(changes)
        return changes

    def set_node(self, name: str, facts: NodeFacts) -> None:
        book = self._open(name)
        if book.facts == facts:
            return
        self._note(name, book, others=True)
        book.facts = facts

    def remove_node(self, name: str) -> None:
        book = self.nodes.get(name)
        if book is not None and book.facts is not None:
            self._note(name, book, others=True)
            book.facts = None
            self._close_if_empty(name, book)

    def put(self, uid: str, contribution: PodContribution) -> None:
        """What the pod adds from now on, wherever it was before."""
        if self._pods.get(uid) == contribution:
            return
        self.remove(uid)
        self._pods[uid] = contribution
        self._book(contribution, uid, +1)

    def remove(self, uid: str) -> None:
        old = self._pods.pop(uid, None)
        if old is not None:
            self._book(old, uid, -1)
            self._close_if_empty(old.node, self.nodes[old.node])

    def clear(self) -> None:
        """Forget everything."""
        for uid in list(self._pods):
            self.remove(uid)
        for name in list(self.nodes):
            self.remove_node(name)

    @property
    def pods(self) -> Mapping[str, PodContribution]:
        """What every pod that counts adds, by uid."""
        return self._pods

    def measurable(self) -> list[str]:
        """Nodes with a ratio, in name order."""
        return sorted(name for name, book in self.nodes.items() if book.measurable)

    def left_out(self) -> list[str]:
        """Nodes that exist but have none, in name order."""
        books = self.nodes.items()
        return sorted(name for name, b in books if b.facts is not None and not b.measurable)

    def _book(self, contribution: PodContribution, uid: str, sign: int) -> None:
        book = self._open(contribution.node)
        self._note(contribution.node, book)
        book.pods += sign
        # Both pods of a migrating VM are on nodes, but it is one VM: the active pod's.
        book.vms += sign * contribution.runs
        if contribution.load is None:
            amounts = contribution.at(0.0)
            book.fixed_cpu += sign * amounts.cpu
            book.fixed_memory += sign * amounts.memory
        else:
            _keep(book.curves, uid, contribution, sign)
        if contribution.role in (PodRole.LEAVING, PodRole.ARRIVING):
            _keep(book.moving, uid, contribution, sign)

    def _note(self, name: str, book: NodeBook, *, others: bool = False) -> None:
        self.before_change(name, book)
        for reader in self._readers:
            reader.add(name)
            if others:
                reader.other_nodes()

    def _open(self, name: str) -> NodeBook:
        return self.nodes.setdefault(name, NodeBook())

    def _close_if_empty(self, name: str, book: NodeBook) -> None:
        if book.facts is None and not book.pods:
            del self.nodes[name]


def _keep(
    where: dict[str, PodContribution], uid: str, contribution: PodContribution, sign: int
) -> None:
    if sign > 0:
        where[uid] = contribution
    else:
        where.pop(uid, None)
