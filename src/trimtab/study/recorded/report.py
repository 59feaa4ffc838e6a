"""`report.html` of a what-if: the answer, the recorded cluster and the settings side by side."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from trimtab.model.duration import format_duration
from trimtab.model.recorded.cleaning import recorded_moves
from trimtab.model.recorded.recording import ClusterRecording
from trimtab.model.scenarios.scenario import Scenario
from trimtab.study.inputs.identity import digest, versions
from trimtab.study.recorded.answer import QuestionResult, WhatifAnswer
from trimtab.study.recorded.certainty import Interval, Versus
from trimtab.study.recorded.questions import BALANCER, MINE, NOTHING, Question
from trimtab.study.report.data import PICTURES_BUDGET, picture_data, scenario_data
from trimtab.study.report.page import render_page
from trimtab.study.results.record import FullChunk, StudyPicture, whole_percent

PARTS = ("base", "course", "whatif", "start")
NODES = 200
RECORDED = "as recorded"


class WhatifPage(Struct, frozen=True):
    """What the page is about."""

    title: str
    """The recording's file."""
    recording: ClusterRecording
    questions: Sequence[Question]
    chunks: Sequence[FullChunk]
    answer: WhatifAnswer
    verdict: str
    policy: str
    """The text of the policy that won."""


def render_whatif(page: WhatifPage) -> str:
    """The whole page."""
    return render_page("whatif.html.j2", PARTS, _data(page), _words(page))


def _words(page: WhatifPage) -> dict[str, Any]:
    answer, manifest = page.answer, page.recording.manifest
    lines = {line.name: line for line in answer.lines}
    start = datetime.fromtimestamp(manifest.start, UTC)
    lasted = format_duration(page.recording.duration_s)
    step = format_duration(page.recording.own_step_s)
    return {
        "what": "what-if",
        "name": page.title,
        "id": digest(manifest.files)[:12],
        "versions": versions(),
        "verdict": page.verdict,
        "trusted": answer.replay.trusted,
        "why": (*answer.replay.why, *answer.replay.claims),
        "words": answer.words,
        "notes": answer.notes,
        "tiles": [
            _tile("Today: my policy", lines[MINE], ""),
            *([_tile("Change to", lines[answer.winner], "pick")] if answer.winner != MINE else []),
            _tile("Doing nothing", lines[NOTHING], ""),
        ],
        "rows": _rows(answer),
        "errors": answer.replay.nodes,
        "facts": {
            "Recorded": f"{start:%Y-%m-%d %H:%M} UTC, for {lasted}",
            "Moments": f"{manifest.moments:,}, one every {step}",
            "Nodes and VMs": f"{len(manifest.nodes):,} and {len(manifest.vms):,}",
            "Runs of each setting": f"{answer.runs}",
        },
        "sources": manifest.sources,
        "findings": manifest.findings,
        "policy": page.policy,
        "hidden": max(0, len(page.questions[0].spec.scenario.nodes) - NODES),
    }


def _tile(what: str, line: QuestionResult, kind: str) -> dict[str, str]:
    value = f"{line.level[0]:.1f} points from level"
    how = f"{line.migrations[0]:.0f} migrations and {line.overload[0]:.1f} h of overload a day"
    if kind:
        what = f"{what} {line.name}"
    return {"what": what, "value": value, "how": how, "kind": kind}


def _rows(answer: WhatifAnswer) -> list[dict[str, str]]:
    beside = {versus.name: versus for versus in answer.beside}
    return [
        {
            "name": line.name,
            "said": line.said,
            "level": _between(line.level, 2),
            "overload": _between(line.overload, 2),
            "unserved": f"{line.unserved:.2f} %",
            "migrations": _between(line.migrations, 0),
            "cost": _between(line.cost, 2),
            "kind": "pick" if line.name == answer.winner else "",
            **_compared(beside.get(line.name)),
        }
        for line in answer.lines
    ]


def _compared(versus: Versus | None) -> dict[str, str]:
    if versus is None:
        return {"versus": "–", "verdict": "same"}
    if versus.sureness != "none":
        where = "surely better" if versus.sureness == "days" else "better on the recorded time"
        return {"versus": f"{_between(versus.difference, 2)}, {where}", "verdict": "better"}
    verdict = "worse" if versus.difference[1] > 0 else "same"
    return {"versus": _between(versus.difference, 2), "verdict": verdict}


def _between(value: Interval, digits: int) -> str:
    mean, low, high = (f"{each:,.{digits}f}" for each in value)
    return mean if low == high else f"{mean} ({low} to {high})"


def _data(page: WhatifPage) -> dict[str, Any]:
    """Courses of everything that runs on the recorded cluster as it is, and of the recording."""
    scenario = page.questions[0].spec.scenario
    simulated = {
        question.name: chunk.picture
        for question, chunk in zip(page.questions, page.chunks, strict=True)
        if question.is_choice or question.name in (NOTHING, BALANCER)
    }
    pictures = {**simulated, RECORDED: _recorded(page.recording, scenario, simulated[MINE])}
    names = list(pictures)
    shown, columns = _shown(scenario, pictures[MINE])
    return {
        "default": names.index(MINE),
        "candidates": [{"label": name} for name in names],
        "tables": [{"pick": names.index(page.answer.winner)}],
        "scenarios": [scenario_data(shown)],
        "lines": [
            {"candidate": names.index(name), "level": _levels(pictures[name])}
            for name in dict.fromkeys((NOTHING, RECORDED, MINE, page.answer.winner))
        ],
        "moved": [np.cumsum(picture.migrations).tolist() for picture in pictures.values()],
        "days": _days(page, page.answer),
        "replay": [round(float(each), 3) for each in np.nan_to_num(page.answer.replay.over_time)],
        "replayStep": page.recording.own_step_s,
        "pictures": _within_budget(page, names, pictures, columns),
    }


def _within_budget(
    page: WhatifPage, names: list[str], pictures: dict[str, StudyPicture], columns: NDArray[np.intp]
) -> list[dict[str, Any]]:
    """As many courses as a page should hold; those that a reader asks for first come first."""
    first = (MINE, NOTHING, RECORDED, page.answer.winner)
    drawn, budget = [], PICTURES_BUDGET
    for name in dict.fromkeys((*first, *names)):
        data = picture_data(0, names.index(name), _of_nodes(pictures[name], columns))
        budget -= sum(len(part) for part in data.values() if isinstance(part, str))
        if budget < 0 and name not in first:
            break
        drawn.append(data)
    return drawn


def _days(page: WhatifPage, answer: WhatifAnswer) -> dict[str, Any]:
    """Distance from level of each day: my policy, the winner and doing nothing."""
    chunks = {q.name: chunk for q, chunk in zip(page.questions, page.chunks, strict=True)}
    names = list(dict.fromkeys((NOTHING, MINE, answer.winner)))
    levels = [
        np.mean([[day.level for day in run.days] for run in chunks[name].runs], axis=0)
        for name in names
    ]
    return {"names": names, "level": [[round(float(x), 3) for x in row] for row in levels]}


def _levels(picture: StudyPicture) -> list[float]:
    return [round(float(value), 3) for value in _table(picture, picture.cpu).std(axis=1)]


def _table(picture: StudyPicture, data: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(data, dtype=np.uint8).reshape(-1, picture.nodes)


def _recorded(recording: ClusterRecording, scenario: Scenario, like: StudyPicture) -> StudyPicture:
    """What was measured on the scenario's nodes, at about the moments of a simulated course."""
    manifest = recording.manifest
    rows = np.clip(np.array(like.times) / recording.own_step_s, 0, manifest.moments - 1)
    chosen = rows.astype(np.intp)
    places = [manifest.nodes.index(node.name) for node in scenario.nodes]
    cores = np.array([float(node.cpu) for node in scenario.nodes], dtype=np.float32)
    room = np.array([float(node.memory) for node in scenario.nodes], dtype=np.float32)
    moves = np.array([moment for moment, *_ in recorded_moves(recording.placement)], dtype=np.intp)
    at = np.minimum(np.searchsorted(chosen, moves), len(chosen) - 1)
    blank = np.zeros((len(chosen), len(places)), dtype=np.uint8).tobytes()
    return replace(
        like,
        cpu=whole_percent(recording.node_cpu[chosen][:, places] / cores),
        memory=whole_percent(recording.node_memory[chosen][:, places] / room),
        score=blank,
        classes=blank,
        after=like.before,
        migrations=np.bincount(at, minlength=len(chosen)).tolist(),
    )


def _shown(scenario: Scenario, picture: StudyPicture) -> tuple[Scenario, NDArray[np.intp]]:
    """All nodes, or of a large cluster those that are hottest and coolest on average."""
    order = np.argsort(-_table(picture, picture.cpu).mean(axis=0), kind="stable")
    if len(order) > NODES:
        order = np.concatenate([order[: NODES // 2], order[-NODES // 2 :]])
    columns = np.sort(order)
    return replace(scenario, nodes=tuple(scenario.nodes[at] for at in columns)), columns


def _of_nodes(picture: StudyPicture, columns: NDArray[np.intp]) -> StudyPicture:
    if len(columns) == picture.nodes:
        return picture
    number = {int(node): at for at, node in enumerate(columns)}
    layers = {
        name: np.ascontiguousarray(_table(picture, getattr(picture, name))[:, columns]).tobytes()
        for name in ("cpu", "memory", "score", "classes")
    }
    return replace(
        picture,
        nodes=len(columns),
        before=[number.get(node, -1) for node in picture.before],
        after=[number.get(node, -1) for node in picture.after],
        **layers,
    )
