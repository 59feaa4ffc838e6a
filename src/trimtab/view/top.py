"""`trimtab top`: the page's picture in a terminal, as text; pure, whoever draws it.

`Top` holds what a person chose (list, row, search, question), `press` changes it, and `frame`
is the screen of a given size. Names come from the cluster, so nothing in them moves a cursor.
"""

import re
from collections import Counter
from textwrap import wrap
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace
from rich.cells import cell_len, set_cell_size

from trimtab.web.feed.picture import NodeState, Picture, VmState
from trimtab.web.why import NodeAnswer, VmAnswer

Kind = Literal["nodes", "VMs"]
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
_MARKS = {"over": "▲", "under": "▼"}
HELP = (
    "j k ↓ ↑    next and previous row; g G: first and last",
    "Tab        nodes or VMs",
    "/          search by name; Esc ends it",
    "Enter      why: the class of a node, what the planner thinks of a VM",
    "m          migrate the VM; y confirms",
    "?          this help",
    "q          quit",
)
HEAD, FOOT = 3, 1


class KeyRequest(Struct, frozen=True):
    """What a key asks for beyond the screen: why, a migration, or the end."""

    what: Literal["why", "migrate", "quit"]
    name: str = ""


class Top(Struct, frozen=True, kw_only=True):
    """What is shown of a picture."""

    kind: Kind = "nodes"
    row: int = 0
    search: str = ""
    typing: bool = False
    text: tuple[str, ...] = ()
    """Lines over the list: an answer, or the help."""
    scrolled: int = 0
    confirm: str = ""
    """The VM that waits for a yes to be migrated."""
    note: str = ""


def rows_of(top: Top, picture: Picture) -> list[str]:
    """The names of the list, hottest first."""
    found: list[tuple[float, str]]
    if top.kind == "nodes":
        found = [(-_load(node), name) for name, node in picture.nodes.items()]
    else:
        found = [(-(vm.cpu or 0.0), name) for name, vm in picture.vms.items()]
    return [name for _, name in sorted(found) if top.search.lower() in name.lower()]


def _load(node: NodeState) -> float:
    return max(node.cpu or 0.0, node.memory or 0.0)


def press(top: Top, key: str, picture: Picture) -> tuple[Top, KeyRequest | None]:
    """The screen after a key, and what it asks for; no key ("") leaves questions and notes."""
    if not key:
        return top, None
    if top.confirm:
        vm, after = top.confirm, replace(top, confirm="")
        return (
            (after, KeyRequest("migrate", vm))
            if key == "y"
            else (replace(after, note="kept"), None)
        )
    if top.typing:
        return _typed(top, key), None
    if top.text:
        return _scrolled(top, key), None
    rows = rows_of(top, picture)
    chosen = rows[min(top.row, len(rows) - 1)] if rows else ""
    if key in ("q", "Q"):
        return top, KeyRequest("quit")
    if key in ("Enter", "m") and chosen:
        return _acted(top, key, chosen)
    return _moved(replace(top, note=""), key, len(rows)), None


def _acted(top: Top, key: str, chosen: str) -> tuple[Top, KeyRequest | None]:
    if key == "Enter":
        return top, KeyRequest("why", chosen)
    if top.kind == "nodes":
        return replace(top, note="choose a VM first: Tab"), None
    return replace(top, confirm=chosen), None


def _moved(top: Top, key: str, count: int) -> Top:
    steps = {"j": 1, "Down": 1, "k": -1, "Up": -1, "g": -count, "G": count}
    if key in steps:
        here = min(top.row, max(0, count - 1))
        return replace(top, row=min(max(0, here + steps[key]), max(0, count - 1)))
    if key == "Tab":
        return replace(top, kind="VMs" if top.kind == "nodes" else "nodes", row=0)
    if key == "/":
        return replace(top, typing=True, search="", row=0)
    if key == "Escape":
        return replace(top, search="", row=0)
    return replace(top, text=HELP, scrolled=0) if key == "?" else top


def _typed(top: Top, key: str) -> Top:
    if key == "Enter":
        return replace(top, typing=False)
    if key == "Escape":
        return replace(top, typing=False, search="", row=0)
    if key == "Backspace":
        return replace(top, search=top.search[:-1], row=0)
    return replace(top, search=top.search + key, row=0) if len(key) == 1 else top


def _scrolled(top: Top, key: str) -> Top:
    steps = {"j": 1, "Down": 1, "k": -1, "Up": -1}
    if key in steps:
        return replace(top, scrolled=min(max(0, top.scrolled + steps[key]), len(top.text) - 1))
    return replace(top, text=(), scrolled=0) if key in ("q", "Escape", "Enter", "?") else top


def frame(top: Top, picture: Picture, title: str, columns: int, lines: int) -> list[str]:
    """The screen: exactly `lines` lines, none wider than `columns`."""
    cluster = picture.cluster
    parts = [f"{len(picture.nodes)} nodes, {len(picture.vms)} VMs"]
    if cluster.imbalance is not None:
        parts.append(f"imbalance {cluster.imbalance:.1f}")
    # the verdict comes last: it may be a long sentence, which 80 columns cut
    parts += [f"{cluster.moving} moving, {cluster.moved} moved", cluster.verdict]
    head = [title, " · ".join(filter(None, parts)), cluster.problem or " · ".join(cluster.notes)]
    room = max(1, lines - HEAD - FOOT)
    body = list(top.text[top.scrolled : top.scrolled + room]) if top.text else _list(
        top, picture, columns, room
    )  # fmt: skip
    shown = [*head, *body, *[""] * (room - len(body)), _foot(top)]
    return [set_cell_size(clean(line), columns).rstrip() for line in shown[:lines]]


def _list(top: Top, picture: Picture, columns: int, room: int) -> list[str]:
    names = rows_of(top, picture)
    width = min(max([cell_len(clean(name)) for name in names], default=4), max(12, columns - 49))
    head = "  " + set_cell_size("node" if top.kind == "nodes" else "VM", width)
    head += "  class         score  to over    CPU  memory  VMs" if top.kind == "nodes" else (
        "   cores      GiB  node"
    )  # fmt: skip
    row = min(top.row, max(0, len(names) - 1))
    first = max(0, row - (room - 2))
    counts = Counter(vm.node for vm in picture.vms.values())
    lines = [head]
    for number, name in enumerate(names[first : first + room - 1], start=first):
        pointer = "> " if number == row else "  "
        named = pointer + set_cell_size(clean(name), width)
        if top.kind == "nodes":
            lines.append(named + _node(picture.nodes[name], counts[name]))
        else:
            lines.append(named + _vm(name, picture.vms[name], picture))
    return lines


def _node(node: NodeState, vms: int) -> str:
    left = None if node.high is None or node.percent is None else node.high - node.percent
    mark = f"{_MARKS.get(node.kind, ' ')} {node.kind or '?'}"
    score = "–" if node.percent is None else f"{node.percent:.0f} %"
    far = "–" if left is None else f"{left:+.1f}"
    uses = f"{_share(node.cpu)}  {_share(node.memory):>6}"
    return f"  {mark:<13} {score:>5}  {far:>7}  {uses}  {vms:>3}"


def _share(value: float | None) -> str:
    return f"{'–' if value is None else f'{100 * value:.0f} %':>5}"


def _vm(name: str, vm: VmState, picture: Picture) -> str:
    moving = next((m for m in picture.moves.values() if m.vm == name and not m.ended), None)
    cores = "–" if vm.cpu is None else f"{vm.cpu:.2f}"
    memory = "–" if vm.memory is None else f"{vm.memory / 2**30:.1f}"
    goes = f" → {moving.target or '…'} {moving.phase}" if moving else ""
    return f"  {cores:>6}  {memory:>7}  {vm.node}{goes}{' ◆' if vm.evict else ''}"


def _foot(top: Top) -> str:
    if top.confirm:
        return f"migrate {top.confirm}? y: yes, any other key: no"
    if top.typing:
        return f"/{top.search}"
    if top.text:
        return "j k scroll · Esc back"
    found = f"/{top.search} · " if top.search else ""
    return top.note or f"{found}j k Tab / Enter why · m migrate · ? help · q quit"


def node_lines(answer: NodeAnswer, columns: int) -> tuple[str, ...]:
    """Why a node is over, under or neither, in the words of `explain`."""
    told = [f"Node {answer.name}", answer.verdict]
    for run in answer.runs:
        told.append(f"{run.plugin}: {run.node.node_class}")
        for resource, far in run.node.distances.items():
            percent = "–" if far.percent is None else f"{far.percent:.0f} %"
            told.append(
                f"{resource}: {percent}; under up to {far.low:.2f}, over above {far.high:.2f}; "
                f"{far.above_high:+.2f} above high, {far.above_low:+.2f} above low"
            )
        told += [f"then: {run.node.stop} ({run.node.stop_rule})"] if run.node.stop else []
        told += [f"would go: {each.namespace}/{each.name}: {each.why}" for each in run.evictions]
        told += [f"{each.namespace}/{each.name} {each.verdict} ({each.rule})" for each in run.pods]
    return _wrapped(told, columns)


def vm_lines(answer: VmAnswer, columns: int) -> tuple[str, ...]:
    """What the planner and the descheduler think of a VM."""
    told = [f"VM {answer.name} on {answer.node or 'no node'}", answer.why]
    told += [
        f"{each.target}: gain {each.gain:.1f}, {each.why} {each.rule}" for each in answer.targets
    ]
    told += [f"it would be evicted: {each.why}" for each in answer.evictions]
    told += [f"{each.verdict} ({each.rule}): {each.text}" for each in answer.pods]
    return _wrapped(told, columns)


def _wrapped(told: list[str], columns: int) -> tuple[str, ...]:
    lines = [wrap(clean(each), columns, subsequent_indent="  ") or [""] for each in told]
    return tuple(line for each in lines for line in each)


def clean(text: str) -> str:
    """Control and direction characters are shown, not obeyed."""
    return _CONTROLS.sub("·", text)
