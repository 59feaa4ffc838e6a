"""The report of a what-if in a real browser: the recorded cluster and its settings."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from builders.labs.pages import Opened, check_fits
from builders.worlds.recordings import a_recording
from builders.worlds.whatifs import a_whatif
from trimtab.study.recorded.questions import WhatifOptions
from trimtab.study.recorded.report import render_whatif

pytestmark = pytest.mark.browser

NASTY = "</script><img src=x onerror=alert(1)>.trimtab"
CHARTS = (
    "chart-level",
    "chart-days",
    "chart-moves",
    "chart-heat-left",
    "chart-heat-right",
    "chart-map-before",
    "chart-map-after",
    "chart-replay",
)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two hours of a small cluster with a hot node, in a file whose name no page should trust."""
    page = a_whatif(a_recording(hot=2.0), WhatifOptions(sweep=False), title=NASTY)
    path = tmp_path_factory.mktemp("whatif") / "report.html"
    path.write_text(render_whatif(page), encoding="utf-8")
    return path


def test_every_chart_has_data(opened: Opened) -> None:
    opened.check_charts(CHARTS)
    names = [each["name"] for each in opened.series("chart-level")]
    assert names == ["nothing", "as recorded", "my policy"]
    assert opened.series("chart-map-before")[0]["count"] == 9


def test_the_page_asks_for_nothing_but_itself(opened: Opened, report: Path) -> None:
    assert [url for url in opened.requests if not url.startswith("data:")] == [report.as_uri()]
    assert opened.page.locator("img").count() == 0
    assert opened.page.locator("h1").inner_text() == NASTY


def test_the_recorded_cluster_stands_beside_a_setting_and_either_can_be_changed(
    touched: Opened,
) -> None:
    assert touched.page.locator("#pick-right option:checked").inner_text() == "as recorded"
    assert touched.page.locator("#pick-left option:checked").inner_text() == "my policy"
    before = touched.page.evaluate(LEFT)
    touched.page.locator("#pick-left").select_option(label="nothing")
    assert touched.page.evaluate(LEFT) != before


LEFT = """() => JSON.stringify(echarts.getInstanceByDom(
    document.getElementById("chart-heat-left")).getOption().series[0].data)"""


def test_without_javascript_the_answer_and_all_numbers_are_there(
    browser: Browser, report: Path
) -> None:
    plain = Opened(browser, report, java_script_enabled=False)
    assert "can be trusted" in plain.page.locator("#verdict").inner_text()
    assert plain.page.get_by_text("nothing is surely better").first.is_visible()
    assert plain.page.locator("#questions tbody tr").count() == 6
    assert plain.page.locator("#replay tbody tr").count() == 3
    plain.context.close()


@pytest.mark.parametrize("width", [390, 1600])
def test_it_fits_the_width_of_any_screen(resized: Opened, width: int) -> None:
    check_fits(resized, width)
