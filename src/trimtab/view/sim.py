"""One simulated run on a terminal: nodes before and after, what happened when, and the card."""

from collections import Counter
from collections.abc import Sequence
from math import isnan

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from trimtab.model.duration import format_duration
from trimtab.observe.live_cycle import Landing, LiveResult
from trimtab.sim.outcome import Course, Outcome, ReportCard
from trimtab.view.tables.pictures import Bar, Spark
from trimtab.view.terminal import err, out, show_table

_NODES = 20


class RunComparison(Struct, frozen=True):
    """What is shown: a run, and the same time without any rebalancing."""

    title: str
    nodes: Sequence[str]
    duration_s: float
    outcome: Outcome
    nothing: Outcome
    verdict: str = ""
    """What the run means, in one sentence."""


def show_run(run: RunComparison) -> None:
    """Everything about one run; warnings go to stderr."""
    out.print(run.title, style="bold", markup=False)
    if run.verdict:
        out.print(run.verdict, markup=False)
    out.print()
    _show_nodes(run)
    out.print()
    _show_timeline(run)
    out.print()
    _show_card(run.outcome.card, run.nothing.card)
    for line in _condensed(run.outcome.errors):
        err.print(f"warning: {line}", markup=False)


def _show_nodes(run: RunComparison) -> None:
    course, shown = run.outcome.course, most_telling(run.outcome.course)
    vms_before = Counter(run.outcome.placement_before.values())
    vms_after = Counter(run.outcome.placement_after.values())
    rows = []
    for node in shown:
        name = run.nodes[node]
        cpu, memory = course.cpu[:, node], course.memory[:, node]
        rows.append(
            (
                name,
                Bar(float(cpu[0])),
                _percent(cpu[0]),
                Bar(float(cpu[-1])),
                _percent(cpu[-1]),
                _percent(memory[0]),
                _percent(memory[-1]),
                f"{vms_before[name]} → {vms_after[name]}",
            )
        )
    columns = ("node", "", "CPU before", " ", "CPU after", "memory before", "memory after", "VMs")
    right = ("CPU before", "CPU after", "memory before", "memory after", "VMs")
    show_table(columns, rows, right=right, drop=("", " ", "memory before", "memory after"))
    hidden = len(run.nodes) - len(shown)
    if hidden:
        out.print(f"… and {hidden} nodes in between")


def most_telling(course: Course, most: int = _NODES) -> list[int]:
    """All nodes of a small cluster; of a large one those that were the hottest and coolest."""
    order = np.argsort(-course.cpu[0], kind="stable").tolist()
    if len(order) <= most:
        return sorted(order)
    return [*order[: most // 2], *order[-most // 2 :]]


def _show_timeline(run: RunComparison) -> None:
    course, end = run.outcome.course, format_duration(run.duration_s)
    before = run.nothing.course.cpu.std(axis=1).astype(np.float64)
    imbalance = course.cpu.std(axis=1).astype(np.float64)
    over = (course.classes > 0).sum(axis=1).astype(np.float64)
    moves = _moves_per_cycle(run.outcome)
    top = max(float(before.max()), float(imbalance.max()))
    rows = [
        ("imbalance, doing nothing", Spark(before, top), f"≤ {before.max() * 100:.1f} points"),
        ("imbalance", Spark(imbalance, top), f"≤ {imbalance.max() * 100:.1f} points"),
        ("over-utilised nodes", Spark(over), f"≤ {over.max():.0f}"),
        ("migrations begun", Spark(moves), f"≤ {moves.max():.0f} a cycle"),
    ]
    show_table((f"0 to {end}", "", "highest"), rows, whole=("highest",))


def _moves_per_cycle(outcome: Outcome) -> NDArray[np.float64]:
    begun = [move.started_s for move in outcome.moves if move.started_s is not None]
    edges = np.append(outcome.course.times, np.inf)
    return np.histogram(begun, bins=edges)[0].astype(np.float64)


def _show_card(card: ReportCard, nothing: ReportCard) -> None:
    def points(value: float) -> str:
        return f"{value * 100:.2f}"

    rows = [
        ("CPU imbalance (standard deviation, points)", points(card.load_std_mean),
         points(nothing.load_std_mean), ""),
        ("memory imbalance (points)", points(card.memory_std_mean),
         points(nothing.memory_std_mean), ""),
        ("hottest node over the mean", f"{card.max_over_mean:.2f}×",
         f"{nothing.max_over_mean:.2f}×", ""),
        ("overload (node·s)", f"{card.overload_node_seconds:,.0f}",
         f"{nothing.overload_node_seconds:,.0f}", ""),
        ("CPU demand not served", f"{card.degraded_vm_share:.2%}",
         f"{nothing.degraded_vm_share:.2%}", ""),
        ("migrations", _migrations(card), _migrations(nothing), f"{card.minimum_migrations}"),
        ("data moved (GB)", f"{card.gb_moved:,.1f}", f"{nothing.gb_moved:,.1f}",
         f"{card.minimum_gb:,.1f}"),
        ("VMs moved more than once", card.vms_moved_again, nothing.vms_moved_again, ""),
        ("overshoot (points past the mean)", points(card.overshoot), points(nothing.overshoot), ""),
        ("level for the first time", _moment(card.first_converged_s),
         _moment(nothing.first_converged_s), _cycles(card.minimum_cycles)),
    ]  # fmt: skip
    right = ("this run", "doing nothing", "at least")
    show_table(("", *right), rows, right=right, drop=("at least",))


def _migrations(card: ReportCard) -> str:
    failed = f" (+{card.failed_migrations} failed)" if card.failed_migrations else ""
    return f"{card.migrations}{failed}"


def _cycles(count: int) -> str:
    return f"{count} cycle{'' if count == 1 else 's'}"


def _moment(seconds: float) -> str:
    return "never" if isnan(seconds) else f"after {format_duration(seconds)}"


def _percent(share: float) -> str:
    return f"{share:.0%}"


def _condensed(errors: Sequence[str], most: int = 3) -> list[str]:
    if len(errors) <= most:
        return list(errors)
    return [*errors[:most], f"… and {len(errors) - most} more like these (--json shows all)"]


# One cycle on a running cluster: how the nodes stand, and who goes where.
_KINDS = {"over": "over-utilised", "under": "under-utilised"}


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
