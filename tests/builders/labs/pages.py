"""A page in a real browser, with everything it complained about."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page


class BrowserPage:
    """An address, opened; `complaints` and `requests` are all that the page said and asked for."""

    def __init__(self, browser: Browser, address: str, before: str = "", **options: Any) -> None:
        """`before` is a script that runs in the page before its own."""
        options = {"viewport": {"width": 1280, "height": 900}, **options}
        self.context: BrowserContext = browser.new_context(**options)
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

    def drawn(self) -> "Opened":
        self.page.wait_for_selector("html[data-drawn]", state="attached")
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


def check_fits(browser: Browser, report: Path, width: int) -> None:
    """The dark page has nothing to scroll to the side on a screen of this width."""
    opened = Opened(browser, report, color_scheme="dark").drawn()
    opened.page.set_viewport_size({"width": width, "height": 900})
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
    assert opened.complaints == []
    opened.context.close()
