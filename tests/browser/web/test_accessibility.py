"""The page is for everybody: axe finds no barrier, in light and dark, on a phone and at 4K."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from browser.web.conftest import Opener, OpenPage
from builders.programs.served_page import ServedPage
from builders.values.pictures import FeedFile, a_move_begins, a_picture

pytestmark = pytest.mark.browser
VENDOR = Path(__file__).parents[1] / "vendor"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]
SCREENS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": {"width": 360, "height": 740}},
    "4K": {"viewport": {"width": 3840, "height": 2160}},
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPage]:
    """One server for all tests: nothing that they do changes what it says."""
    directory: Path = tmp_path_factory.mktemp("served")
    feed = FeedFile(directory / "feed.jsonl", a_picture(12, 90))
    feed.add(a_move_begins(feed.last, next(iter(feed.last.vms)), "node-3"))
    with ServedPage(directory / "state", feed.path) as page:
        yield page


@pytest.fixture(scope="module")
def of_any_width(browser: Browser, served: ServedPage) -> Iterator[OpenPage]:
    """One page for all widths, with a node chosen; it stays open, so nothing shall move on it."""
    seen = OpenPage(browser, served.address, reduced_motion="reduce").drawn(2)
    seen.page.evaluate("() => trimtabPage.map.select({node: 'node-0'})")
    seen.answered("node-0")
    yield seen
    seen.context.close()
    assert seen.complaints == []


def test_axe_is_the_published_one() -> None:
    recorded = re.search(r"\| axe.min.js \| (\w{64}) \|", (VENDOR / "README.md").read_text())
    assert recorded is not None
    digest = hashlib.sha256((VENDOR / "axe.min.js").read_bytes()).hexdigest()
    assert digest == recorded[1]


@pytest.mark.parametrize("screen", SCREENS)
def test_axe_finds_no_barrier(served: ServedPage, open_page: Opener, screen: str) -> None:
    seen = open_page(served.address, **SCREENS[screen]).drawn(2)
    # The page's own policy lets no foreign script in; the tester may bring one along.
    seen.page.evaluate((VENDOR / "axe.min.js").read_text())
    seen.page.evaluate("() => trimtabPage.map.select({node: 'node-0'})")
    seen.answered("node-0")
    seen.page.keyboard.press("t")
    seen.page.keyboard.press("c")
    found = seen.page.evaluate(
        """async rules => (await axe.run(document, {runOnly: rules})).violations.map(
             v => [v.id, v.nodes.map(n => n.html.slice(0, 120) + ' ' + n.failureSummary)])""",
        RULES,
    )
    assert found == []


@pytest.mark.parametrize("width", [360, 768, 1280, 3840])
def test_nothing_is_wider_than_the_screen(of_any_width: OpenPage, width: int) -> None:
    page = of_any_width.page
    page.set_viewport_size({"width": width, "height": 800})
    # the map is drawn anew a moment after the window has its new size
    fits = "width => innerWidth === width && document.documentElement.scrollWidth <= width"
    page.wait_for_function(fits, arg=width)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width


def test_nothing_moves_for_those_who_asked_for_no_motion(
    served: ServedPage, open_page: Opener
) -> None:
    counted = """() => new Promise(done => { const {map} = trimtabPage; let frames = 0;
        const draw = map.draw.bind(map); map.draw = now => { frames++; draw(now); };
        let left = 10; const next = () => left-- ? requestAnimationFrame(next) : done(frames);
        requestAnimationFrame(next); })"""
    still = open_page(served.address, reduced_motion="reduce").drawn(2)
    assert still.page.evaluate(counted) == 0
    moving = open_page(served.address, reduced_motion="no-preference").drawn(2)
    assert moving.page.evaluate(counted) > 5


def test_the_table_behind_the_picture_says_what_the_picture_says(
    served: ServedPage, open_page: Opener
) -> None:
    seen = open_page(served.address).drawn(2)
    seen.page.keyboard.press("t")
    rows = seen.page.locator("#node-rows tr").all_inner_texts()
    boxes = seen.page.evaluate("() => trimtabPage.map.boxes.map(b => [b.name, b.node.kind])")
    assert [row.split("\t")[:2] for row in rows] == boxes
    assert seen.page.locator("#move-rows tr").count() == 1
