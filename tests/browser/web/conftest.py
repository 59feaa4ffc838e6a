"""The page in Chromium, served by `trimtab web`."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from builders.labs.pages import BrowserPage
from builders.programs.served_page import ServedPage


class OpenPage(BrowserPage):
    """The page of a cluster."""

    def drawn(self, number: int = 1) -> "OpenPage":
        """Waits for picture `number`."""
        self.page.wait_for_function(
            "number => Number(document.documentElement.dataset.drawn) >= number", arg=number
        )
        return self

    def text(self, selector: str) -> str:
        return self.page.locator(selector).inner_text()

    def middle_of(self, node: str) -> tuple[float, float]:
        """Where the head of a node's box is on the canvas."""
        found = self.page.evaluate(
            """name => { const {map} = trimtabPage; const box = map.boxes[map.byName.get(name)];
                         return [box.x + map.side / 2, box.y + 2]; }""",
            node,
        )
        return found[0], found[1]

    def click_node(self, node: str) -> None:
        x, y = self.middle_of(node)
        self.page.locator("#map").click(position={"x": x, "y": y})
        self.answered(node)

    def click_vm(self, vm: str) -> None:
        x, y = self.page.evaluate(
            """name => { for (const box of trimtabPage.map.boxes) for (const c of box.cells)
                           if (c.name === name) return [c.x + c.w / 2, c.y + c.h / 2]; }""",
            vm,
        )
        self.page.locator("#map").click(position={"x": x, "y": y})
        self.answered(vm)

    def answered(self, what: str) -> None:
        self.page.wait_for_function(
            "what => document.getElementById('details').dataset.answered === what", arg=what
        )


Opener = Callable[..., OpenPage]


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Opener]:
    """Opens an address; at the end no page may have complained."""
    opened: list[OpenPage] = []

    def open_it(address: str, **options: Any) -> OpenPage:
        opened.append(OpenPage(browser, address, **options))
        return opened[-1]

    yield open_it
    for each in opened:
        each.context.close()
    assert [text for each in opened for text in each.complaints] == []


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., ServedPage]]:
    """Starts `trimtab web` with these arguments."""
    served: list[ServedPage] = []

    def start(*arguments: str | Path) -> ServedPage:
        served.append(ServedPage(tmp_path / "state", *arguments))
        served[-1].start()
        return served[-1]

    yield start
    for each in served:
        each.stop()
