"""One Chromium for all pages."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from builders.labs.pages import VIEWPORT, Opened
from builders.waiting import LIMIT_S

expect.set_options(timeout=LIMIT_S * 1000)

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    if chromium is None:
        complain = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        complain("no Chromium on PATH: the pages are NOT tested; on Debian: apt install chromium")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        yield running
        running.close()


@pytest.fixture(scope="module")
def drawn(browser: Browser, report: Path) -> Iterator[Opened]:
    """The `report` of a file of tests, drawn once: a page of its own is three seconds of CPU time.

    It must not complain.
    """
    found = Opened(browser, report).drawn()
    yield found
    found.context.close()
    assert found.complaints == []


@pytest.fixture
def opened(drawn: Opened) -> Opened:
    """The report as it looks when it was just opened, for tests that only look at it."""
    return drawn.untouched()


@pytest.fixture
def touched(drawn: Opened) -> Opened:
    """The same for tests that change what it shows; who comes next gets it loaded anew."""
    found = drawn.untouched()
    found.is_touched = True
    return found


@pytest.fixture
def resized(opened: Opened) -> Iterator[Opened]:
    """The same for tests that change window or colours; who comes next gets the usual ones."""
    yield opened
    opened.page.emulate_media(color_scheme="light")
    opened.page.set_viewport_size(VIEWPORT)
