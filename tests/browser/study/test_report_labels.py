"""Labels in the report's charts are readable: apart from each other, inside, own scores named."""

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from builders.labs.pages import Opened
from builders.values.crowds import OWN, crowded_report

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("crowd") / "report.html"
    path.write_text(crowded_report(), encoding="utf-8")
    return path


SIZES = [(1400, "light"), (1400, "dark"), (380, "light"), (380, "dark")]


@pytest.fixture(scope="module", params=SIZES, ids=str)
def opened(
    browser: Browser, report: Path, request: pytest.FixtureRequest
) -> Iterator[tuple[Opened, int]]:
    """One page of each size for all tests: they look at it and touch nothing."""
    width, scheme = request.param
    found = Opened(
        browser, report, viewport={"width": width, "height": 900}, color_scheme=scheme
    ).drawn()
    yield found, width
    found.context.close()
    assert found.complaints == []


@pytest.mark.parametrize("chart", ["chart-front", "chart-moves", "chart-course-left"])
def test_texts_of_a_chart_never_overlap(opened: tuple[Opened, int], chart: str) -> None:
    page, width = opened
    texts = page.texts(chart)
    assert overlapping(texts) == []
    assert all(text["left"] >= 0 and text["right"] <= width for text in texts)


def test_own_scores_are_marked_and_named(opened: tuple[Opened, int]) -> None:
    page, _ = opened
    own = [t["text"] for t in page.texts("chart-front") if "own score" in t["text"]]
    assert len(own) == len(OWN)
    assert page.page.locator(".ranking:visible .badge.own").count() == len(OWN)


def test_nearly_every_point_has_its_rank(opened: tuple[Opened, int]) -> None:
    page, width = opened
    points = next(s for s in page.series("chart-front") if s["name"] == "candidates")["count"]
    ranks = {t["text"].split()[0] for t in page.texts("chart-front")}
    found = ranks & {str(rank) for rank in range(1, points + 1)}
    assert len(found) >= (points if width > 1000 else 0.8 * points)


def test_the_axis_is_logarithmic_where_points_crowd_and_starts_at_nothing(
    opened: tuple[Opened, int],
) -> None:
    page, _ = opened
    words = [t["text"] for t in page.texts("chart-front")]
    assert "migrations per run, logarithmic" in words
    assert {"10", "500"} <= set(words)
    axes = page.page.evaluate(
        """() => { const option = echarts.getInstanceByDom(document.getElementById("chart-front"))
                     .getOption(); return [option.xAxis[0].min, option.yAxis[0].min] }"""
    )
    assert axes == [0, 0]


def test_labels_of_the_gap_are_beside_bar_and_tick(opened: tuple[Opened, int]) -> None:
    page, width = opened
    texts = page.texts("chart-gap")
    assert overlapping(texts) == []
    assert all(text["right"] <= width for text in texts)
    tick = page.page.evaluate(
        """() => { const node = document.getElementById("chart-gap");
                   const chart = echarts.getInstanceByDom(node), minimum = Math.log10(1 + 3);
                   return node.getBoundingClientRect().left + 1.5 +
                     chart.convertToPixel({xAxisIndex: 0}, minimum) }"""
    )
    ratios = [text for text in texts if text["text"].endswith("×")]
    assert len(ratios) == 23
    assert all(ratio["left"] > tick for ratio in ratios)


def test_the_ticks_of_a_long_run_are_whole_hours(opened: tuple[Opened, int]) -> None:
    page, width = opened
    times = [t["text"] for t in page.texts("chart-course-left") if ":" in t["text"]]
    whole = ["0:00", "1:00", "2:00", "3:00", "4:00"]
    assert times == whole if width > 1000 else len(times) >= 2 and set(times) <= set(whole)


def overlapping(texts: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Pairs of texts of which one covers more than a hair of the other."""
    hair = 1.0
    return [
        (a["text"], b["text"])
        for a, b in combinations(texts, 2)
        if min(a["right"], b["right"]) - max(a["left"], b["left"]) > hair
        and min(a["bottom"], b["bottom"]) - max(a["top"], b["top"]) > hair
    ]
