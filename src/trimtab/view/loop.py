"""The loop in the terminal: nodes, the last cycle and migrations live, and its links tested."""

import asyncio
from collections.abc import Sequence

from rich.console import RenderableType
from rich.live import Live
from rich.text import Text

from trimtab.errors import NotReady, Unavailable
from trimtab.lab.files.layout import LabDir
from trimtab.stacks.loop.connection import open_loop
from trimtab.stacks.loop.state.links import Link
from trimtab.stacks.loop.state.loop_state import LoopNode, LoopState, MigrationUnderWay, read_loop
from trimtab.stacks.loop.state.recent_cycles import RecentCycle
from trimtab.view.tables.pictures import Bar
from trimtab.view.tables.table import Table
from trimtab.view.terminal import err, out, show_json

_COLOURS = {"over": "red", "under": "cyan", "appropriate": "green"}
_PHASES = {"Succeeded": "green", "Failed": "red", "Cancelled": "yellow"}
_COLUMNS = ("node", "VMs", "", "CPU", " ", "memory", "pressure", "score", "to over", "class")
_NUMBERS = ("VMs", "CPU", "memory", "pressure", "score", "to over")
_GO_FIRST = ("pressure", " ", "", "memory", "to over", "VMs")
_FEW = 4  # lines that the nodes and the migrations keep in a low terminal


async def watch_loop(lab: LabDir, *, once: bool, every_s: float, json: bool) -> None:
    """Frame after frame; only one where nobody watches."""
    async with open_loop(lab) as loop:
        if once or not out.is_terminal:
            seen = await read_loop(loop)
            width = out.width if out.is_terminal else None
            show_json(seen) if json else out.print(frame(seen, width), soft_wrap=True)
            return
        with Live(Text("looking…"), console=out, screen=True, auto_refresh=False) as live:
            while True:
                try:
                    shown: RenderableType = frame(await read_loop(loop), out.width, out.height)
                except (NotReady, Unavailable) as error:  # it may be restarting: look again
                    shown = Text(str(error), style="red")
                live.update(shown, refresh=True)
                await asyncio.sleep(every_s)


def frame(seen: LoopState, width: int | None = None, height: int | None = None) -> Text:
    """Everything at one moment, for a terminal of that size; without one, all of it.

    In a low terminal the hottest and the coolest nodes stay, and the newest migrations.
    """
    head = [*_wrapped(_head(seen), width), Text()]
    cycle = [*_wrapped(_cycle(seen.cycle), width), *_wrapped(_pace(seen), width)]
    tail = [Text(), *cycle, Text(), *_wrapped(_sum(seen), width)]
    moves = [line for move in seen.moves for line in _wrapped(_move(move), width)]
    if height is not None:
        room = height - len(head) - len(tail) - len(_nodes(seen.nodes[:1], seen.high, width))
        moves = moves[: max(_FEW, room - len(seen.nodes))]
        return Text("\n").join([*head, *_some_nodes(seen, width, room - len(moves)), *tail, *moves])
    return Text("\n").join([*head, *_nodes(seen.nodes, seen.high, width), *tail, *moves])


def _some_nodes(seen: LoopState, width: int | None, room: int) -> list[Text]:
    """As many nodes as there are lines for, one of which is there already."""
    most = max(_FEW, room + 1)
    if len(seen.nodes) <= most:
        return _nodes(seen.nodes, seen.high, width)
    order = sorted(seen.nodes, key=lambda node: -1.0 if node.score is None else -node.score)
    hot = most // 2
    cool = most - 1 - hot  # one line tells of the others
    chosen = [*order[:hot], *order[len(order) - cool :]]
    more = f"… and {len(seen.nodes) - len(chosen)} nodes in between"
    return [*_nodes(chosen, seen.high, width), Text(more, style="dim")]


def _wrapped(text: Text, width: int | None) -> list[Text]:
    if width is None:
        return text.split("\n", allow_blank=True)[:]
    return list(text.wrap(out, width))


def _head(seen: LoopState) -> Text:
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


def _nodes(nodes: Sequence[LoopNode], high: float | None, width: int | None) -> list[Text]:
    rows = [_row(node, high) for node in nodes]
    table = Table(_COLUMNS, rows, _NUMBERS, whole=("class",), drop=_GO_FIRST)
    return table.lines(width)[0]


def _row(node: LoopNode, high: float | None) -> list[object]:
    waits = [p for p in (node.cpu_pressure, node.memory_pressure) if p is not None]
    name = node.name + ("" if node.ready else " NotReady") + (" cordoned" if node.cordoned else "")
    left = "" if high is None or node.score is None else f"{high - 100 * node.score:+.1f}"
    return [
        Text(name, style="" if node.ready else "red"),
        "" if node.vms is None else str(node.vms),
        Bar(node.cpu, style="filled"),
        percent(node.cpu),
        Bar(node.memory, style="filled"),
        percent(node.memory),
        percent(max(waits)) if waits else "",
        percent(node.score),
        left,
        Text(node.kind or "?", style=_COLOURS.get(node.kind, "")),
    ]


def percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"


def _cycle(cycle: RecentCycle | None) -> Text:
    if cycle is None:
        return Text("no cycle of the descheduler yet", style="dim")
    text = Text(f"last cycle {cycle.ended[:8]}: ")
    if not cycle.worked:
        return text.append(f"failed: {cycle.errors[0]}", style="red")
    asked = [request.pod.partition("/")[2] for request in cycle.requests]
    return text.append(f"evictions of {', '.join(asked)}" if asked else "nothing to evict")


def _pace(seen: LoopState) -> Text:
    return Text(str(seen.keeping_up), style="" if seen.keeping_up.ok else "red")


def _sum(seen: LoopState) -> Text:
    phases = ", ".join(f"{count} {phase}" for phase, count in sorted(seen.vms.items()))
    head = Text(f"VMs: {phases or 'none'}; migrations: {seen.moved} succeeded")
    if seen.evacuating:
        head.append(f"; to leave: {', '.join(seen.evacuating)}", style="yellow")
    return head


def _move(move: MigrationUnderWay) -> Text:
    line = Text(f"  {move.age_s:5.0f} s  {move.vm:<16} ")
    line.append(f"{move.phase:<10}", style=_PHASES.get(move.phase, "yellow"))
    line.append(f" {move.source} → {move.target or '…'}")
    return line.append(f"  {move.reason}", style="red") if move.reason else line


_SIGNS = {"ok": "✓", "late": "!", "broken": "✗", "untested": "–"}


def show_link(link: Link) -> None:
    """One link, as soon as it is known."""
    out.print(f"{_SIGNS[link.state]} {link.name:<12} {link.detail}", markup=False)
    if link.look_at:
        out.print(f"  {'':<12} look at: {link.look_at}", markup=False)


def show_links(links: Sequence[Link], *, json: bool) -> None:
    """The verdict; as JSON with every link."""
    broken = [link.name for link in links if link.state not in ("ok", "late")]
    if json:
        show_json({"ok": not broken, "links": links})
    elif broken:
        err.print(f"the loop is open at: {broken[0]}", markup=False)
    else:
        late = any(link.state == "late" for link in links)
        err.print(f"the loop is closed{', and falls behind' if late else ''}", markup=False)
