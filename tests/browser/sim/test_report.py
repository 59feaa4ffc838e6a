"""The report of one run in a real browser."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from builders.labs.pages import Opened, check_fits
from builders.values.outcomes import a_scenario
from trimtab.sim import simulate_one
from trimtab.sim.spec import RunSpec
from trimtab.study.run_directory import make_result, save

pytestmark = pytest.mark.browser

NASTY = "</script><img src=x onerror=alert(1)>"
CHARTS = (
    "chart-imbalance",
    "chart-heat-left",
    "chart-heat-right",
    "chart-course-left",
    "chart-map-before",
    "chart-map-after",
)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real run of a cluster with a name that no page should trust."""
    spec = RunSpec(a_scenario(NASTY, nodes=6, vms=40, duration_s=1200.0))
    outcome, nothing = simulate_one(spec, 1), simulate_one(RunSpec(spec.scenario, score=None), 1)
    path = save(
        tmp_path_factory.mktemp("run"), spec, make_result(spec, 1, outcome, nothing), outcome,
        nothing,
    )  # fmt: skip
    assert path
    return path


def test_every_chart_has_data(opened: Opened) -> None:
    opened.check_charts(CHARTS)
    assert [each["count"] for each in opened.series("chart-imbalance")] == [20, 20]
    assert opened.series("chart-heat-left")[0]["count"] == 20 * 6
    assert opened.series("chart-map-before")[0]["count"] == 40


def test_the_page_asks_for_nothing_but_itself(opened: Opened, report: Path) -> None:
    asked = [url for url in opened.requests if not url.startswith("data:")]
    assert asked == [report.as_uri()]
    assert opened.page.locator("img").count() == 0
    assert opened.page.locator("h1").inner_text() == NASTY


def test_another_layer_shows_other_numbers(touched: Opened) -> None:
    before = touched.series("chart-heat-left")[0]["first"]
    touched.page.locator("#pick-layer").select_option("memory")
    after = touched.series("chart-heat-left")[0]
    assert after["name"] == "memory use"
    assert after["first"] != before


def test_the_theme_can_be_switched(touched: Opened) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    light = touched.page.evaluate(background)
    touched.page.locator("#theme").click()
    assert touched.page.evaluate(background) != light


def test_without_javascript_all_numbers_are_there(browser: Browser, report: Path) -> None:
    plain = Opened(browser, report, java_script_enabled=False)
    assert plain.page.locator("#nodes tbody tr").count() == 6
    assert plain.page.locator("#moves tbody tr").count() > 0
    assert plain.page.locator("#card tbody tr").count() > 20
    assert plain.page.get_by_text("The charts need JavaScript").is_visible()
    plain.context.close()


@pytest.mark.parametrize("width", [390, 1600])
def test_it_fits_the_width_of_any_screen(resized: Opened, width: int) -> None:
    check_fits(resized, width)
