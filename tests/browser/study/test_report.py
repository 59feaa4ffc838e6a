"""The report in a real browser: it draws, it answers clicks, it asks the network for nothing."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from builders.labs.pages import Opened
from builders.values.outcomes import a_scenario
from builders.values.studies import a_plan, finished
from trimtab.study.report.report import render

pytestmark = pytest.mark.browser

NASTY = "</script><img src=x onerror=alert(1)>"
CHARTS = (
    "chart-front",
    "chart-moves",
    "chart-heat-left",
    "chart-heat-right",
    "chart-course-left",
    "chart-course-right",
    "chart-map-before",
    "chart-map-after",
    "chart-thresholds",
    "chart-gap",
)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four scores on two clusters, one of them with a name that no page should trust."""
    plan = a_plan(
        candidates=5,
        seeds=20,
        scenarios=(a_scenario("calm", nodes=6, vms=40), a_scenario(NASTY, nodes=3, vms=9)),
        more_thresholds=((0, 5), (10, 10)),
    )
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render(plan, *finished(plan), f"name: {NASTY}\n"), encoding="utf-8")
    return path


def test_every_chart_has_data(opened: Opened) -> None:
    opened.check_charts(CHARTS)


def test_charts_show_what_the_study_found(opened: Opened) -> None:
    heat = opened.series("chart-heat-left")[0]
    assert heat["count"] == 10 * 6
    assert heat["first"] == "[0,0,90]"
    candidates = next(s for s in opened.series("chart-front") if s["type"] == "scatter")
    assert candidates["count"] == 7
    assert opened.series("chart-map-before")[0]["count"] == 40
    bars = opened.series("chart-thresholds")[0]
    assert (bars["type"], bars["count"]) == ("bar", 3)


def test_the_page_asks_for_nothing_but_itself(opened: Opened, report: Path) -> None:
    asked = [url for url in opened.requests if not url.startswith("data:")]
    assert asked == [report.as_uri()]


def test_choosing_a_scenario_changes_table_and_charts(touched: Opened) -> None:
    touched.page.get_by_role("button", name=NASTY).click()
    assert (
        touched.page.locator(".ranking:visible caption")
        .inner_text()
        .startswith(f"Scenario {NASTY}")
    )
    assert touched.series("chart-heat-left")[0]["count"] == 10 * 3
    assert touched.page.locator("img").count() == 0


def test_clicking_a_row_shows_its_course(touched: Opened) -> None:
    row = touched.page.locator(".ranking:visible tr", has_text="memory_focused")
    row.click()
    assert touched.page.locator("#map-name").inner_text() == "memory_focused"
    assert "selected" in (row.get_attribute("class") or "")


def test_a_pointer_on_a_nasty_name_shows_it_as_text(touched: Opened) -> None:
    touched.page.get_by_role("button", name=NASTY).click()
    chart = touched.page.locator("#chart-map-before")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    assert box
    touched.page.mouse.move(box["x"] + box["width"] * 0.2, box["y"] + box["height"] * 0.7)
    touched.page.mouse.move(box["x"] + box["width"] * 0.21, box["y"] + box["height"] * 0.7)
    assert touched.page.locator("img").count() == 0


def test_the_theme_can_be_switched(touched: Opened) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    light = touched.page.evaluate(background)
    touched.page.locator("#theme").click()
    assert touched.page.evaluate(background) != light
    assert touched.page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_a_dark_system_gets_a_dark_page(browser: Browser, report: Path) -> None:
    dark = Opened(browser, report, color_scheme="dark").drawn()
    channel = dark.page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0]")
    assert int(channel) < 60
    assert dark.complaints == []
    dark.context.close()


def test_without_javascript_all_numbers_are_there(browser: Browser, report: Path) -> None:
    plain = Opened(browser, report, java_script_enabled=False)
    assert plain.page.locator(".ranking:visible tbody tr").count() == 7
    plain.page.locator("details.scope summary").first.click()
    assert plain.page.locator(".ranking:visible").count() == 2
    assert plain.page.get_by_text("The charts need JavaScript").is_visible()
    assert not plain.page.locator("#chart-front").is_visible()
    plain.context.close()


def test_it_can_be_printed(touched: Opened) -> None:
    printed = touched.page.pdf(format="A4", landscape=True, print_background=True)
    assert printed.startswith(b"%PDF")
    assert printed.count(b"/Type /Page\n") + printed.count(b"/Type /Page>") >= 2


@pytest.mark.parametrize("width", [390, 820, 1600])
def test_it_fits_the_width_of_any_screen(resized: Opened, width: int) -> None:
    resized.page.set_viewport_size({"width": width, "height": 900})
    assert resized.page.evaluate("document.documentElement.scrollWidth") <= width
