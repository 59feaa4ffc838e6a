"""A plan of moves as a person reads it: what to do, what it brings, what it costs, the proof."""

from collections import Counter
from collections.abc import Sequence

from trimtab.balance.document import AlternativeDocument, NodeDocument, PlanDocument
from trimtab.balance.price import MigrationCost
from trimtab.view.tables.pictures import Bar
from trimtab.view.terminal import show_table, tell

SHOWN = 20
_GIB = 1024.0**3


def show_plan(
    plan: PlanDocument, *, everything: bool = False, bandwidth: MigrationCost | None = None
) -> None:
    """The verdict first, then moves, nodes, and what stays."""
    tell(verdict(plan))
    for line in proof(plan):
        tell(line)
    if plan.moves:
        tell()
        _moves(plan, everything)
        tell(_price(plan, bandwidth))
    tell()
    _nodes(plan, everything)
    _staying(plan)
    shown = plan.broken if everything else plan.broken[:SHOWN]
    for text in shown:
        tell(f"broken and not repaired: {text}")
    if len(plan.broken) > len(shown):
        tell(f"… and {len(plan.broken) - len(shown)} more broken rules (--all shows them)")
    if plan.loads_from:
        tell(f"loads: {plan.loads_from}")


def verdict(plan: PlanDocument) -> str:
    """One sentence: level, or how many moves for how much."""
    if not plan.moves:
        if plan.left:
            return (
                f"Nothing to move: {_nodes_word(len(plan.left))} above the band cannot be helped."
            )
        return "Level: no node is above the band, nothing to move."
    goals = Counter(move.goal for move in plan.moves)
    parts = ", ".join(f"{count} to {goal}" for goal, count in goals.items())
    text = f"{_moves_word(len(plan.moves))} ({parts})"
    if plan.excess_before > 0:
        text += f" bring the excess from {plan.excess_before:.1f} to {plan.excess_after:.1f} points"
    return f"{text}."


def proof(plan: PlanDocument) -> list[str]:
    """What any balancer needs at least, and the nodes that stay above the band."""
    lines = []
    if plan.bound is not None and plan.bound.moves:
        levelling = sum(move.goal == "level" for move in plan.moves)
        text = (
            f"Any balancer needs at least {_moves_word(plan.bound.moves)} and "
            f"{plan.bound.bytes / _GIB:.1f} GiB to bring every node below its limit"
        )
        if levelling == len(plan.moves):
            text += f"; this plan has {levelling} and {plan.copy_bytes / _GIB:.1f} GiB"
        lines.append(f"{text}.")
    lines += [f"{left.node} stays {left.excess:.1f} points above: {left.why}" for left in plan.left]
    return lines


def _moves(plan: PlanDocument, everything: bool) -> None:
    shown = plan.moves if everything else plan.moves[:SHOWN]
    rows = [
        (
            str(number),
            move.vm,
            move.source,
            move.target,
            f"{move.gain:.1f}",
            f"{move.seconds:.0f} s",
            move.goal + (f" (pair {move.chain})" if move.chain else ""),
            move.why,
        )
        for number, move in enumerate(shown, start=1)
    ]
    show_table(
        ("#", "VM", "from", "to", "gain", "copy", "goal", "why"),
        rows,
        right=("#", "gain", "copy"),
        drop=("why", "copy", "goal"),
    )
    if len(plan.moves) > len(shown):
        tell(f"… and {len(plan.moves) - len(shown)} more (--all shows them)")


def _price(plan: PlanDocument, bandwidth: MigrationCost | None) -> str:
    text = f"copying {plan.copy_bytes / _GIB:.1f} GiB takes {plan.copy_seconds:.0f} s in all"
    if bandwidth is None:
        return text
    return f"{text} at {bandwidth.bandwidth / 1024**2:.0f} MiB/s ({bandwidth.source})"


def _nodes(plan: PlanDocument, everything: bool) -> None:
    changed = [n for n in plan.nodes if everything or _touched(n) or _above(n)]
    if not changed:
        return
    hottest = sorted(changed, key=lambda n: -max(n.cpu_before, n.memory_before))
    shown = hottest if everything else hottest[:SHOWN]
    rows = [
        (
            node.name,
            Bar(node.cpu_before / 100),
            f"{node.cpu_before:.1f} → {node.cpu_after:.1f}",
            f"{node.memory_before:.1f} → {node.memory_after:.1f}",
            f"{node.vms_before} → {node.vms_after}",
        )
        for node in shown
    ]
    show_table(
        ("node", "CPU now", "CPU %", "memory %", "VMs"),
        rows,
        right=("CPU %", "memory %", "VMs"),
        drop=("CPU now",),
    )
    if len(hottest) > len(shown):
        tell(f"… and {len(hottest) - len(shown)} more nodes (--all shows them)")
    first = plan.nodes[0]
    tell(f"level up to {first.cpu_ceiling:.1f} % CPU and {first.memory_ceiling:.1f} % memory")


def _touched(node: NodeDocument) -> bool:
    return (node.cpu_before, node.memory_before, node.vms_before) != (
        node.cpu_after,
        node.memory_after,
        node.vms_after,
    )


def _above(node: NodeDocument) -> bool:
    return node.cpu_before > node.cpu_ceiling or node.memory_before > node.memory_ceiling


def _staying(plan: PlanDocument) -> None:
    for why, count in Counter(each.why for each in plan.staying).most_common(5):
        tell(f"{count} VMs stay: {why}" if count > 1 else f"1 VM stays: {why}")


def show_explained_vm(
    told: tuple[str, Sequence[AlternativeDocument]], *, name: str, node: str
) -> None:
    """Why a VM goes or stays, and its best targets with what refused them."""
    text, targets = told
    tell(f"{name} on {node}: {text}.")
    if targets:
        tell()
        show_table(
            ("target", "gain", "copy", "rule", "why not, or why"),
            [(t.target, f"{t.gain:.1f}", f"{t.seconds:.0f} s", t.rule, t.why) for t in targets],
            right=("gain", "copy"),
            drop=("copy", "rule"),
        )


def _moves_word(count: int) -> str:
    return "1 move" if count == 1 else f"{count} moves"


def _nodes_word(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"
