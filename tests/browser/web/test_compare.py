"""Compare, and what other services say: places beside the map."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from browser.web.conftest import Opener
from builders.programs.served_page import ServedPage
from trimtab.model.examples import example_path
from trimtab.model.snapshot import load
from trimtab.truth.explain.changes.trial import read_trial
from trimtab.web.compare import PolicyCandidate, try_candidate

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPage]:
    """A snapshot; whoever looks at it changes nothing."""
    with ServedPage(tmp_path_factory.mktemp("state"), "evicts") as page:
        yield page


def test_two_candidates_are_judged_on_the_same_look(served: ServedPage, open_page: Opener) -> None:
    trial = read_trial(load(example_path(Path("evicts"), "snapshots")))
    count = len(try_candidate(trial, PolicyCandidate(), ()).evictions)
    seen = open_page(served.address).drawn()
    seen.page.keyboard.press("v")
    verdict = seen.page.locator("#compare [data-part=verdict]")
    expect(verdict).to_contain_text(f"A evicts {count}; B evicts {count}; {count} VMs are evicted")
    seen.page.locator("[data-side=B] [data-field=high]").fill("100")
    seen.page.locator("[data-side=B] [data-field=high]").press("Tab")
    expect(verdict).to_contain_text(f"A evicts {count}; B evicts nothing")
    assert seen.page.locator("#compare tbody").first.get_by_text("≠").count() >= 1
    assert seen.page.locator("#compare").get_by_role("button").count() == 0  # nothing to apply to
    seen.page.keyboard.press("Escape")  # from the field below the one that was filled
    expect(seen.page.locator("#compare")).to_be_hidden()


def test_a_page_without_other_services_says_so(served: ServedPage, open_page: Opener) -> None:
    seen = open_page(served.address).drawn()
    seen.page.keyboard.press("p")
    expect(seen.page.locator("#places")).to_contain_text("Neither the balancer nor QoS")
