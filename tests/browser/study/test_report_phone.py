"""The report on a phone: nothing is out of sight without a hint."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from builders.labs.pages import Opened
from builders.values.crowds import crowded_report

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("phone") / "report.html"
    path.write_text(crowded_report(), encoding="utf-8")
    return path


@pytest.fixture(scope="module", params=[360, 420])
def phone(browser: Browser, report: Path, request: pytest.FixtureRequest) -> Iterator[Opened]:
    """One page of each size for all tests: what one scrolls no other looks at."""
    size = {"width": request.param, "height": 800}
    found = Opened(browser, report, viewport=size).drawn()
    yield found
    found.context.close()
    assert found.complaints == []


def test_the_page_is_no_wider_than_the_phone_and_every_link_is_in_sight(phone: Opened) -> None:
    width = phone.page.evaluate("innerWidth")
    assert phone.page.evaluate("document.documentElement.scrollWidth") <= width
    links = phone.page.locator("nav a").all()
    assert len(links) == 8
    for link in links:
        box = link.bounding_box()
        assert box
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width


def test_a_wide_table_says_that_it_goes_on_until_its_end_is_in_sight(phone: Opened) -> None:
    table = phone.page.locator("#ranking .scroll:visible")
    expect(table).to_have_class("scroll more")
    hint = table.evaluate("node => getComputedStyle(node, '::before').content")
    assert "Scroll sideways" in hint
    table.evaluate("node => { node.scrollLeft = node.scrollWidth }")
    expect(table).to_have_class("scroll")
    last = table.locator("thead th").last.bounding_box()
    assert last
    assert last["x"] + last["width"] <= phone.page.evaluate("innerWidth")


def test_no_hint_where_the_whole_table_is_in_sight(browser: Browser, report: Path) -> None:
    opened = Opened(browser, report, viewport={"width": 1400, "height": 900}).drawn()
    assert opened.page.locator(".scroll.more:visible").count() == 0
    opened.context.close()
