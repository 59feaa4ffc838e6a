"""`report.html` of one run beside doing nothing: the parts of a study's report, without ranks.

A page of ten thousand nodes helps nobody and stops a browser, so the charts of a large
cluster show the nodes that were the hottest and the coolest at the start.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from trimtab.model.duration import format_duration
from trimtab.model.scenarios.scenario import Scenario
from trimtab.sim.outcome import Course, Move, Outcome
from trimtab.study.inputs.identity import Versions
from trimtab.study.report.data import picture_data, scenario_data
from trimtab.study.report.page import render_page
from trimtab.study.report.run_card import card_groups, tiles
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


def _move(move: Move) -> dict[str, str]:
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
