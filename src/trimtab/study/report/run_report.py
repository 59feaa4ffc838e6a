"""`report.html` of one run beside doing nothing: the parts of a study's report, without ranks.

A page of ten thousand nodes helps nobody and stops a browser, so the charts of a large
cluster show the nodes that were the hottest and the coolest at the start.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from math import isnan
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from trimtab.model.duration import format_duration
from trimtab.model.scenarios.scenario import Scenario
from trimtab.sim.outcome import Course, MigrationRecord, Outcome, ReportCard
from trimtab.study.inputs.identity import Versions
from trimtab.study.report.data import picture_data, scenario_data
from trimtab.study.report.page import render_page
from trimtab.study.results.record import make_picture
from trimtab.view.sim import most_telling

PARTS = ("base", "course", "run", "start")
NODES = 200
MOVES = 500


class RunPage(Struct, frozen=True):
    """What the page is about."""

    title: str
    id: str
    seed: int
    scenario: Scenario
    settings: dict[str, str]
    """What was chosen, by name."""
    policy: str
    """The policy file's text."""
    outcome: Outcome
    nothing: Outcome
    versions: Versions


def render_run(page: RunPage) -> str:
    """The whole page."""
    return render_page("run.html.j2", PARTS, _data(page), _words(page))


def _words(page: RunPage) -> dict[str, Any]:
    outcome, shown = page.outcome, most_telling(page.outcome.course, NODES)
    return {
        "what": "run",
        "name": page.scenario.name,
        "description": page.scenario.description,
        "title": page.title,
        "tiles": tiles(outcome.card, page.nothing.card),
        "groups": card_groups(outcome.card, page.nothing.card),
        "warnings": _condensed(outcome.errors),
        "nodes": list(_nodes(page, shown)),
        "hidden": len(page.scenario.nodes) - len(shown),
        "moves": [_move(move) for move in outcome.moves[:MOVES]],
        "more_moves": max(0, len(outcome.moves) - MOVES),
        "settings": page.settings,
        "seed": page.seed,
        "policy": page.policy,
        "id": page.id,
        "versions": page.versions,
    }


def _condensed(errors: Sequence[str], most: int = 5) -> list[str]:
    more = len(errors) - most
    return [*errors[:most], *([f"… and {more:,} more; result.json has all."] if more > 0 else [])]


def _nodes(page: RunPage, shown: Sequence[int]) -> Iterator[dict[str, str]]:
    course = page.outcome.course
    before = Counter(page.outcome.placement_before.values())
    after = Counter(page.outcome.placement_after.values())
    for number in shown:
        name = page.scenario.nodes[number].name
        yield {
            "name": name,
            "cpu": _change(course.cpu, number),
            "memory": _change(course.memory, number),
            "vms": f"{before[name]} → {after[name]}",
        }


def _change(use: NDArray[np.float32], node: int) -> str:
    return f"{use[0, node]:.0%} → {use[-1, node]:.0%}"


def _move(move: MigrationRecord) -> dict[str, str]:
    took = "" if move.started_s is None or move.ended_s is None else move.ended_s - move.started_s
    return {
        "at": format_duration(move.requested_s),
        "vm": move.vm,
        "source": move.source,
        "target": move.target or "–",
        "gb": f"{move.gb:.1f}",
        "took": f"{took:.0f} s" if took != "" else "–",
        "outcome": move.outcome,
    }


def _data(page: RunPage) -> dict[str, Any]:
    scenario, outcomes = _shown(page)
    pictures = [make_picture(scenario, page.seed, outcome) for outcome in outcomes]
    rows = np.searchsorted(page.outcome.course.times, pictures[0].times)
    return {
        "default": 1,
        "candidates": [{"label": "doing nothing"}, {"label": "this run"}],
        "tables": [{"pick": 1}],
        "scenarios": [scenario_data(scenario)],
        "pictures": [picture_data(0, which, each) for which, each in enumerate(pictures)],
        "imbalance": [_imbalance(outcome.course, rows) for outcome in (page.nothing, page.outcome)],
    }


def _imbalance(course: Course, rows: NDArray[np.intp]) -> list[float]:
    """Standard deviation of all nodes' CPU use, in points."""
    return [round(100 * float(value), 3) for value in course.cpu[rows].std(axis=1)]


def _shown(page: RunPage) -> tuple[Scenario, tuple[Outcome, Outcome]]:
    """The scenario and both outcomes, of a large cluster with only some of its nodes."""
    both = page.nothing, page.outcome
    if len(page.scenario.nodes) <= NODES:
        return page.scenario, both
    chosen = sorted(most_telling(page.outcome.course, NODES))
    nodes = tuple(page.scenario.nodes[number] for number in chosen)
    names = {node.name for node in nodes}
    places = [each for out in both for each in (out.placement_before, out.placement_after)]
    on_them = {vm for place in places for vm, node in place.items() if node in names}
    vms = tuple(vm for vm in page.scenario.vms if vm.name in on_them)
    part = replace(page.scenario, nodes=nodes, vms=vms)
    nothing, outcome = (replace(o, course=_of_nodes(o.course, chosen)) for o in both)
    return part, (nothing, outcome)


def _of_nodes(course: Course, nodes: Sequence[int]) -> Course:
    arrays = ("cpu", "memory", "score", "classes")
    return replace(course, **{name: getattr(course, name)[:, nodes] for name in arrays})


# The report cards of a run and of doing nothing side by side, in units that people use.
Show = Callable[[float], str]


class ComparedLine(Struct, frozen=True):
    """One question: what it means, both answers, and the least that is possible."""

    what: str
    about: str
    run: str
    nothing: str
    least: str


class LineGroup(Struct, frozen=True):
    title: str
    lines: tuple[ComparedLine, ...]


def _points(share: float) -> str:
    return f"{100 * share:.2f}"


def _moment(seconds: float) -> str:
    return "never" if isnan(seconds) else format_duration(seconds)


def _cycles(count: float) -> str:
    return f"{count:g} cycle{'' if count == 1 else 's'}"


_whole, _tenths, _times = "{:,.0f}".format, "{:,.1f}".format, "{:.2f}×".format
_percent, _fine_percent = "{:.2%}".format, "{:.4%}".format


class _Question(Struct, frozen=True):
    what: str
    about: str
    field: str
    show: Show
    least: str = ""
    show_least: Show = _whole


_Q = _Question
_GROUPS: dict[str, tuple[_Question, ...]] = {
    "Balance, over the whole run": (
        _Q("CPU imbalance, points", "standard deviation of nodes' use", "load_std_mean", _points),
        _Q("CPU imbalance at the end, points", "the same at last", "load_std_final", _points),
        _Q("memory imbalance, points", "of nodes' memory use", "memory_std_mean", _points),
        _Q("hottest node", "CPU use over the nodes' mean", "max_over_mean", _times),
        _Q("Gini coefficient", "0 is equal, 1 is all on one node", "gini", "{:.3f}".format),
    ),
    "Contention": (
        _Q("overload, node·s", "use above capacity", "overload_node_seconds", _whole),
        _Q("CPU demand not served", "of all VMs together", "degraded_vm_share", _percent),
        _Q("the same, worst 1 % of VMs", "99th percentile", "degraded_vm_share_p99", _percent),
        _Q("pressure, node·s", "CPU and memory pressure", "psi_node_seconds", _whole),
        _Q("SLATAH", "share of time that nodes with VMs are full", "slatah", _percent),
        _Q("PDM", "share of CPU that VMs lose to migrations", "pdm", _fine_percent),
        _Q("ESV, kWh", "energy × SLATAH × PDM", "esv", "{:.3g}".format),
    ),
    "Cost": (
        _Q("migrations", "that succeeded", "migrations", _whole, "minimum_migrations"),
        _Q("failed attempts", "failures, time-outs, no target", "failed_migrations", _whole),
        _Q("data moved, GB", "sent again included", "gb_moved", _tenths, "minimum_gb", _tenths),
        _Q("time copying, s", "of all copies together", "precopy_seconds", _whole),
        _Q("at the same time", "the most migrations at one moment", "peak_concurrent", _whole),
        _Q("VMs moved more than once", "", "vms_moved_again", _whole),
        _Q("VMs down, VM·s", "should have run and did not", "down_vm_seconds", _whole),
        _Q("energy, kWh", "4 W a core, 6 W more at work", "energy_kwh", "{:,.2f}".format),
    ),
    "Control": (
        _Q(
            "level for the first time",
            "no node more than 10 points above the mean, for three cycles",
            "first_converged_s",
            _moment,
            "minimum_cycles",
            _cycles,
        ),
        _Q("level for the last time", "after getting out of it", "last_converged_s", _moment),
        _Q("overshoot, points", "how far nodes were thrown past the mean", "overshoot", _points),
        _Q("oscillations", "nodes between too much and too little", "oscillations", _whole),
        _Q("ping-pong", "VMs back within an hour", "ping_pongs", _whole),
    ),
}


def card_groups(card: ReportCard, nothing: ReportCard) -> list[LineGroup]:
    """Every question of the report card, by theme."""

    def line(q: _Question) -> ComparedLine:
        run, idle = q.show(getattr(card, q.field)), q.show(getattr(nothing, q.field))
        least = q.show_least(getattr(card, q.least)) if q.least else ""
        return ComparedLine(q.what, q.about, run, idle, least)

    return [LineGroup(title, tuple(map(line, rows))) for title, rows in _GROUPS.items()]


def tiles(card: ReportCard, nothing: ReportCard) -> Sequence[dict[str, str]]:
    """The headline: what came of it, at what price, how fast."""
    return (
        _tile("pick", "Imbalance of CPU use", f"{100 * card.load_std_mean:.2f} points",
              f"{100 * nothing.load_std_mean:.2f} if nothing is done"),
        _tile("best", "Migrations", f"{card.migrations:,}",
              f"{card.minimum_migrations:,} at least; {card.gb_moved:,.1f} GB moved"),
        _tile("default", "Level for the first time", _moment(card.first_converged_s),
              f"{_cycles(card.minimum_cycles)} at least"),
        _tile("nothing", "CPU demand not served", f"{card.degraded_vm_share:.2%}",
              f"{nothing.degraded_vm_share:.2%} if nothing is done"),
    )  # fmt: skip


def _tile(kind: str, what: str, value: str, how: str) -> dict[str, str]:
    return {"kind": kind, "what": what, "value": value, "how": how}
