"""Figures for a paper: the report's numbers, text as text, fonts inside, the same bytes again."""

import re
import xml.etree.ElementTree as tree
import zlib
from pathlib import Path

import numpy as np
import pytest

from builders.values.outcomes import a_scenario
from builders.values.studies import a_plan, finished
from trimtab.errors import ConfigError
from trimtab.study.figures import draw_all, save_all
from trimtab.study.figures.files import chosen_formats, file_name
from trimtab.study.figures.labels import Point, write_labels
from trimtab.study.figures.looks import sheet
from trimtab.study.results.measures import IMBALANCE, MIGRATIONS

pytest.importorskip("matplotlib", reason="install the extra: make setup")
NASTY = "../a b/<c>"
PLAN = a_plan(
    candidates=4,
    scenarios=(a_scenario(NASTY), a_scenario("plain", nodes=3, vms=9)),
    more_thresholds=((0, 5), (10, 10)),
)
CELLS, RUNS, RESULT = finished(PLAN)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("figures")
    save_all(draw_all(PLAN, CELLS, RUNS, RESULT), directory)
    return directory


def texts(svg: Path) -> list[str]:
    space = "{http://www.w3.org/2000/svg}"
    return ["".join(each.itertext()).strip() for each in tree.parse(svg).iter(f"{space}text")]


def test_every_chart_is_there_in_both_formats_and_no_name_leaves_the_directory(
    written: Path,
) -> None:
    names = {
        "balance-against-migrations",
        "ranking",
        "gap-to-the-bound",
        "candidates-by-scenario",
        "sensitivity-to-thresholds",
        "01-a-b-c-migrations",
        "01-a-b-c-load",
        "02-plain-migrations",
        "02-plain-load",
    }
    assert {path.name for path in written.iterdir()} == {
        f"{name}.{kind}" for name in names for kind in ("svg", "pdf")
    }


def test_names_in_a_figure_stay_text(written: Path) -> None:
    shown = " | ".join(texts(written / "ranking.svg"))
    for row in RESULT.overall.rows:
        assert RESULT.labels[row.candidate] in shown
    assert "imbalance, points" in shown


def test_a_pdf_carries_its_fonts_and_neither_date_nor_library(written: Path) -> None:
    data = (written / "ranking.pdf").read_bytes()
    assert b"/FontFile2" in data
    assert b"/Type3" not in data
    assert b"CreationDate" not in data
    assert b"atplotlib" not in re.sub(rb"stream.*?endstream", b"", data, flags=re.DOTALL)
    assert any(b"Tj" in _inflated(part) or b"TJ" in _inflated(part) for part in _streams(data))


def test_points_stand_where_the_result_says(written: Path) -> None:
    figure = draw_all(PLAN, CELLS, RUNS, RESULT)["balance-against-migrations"]
    lines = [np.array(line.get_data(), dtype=float) for line in figure.axes[0].lines]
    drawn = {(line[0, 0], line[1, 0]) for line in lines if line.shape == (2, 1)}
    told = {
        (row.measures[MIGRATIONS].value or 0, row.measures[IMBALANCE].value or 0)
        for row in RESULT.overall.rows
    }
    assert drawn == told


def test_the_same_study_gives_the_same_bytes(written: Path, tmp_path: Path) -> None:
    save_all(draw_all(PLAN, CELLS, RUNS, RESULT), tmp_path)
    for path in written.iterdir():
        assert (tmp_path / path.name).read_bytes() == path.read_bytes(), path.name


def test_labels_never_meet() -> None:
    from matplotlib.text import Text

    figure, axes = sheet(4)
    axes.set_xlim(0, 10)
    axes.set_ylim(0, 10)
    crowd = [Point(5 + 0.05 * i, 5 + 0.03 * i, f"candidate number {i}", True) for i in range(8)]
    assert write_labels(axes, crowd) == [point.text for point in crowd]
    figure.draw_without_rendering()
    # of the text alone: an annotation's own extent has its arrow in it
    boxes = [Text.get_window_extent(text) for text in axes.texts]
    assert not [(a, b) for i, a in enumerate(boxes) for b in boxes[:i] if a.overlaps(b)]


@pytest.mark.parametrize(
    ("given", "formats"), [("svg", ("svg",)), ("pdf, svg", ("pdf", "svg")), ("SVG,svg", ("svg",))]
)
def test_formats_are_listed_with_commas(given: str, formats: tuple[str, ...]) -> None:
    assert chosen_formats(given) == formats


@pytest.mark.parametrize("given", ["png", "", "svg,jpeg"])
def test_other_formats_are_refused_by_name(given: str) -> None:
    with pytest.raises(ConfigError, match="choose from svg, pdf"):
        chosen_formats(given)


@pytest.mark.parametrize(
    ("name", "expected"), [("..", "scenario"), ("a/b", "a-b"), ("one-hot", "one-hot")]
)
def test_a_scenarios_name_is_safe_in_a_path(name: str, expected: str) -> None:
    assert file_name(name) == expected


def _streams(data: bytes) -> list[bytes]:
    return re.findall(rb"stream\r?\n(.*?)\r?\nendstream", data, re.DOTALL)


def _inflated(data: bytes) -> bytes:
    try:
        return zlib.decompress(data)
    except zlib.error:
        return b""
