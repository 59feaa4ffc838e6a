r"""The page's places as PNG files in docs/images, light and dark.

A simulated run shows the cluster while VMs move; an example snapshot answers why and compares.
Both are the same every time, so pictures change only when the page does. Scores and plans need
services that tell them: with --lab NAME they, and nothing else, are taken of that lab, after

    trimtab lab up --name NAME --with loop --with balancer --balancer propose --scale 10 \
        --interval 30m

The long interval keeps the descheduler from levelling the nodes before anybody approves the plan.

Run: scripts/screenshots [--lab NAME]
"""

import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

IMAGES = Path(__file__).parents[1] / "docs" / "images"
MOST_BYTES = 200_000
SIZE = ViewportSize(width=1100, height=760)
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")
TRIMTAB = (sys.executable, "-m", "trimtab.cli")
PLACES_OF_LAB = (
    ("scores", "c", "#scores", "#scores td"),
    ("plans", "p", "#places", "#places details[open] td"),
)
"""Name of the picture, key that opens the place, the place, and what must be seen there."""
Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--lab", help="take scores and plans of this lab, and nothing else")
    lab = parser.parse_args().lab
    IMAGES.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        if lab:
            of_lab(browser, lab)
        else:
            of_files(browser)
        browser.close()


def of_files(browser: Browser) -> None:
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder)
        run = state / "run"
        subprocess.run(
            [*TRIMTAB, "sim", "one-hot-node", "-o", str(run)], check=True, stdout=subprocess.DEVNULL
        )
        env = {"XDG_STATE_HOME": folder}
        for scheme in SCHEMES:
            with served(str(run), **env) as address:
                cluster(opened(browser, address, scheme), scheme)
                beside(opened(browser, address, scheme), scheme)
            with served("evicts", **env) as address:
                why(opened(browser, address, scheme), scheme)
                compare(opened(browser, address, scheme), scheme)


def of_lab(browser: Browser, lab: str) -> None:
    with served("--lab", lab, "--allow-changes") as address:
        for scheme in SCHEMES:
            for name, key, place, shown in PLACES_OF_LAB:
                page = opened(browser, address, scheme)
                page.keyboard.press(key)
                page.locator(shown).first.wait_for()
                page.locator(place).scroll_into_view_if_needed()
                page.wait_for_timeout(500)
                keep(page, name, scheme)


def chromium() -> str:
    found = shutil.which("chromium")
    if found is None:
        raise SystemExit("no Chromium on PATH; on Debian: apt install chromium")
    return found


def cluster(page: Page, scheme: Scheme) -> None:
    """The moment with most moves under way."""
    page.evaluate(
        """() => { const moving = trimtabPage.timeline.lines()[4];
                   const slider = document.getElementById("moment");
                   slider.value = moving.indexOf(Math.max(...moving));
                   slider.dispatchEvent(new Event("input")); }"""
    )
    keep(page, "cluster", scheme)


def beside(page: Page, scheme: Scheme) -> None:
    """Ten minutes into the run, and its start."""
    page.keyboard.press("v")
    page.locator("#beside-what").select_option("600")
    page.locator("#beside-place").wait_for(state="visible")
    page.evaluate(
        """() => { const { changes } = trimtabPage.timeline;
                   const slider = document.getElementById("moment");
                   slider.value = changes.findIndex(({ at }) => at >= changes[0].at + 600);
                   slider.dispatchEvent(new Event("input"));
                   window.scrollTo(0, 0); }"""
    )
    keep(page, "beside", scheme)


def why(page: Page, scheme: Scheme) -> None:
    page.locator("#map").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    page.wait_for_selector("#details[data-answered]")
    keep(page, "why", scheme)


def compare(page: Page, scheme: Scheme) -> None:
    page.keyboard.press("v")
    page.locator("[data-side=B] [data-field=high]").fill("40")
    page.locator("[data-side=B] [data-field=high]").press("Tab")
    page.locator("#compare [data-part=verdict]").wait_for()
    page.locator("#compare").scroll_into_view_if_needed()
    page.wait_for_timeout(500)
    keep(page, "compare", scheme)


def opened(browser: Browser, address: str, scheme: Scheme) -> Page:
    page = browser.new_page(viewport=SIZE, color_scheme=scheme, reduced_motion="reduce")
    page.goto(address)
    page.wait_for_function("() => Number(document.documentElement.dataset.drawn) >= 1")
    page.wait_for_timeout(1500)
    return page


def keep(page: Page, place: str, scheme: Scheme) -> None:
    file = IMAGES / f"page-{place}-{scheme}.png"
    page.wait_for_timeout(300)
    page.screenshot(path=file)
    size = file.stat().st_size
    if size > MOST_BYTES:
        raise SystemExit(f"{file} has {size} bytes, more than {MOST_BYTES}")
    print(f"{file}: {size // 1000} kB")
    page.close()


@contextmanager
def served(*what: str, **env: str) -> Iterator[str]:
    """The address of `trimtab web` with these arguments."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    process = subprocess.Popen(
        [*TRIMTAB, "web", *what, "--port", str(port)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **env},
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().removeprefix("page: ").strip()
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
