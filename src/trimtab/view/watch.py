"""The loop live in the terminal: nodes with bars, classes, the last cycle, migrations."""

import asyncio

from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from trimtab.errors import NotReady, Unavailable
from trimtab.lab import LabDir
from trimtab.loop.access import open_loop
from trimtab.loop.descheduler_log import Cycle
from trimtab.loop.glance import Glance, Move, NodeGlance, glance
from trimtab.view.terminal import out, show_json

WIDTH = 20
_COLOURS = {"over": "red", "under": "cyan", "appropriate": "green"}
_PHASES = {"Succeeded": "green", "Failed": "red", "Cancelled": "yellow"}


async def watch_loop(lab: LabDir, *, once: bool, every_s: float, json: bool) -> None:
    """Frame after frame; only one where nobody watches."""
    async with open_loop(lab) as loop:
        if once or not out.is_terminal:
            seen = await glance(loop)
            show_json(seen) if json else out.print(frame(seen))
            return
        with Live(Text("looking…"), console=out, screen=True, auto_refresh=False) as live:
            while True:
                try:
                    live.update(frame(await glance(loop)), refresh=True)
                except (NotReady, Unavailable) as error:  # it may be restarting: look again
                    live.update(Text(str(error), style="red"), refresh=True)
                await asyncio.sleep(every_s)


def frame(seen: Glance) -> Group:
    """Everything at one moment."""
    parts: list[RenderableType] = [_head(seen), Text(), _nodes(seen), Text()]
    parts += [_cycle(seen.cycle), _pace(seen), Text(), _moves(seen)]
    return Group(*parts)


def _head(seen: Glance) -> Text:
    clock = f"{seen.at.astimezone():%H:%M:%S}"
    pace = f", time ×{seen.scale}" if seen.scale > 1 else ""
    head = Text(f"{clock}{pace}   score: {seen.algorithm}")
    if seen.low is not None and seen.high is not None:
        head.append(f"   under ≤ {seen.low:.1f} %, over > {seen.high:.1f} %")
    if seen.average is not None:
        head.append(f"   mean {seen.average:.1f} %")
    if seen.problem:
        head.append(f"\nthe descheduler does nothing: {seen.problem}", style="red")
    return head


def _nodes(seen: Glance) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("node", "VMs", "CPU", "", "memory", "", "pressure", "score", "to over", "class"):
        right = column in ("VMs", "pressure", "score", "to over")
        table.add_column(column, justify="right" if right else "left", no_wrap=True)
    for node in seen.nodes:
        table.add_row(*_row(node, seen.high))
    return table


def _row(node: NodeGlance, high: float | None) -> list[RenderableType]:
    waits = [p for p in (node.cpu_pressure, node.memory_pressure) if p is not None]
    name = node.name + ("" if node.ready else " NotReady") + (" cordoned" if node.cordoned else "")
    left = "" if high is None or node.score is None else f"{high - 100 * node.score:+.1f}"
    return [
        Text(name, style="" if node.ready else "red"),
        "" if node.vms is None else str(node.vms),
        bar(node.cpu),
        percent(node.cpu),
        bar(node.memory),
        percent(node.memory),
        percent(max(waits)) if waits else "",
        percent(node.score),
        left,
        Text(node.kind or "?", style=_COLOURS.get(node.kind, "")),
    ]


def bar(share: float | None, width: int = WIDTH) -> Text:
    """A share as a bar; what is beyond the whole is cut."""
    if share is None:
        return Text("no sample".ljust(width), style="dim")
    filled = round(min(1.0, max(0.0, share)) * width)
    colour = "red" if share > 0.85 else "yellow" if share > 0.6 else "green"
    return Text.assemble(("█" * filled, colour), ("░" * (width - filled), "dim"))


def percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"


def _cycle(cycle: Cycle | None) -> Text:
    if cycle is None:
        return Text("no cycle of the descheduler yet", style="dim")
    text = Text(f"last cycle {cycle.ended[:8]}: ")
    if not cycle.worked:
        return text.append(f"failed: {cycle.errors[0]}", style="red")
    asked = [request.pod.partition("/")[2] for request in cycle.requests]
    return text.append(f"evictions of {', '.join(asked)}" if asked else "nothing to evict")


def _pace(seen: Glance) -> Text:
    return Text(str(seen.keeping_up), style="" if seen.keeping_up.ok else "red")


def _moves(seen: Glance) -> Group:
    phases = ", ".join(f"{count} {phase}" for phase, count in sorted(seen.vms.items()))
    head = Text(f"VMs: {phases or 'none'}; migrations: {seen.moved} succeeded")
    if seen.evacuating:
        head.append(f"; to leave: {', '.join(seen.evacuating)}", style="yellow")
    return Group(head, *(_move(move) for move in seen.moves))


def _move(move: Move) -> Text:
    line = Text(f"  {move.age_s:5.0f} s  {move.vm:<16} ")
    line.append(f"{move.phase:<10}", style=_PHASES.get(move.phase, "yellow"))
    line.append(f" {move.source} → {move.target or '…'}")
    return line.append(f"  {move.reason}", style="red") if move.reason else line
