"""A page in a real browser, with everything it complained about."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize

from builders.waiting import LIMIT_S

VIEWPORT: ViewportSize = {"width": 1280, "height": 900}


class BrowserPage:
    """An address, opened; `complaints` and `requests` are all that the page said and asked for."""

    def __init__(self, browser: Browser, address: str, before: str = "", **options: Any) -> None:
        """`before` is a script that runs in the page before its own."""
        options = {"viewport": VIEWPORT, **options}
        self.context: BrowserContext = browser.new_context(**options)
        self.context.set_default_timeout(LIMIT_S * 1000)
        self.page: Page = self.context.new_page()
        if before:
            self.page.add_init_script(before)
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(address)


class Opened(BrowserPage):
    """One of our files, opened."""

    def __init__(self, browser: Browser, report: Path, **options: Any) -> None:
        super().__init__(browser, report.as_uri(), **options)
        self.is_touched = False

    def drawn(self) -> "Opened":
        self.page.wait_for_selector("html[data-drawn]", state="attached")
        return self

    def untouched(self) -> "Opened":
        """As it was opened: loaded anew if a test has changed what it shows."""
        if self.is_touched:
            self.requests.clear()
            self.page.reload()
            self.drawn()
            self.is_touched = False
        return self

    def series(self, chart: str) -> list[dict[str, Any]]:
        """Name, type and number of data of each series that a chart really holds."""
        found: list[dict[str, Any]] = self.page.evaluate(
            """id => echarts.getInstanceByDom(document.getElementById(id)).getOption().series
                 .map(s => ({name: s.name, type: s.type, count: s.data.length,
                             first: JSON.stringify(s.data[0])}))""",
            chart,
        )
        return found

    def check_charts(self, charts: Iterable[str]) -> None:
        """Every chart is drawn and every series in it has data; intervals may have none."""
        for chart in charts:
            assert self.page.locator(f"#{chart} canvas, #{chart} svg").first.is_visible()
            series = self.series(chart)
            assert series
            assert all(s["count"] > 0 for s in series if s["name"] != "intervals"), (chart, series)

    def texts(self, chart: str) -> list[dict[str, Any]]:
        """Every visible piece of text in a chart with the box it takes on the screen."""
        found: list[dict[str, Any]] = self.page.evaluate(
            """id => [...document.querySelectorAll(`#${id} svg text`)]
                 .filter(node => getComputedStyle(node).fillOpacity > 0).map(node => {
                 const {left, right, top, bottom} = node.getBoundingClientRect();
                 return {text: node.textContent, left, right, top, bottom}})""",
            chart,
        )
        return found


def check_fits(opened: Opened, width: int) -> None:
    """The dark page has nothing to scroll to the side on a screen of this width."""
    opened.page.emulate_media(color_scheme="dark")
    opened.page.set_viewport_size({"width": width, "height": VIEWPORT["height"]})
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
