"""One Chromium for all pages."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from builders.labs.pages import Opened

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


@pytest.fixture
def opened(browser: Browser, report: Path) -> Iterator[Opened]:
    """The `report` of a file of tests, drawn; it must not complain."""
    found = Opened(browser, report).drawn()
    yield found
    found.context.close()
    assert found.complaints == []
