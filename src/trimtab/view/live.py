"""One cycle on a running cluster: how the nodes stand, and who goes where."""

from trimtab.observe.live_cycle import Landing, LiveResult
from trimtab.view.tables.pictures import Bar
from trimtab.view.terminal import err, out, show_table

_KINDS = {"over": "over-utilised", "under": "under-utilised"}
_BAR = 20


def show_live(result: LiveResult) -> None:
    """Everything about the cycle; why it failed goes to stderr."""
    decision = result.decision
    out.print(f"score: {result.query}", markup=False)
    rows = [
        (
            node.node,
            None if node.percent is None else Bar(node.percent / 100),
            "" if node.percent is None else f"{node.percent:.0f} %",
            _KINDS.get(node.kind, node.kind),
            node.vms,
        )
        for node in decision.nodes
    ]
    show_table(("node", " ", "score", "class", "VMs"), rows, right=("score", "VMs"), drop=(" ",))
    if decision.low is not None and decision.high is not None:
        out.print(f"under-utilised below {decision.low:.1f} %, over above {decision.high:.1f} %")
    if decision.error:
        err.print(f"the descheduler would fail: {decision.error}", markup=False)
        return
    out.print()
    if not result.moves:
        out.print(decision.quiet, markup=False)
        return
    _show_moves(result)


def _show_moves(result: LiveResult) -> None:
    if result.dry_run:
        planned = [(m.vm_id, m.from_node, m.intended_node or "anywhere") for m in result.moves]
        show_table(("VM", "from", "intended"), planned)
        out.print("nothing was moved (--dry-run)")
        return
    rows = [
        (m.vm_id, m.from_node, m.intended_node or "anywhere", m.actual_node or "–", m.verdict)
        for m in result.moves
    ]
    show_table(("VM", "from", "intended", "actual", ""), rows)
    out.print(_sum(result.moves))


def _sum(moves: tuple[Landing, ...]) -> str:
    going = [move for move in moves if not move.error]
    kept = sum(move.actual_node == move.intended_node for move in going)
    failed = len(moves) - len(going)
    more = f"; {failed} cannot move" if failed else ""
    return f"{len(going)} of {len(moves)} VMs move, {kept} to the intended node{more}"
