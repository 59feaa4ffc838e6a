"""What a balancer's migrations broke, judged from the API's own history and nothing else.

The judge knows what the test allowed (`Rules`) and what an independent watch saw (Chronicle);
it asks neither the balancer nor its records, and shares no line with the planner.
"""

from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from builders.witnesses.chronicle import Chronicle, Entry, State
from trimtab.kube.virtual_machines import MIGRATIONS, VMS, VirtualMachineMigration

PLAN_LABEL = "trimtab.dev/rebalance-plan"


class Rules(Struct, frozen=True, kw_only=True):
    """What a test set up, and what the balancer was told."""

    closed: frozenset[str] = frozenset()
    """Nodes that take nothing: cordoned or tainted before the balancer began."""
    fixed: frozenset[str] = frozenset()
    """VMs that cannot migrate."""
    no_room: bool = False
    """The namespace's quota has no room for the second pod of a copy."""
    at_once: int = 3
    """Five at a time in the cluster, of which two are kept for drains."""


def broken_rules(chronicle: Chronicle, namespace: str, rules: Rules) -> list[str]:
    """Every rule that a migration of the balancer broke; an empty list is what tests want."""
    return [
        *_forbidden(chronicle, namespace, rules),
        *_moved_again(chronicle, namespace),
        *_crowded(chronicle, namespace, rules),
        *_beside_a_drain(chronicle, namespace),
    ]


def by_balancer(migration: VirtualMachineMigration) -> bool:
    return PLAN_LABEL in migration.metadata.labels


def _created(
    chronicle: Chronicle, namespace: str
) -> Iterator[tuple[Entry, State, VirtualMachineMigration]]:
    """The first version of each migration, with the state before it."""
    known: set[str] = set()
    for entry, before, _ in chronicle.replay(namespace):
        if entry.kind != MIGRATIONS.plural or entry.object.metadata.uid in known:
            continue
        known.add(entry.object.metadata.uid)
        yield entry, before, entry.object


def _forbidden(chronicle: Chronicle, namespace: str, rules: Rules) -> Iterator[str]:
    asked = [each for _, _, each in _created(chronicle, namespace) if by_balancer(each)]
    for each in asked:
        if each.spec.vm_name in rules.fixed:
            yield f"{each.spec.vm_name} cannot migrate and was asked to"
        if each.spec.target_node in rules.closed:
            yield f"{each.spec.vm_name} was sent to {each.spec.target_node}, which is closed"
        if rules.no_room:
            yield f"{each.spec.vm_name} was to move without room in the quota"


def _moved_again(chronicle: Chronicle, namespace: str) -> Iterator[str]:
    """All that a test sees lies within one cooldown: a VM that moved, for whom ever, rests."""
    moved: set[str] = set()
    for _, before, each in _created(chronicle, namespace):
        vm = each.spec.vm_name
        ended = {m.spec.vm_name for m in before.of(MIGRATIONS, namespace) if m.finished}
        if by_balancer(each) and (vm in moved or vm in ended):
            yield f"{vm} was moved again within its cooldown"
        if by_balancer(each):
            moved.add(vm)


def _crowded(chronicle: Chronicle, namespace: str, rules: Rules) -> Iterator[str]:
    """The balancer's own migrations under way: few, and one for each source and each target."""
    for entry, _, after in chronicle.replay(namespace):
        if entry.kind != MIGRATIONS.plural:
            continue
        ours = [m for m in after.of(MIGRATIONS, namespace) if by_balancer(m) and not m.finished]
        if len(ours) > rules.at_once:
            yield f"{entry.version}: {len(ours)} of the balancer's moves at once"
        for what, nodes in (
            ("out of", [m.status.source_node for m in ours]),
            ("into", [m.spec.target_node for m in ours]),
        ):
            crowded = [n for n, count in Counter(nodes).items() if n and count > 1]
            yield from (f"{entry.version}: two moves {what} {node}" for node in crowded)


def _beside_a_drain(chronicle: Chronicle, namespace: str) -> Iterator[str]:
    """While VMs are marked to leave, nothing new begins: at most the one decided just before."""
    late = 0
    for entry, before, _ in chronicle.replay(namespace):
        if entry.kind == VMS.plural and not _marked(before, namespace):
            late = 0
        is_new = before.migration(namespace, entry.object.metadata.name) is None
        begins = entry.kind == MIGRATIONS.plural and is_new and by_balancer(entry.object)
        if begins and not entry.object.finished and _marked(before, namespace):
            late += 1
            if late > 1:
                yield f"{entry.version}: {late} moves began while a node was being drained"


def _marked(state: State, namespace: str) -> bool:
    return any(vm.status.evacuation_node_name for vm in state.of(VMS, namespace))
