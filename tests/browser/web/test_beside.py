"""Compare over time: two pictures side by side, at the same moment."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from browser.web.conftest import Opener, OpenPage
from builders.programs.served_page import ServedPage
from builders.values.pictures import NOON, FeedFile, a_picture
from trimtab.web.feed.picture import Picture

pytestmark = pytest.mark.browser
Serve = Callable[..., ServedPage]
HOUR = 3600.0


def a_feed(path: Path, start: float, *, seeds: int) -> FeedFile:
    """A feed of seven moments, ten minutes apart; each has VMs at other places."""
    feed = FeedFile(path, a_picture(4, 20, seed=seeds, at=start))
    for number in range(1, 7):
        feed.add(a_picture(4, 20, seed=seeds + number, at=start + number * 600))
    return feed


def beside(seen: OpenPage) -> tuple[float, dict[str, str]]:
    """The moment that stands beside, and where its VMs are."""
    at, vms = seen.page.evaluate(
        """() => { const { state } = trimtabPage.beside.map;
                   return [state.at, [...state.vms].map(([name, vm]) => [name, vm.node])]; }"""
    )
    return at, dict(vms)


def choose(seen: OpenPage, what: str) -> None:
    seen.page.keyboard.press("v")
    seen.page.locator("#beside-what").select_option(what)
    seen.page.locator("#beside-place").wait_for(state="visible")
    # the keys of the page are not those of a list
    seen.page.locator("#map").focus()


def places(picture: Picture) -> dict[str, str]:
    return {name: vm.node for name, vm in picture.vms.items()}


def test_the_same_cluster_stands_beside_as_it_was_an_hour_before(
    serve: Serve, open_page: Opener, tmp_path: Path
) -> None:
    feed = a_feed(tmp_path / "feed.jsonl", NOON, seeds=0)
    seen = open_page(serve(feed.path).address).drawn(7)
    choose(seen, str(int(HOUR)))
    assert beside(seen) == (NOON, places(a_picture(4, 20, seed=0)))
    expect(seen.page.locator("#beside-text")).to_contain_text("VMs elsewhere than on the left")
    seen.page.keyboard.press("[")
    expect(seen.page.locator("#beside-text")).to_have_text("Nothing is known of that moment.")
    seen.page.keyboard.press("l")
    expect(seen.page.locator("#beside-text")).to_contain_text("imbalance")


def test_two_runs_stand_side_by_side_at_the_same_time_since_their_starts(
    serve: Serve, open_page: Opener, tmp_path: Path
) -> None:
    feed = a_feed(tmp_path / "feed.jsonl", NOON, seeds=0)
    other = a_feed(tmp_path / "other.jsonl", 0.0, seeds=50)
    served = serve(feed.path, "--beside", other.path)
    seen = open_page(served.address).drawn(7)
    choose(seen, "file")
    assert beside(seen) == (3600.0, places(a_picture(4, 20, seed=56)))
    for index in (2, 5, 0):
        seen.page.locator("#moment").fill(str(index))
        at, vms = beside(seen)
        assert at == index * 600
        assert vms == places(a_picture(4, 20, seed=50 + index))
    # the line of the other run is in the strip, at the times of this one
    times = "trimtabPage.timeline.changes.map(change => change.at)"
    line = seen.page.evaluate(f"() => trimtabPage.beside.computed({times})")
    wanted = [a_picture(4, 20, seed=50 + number).cluster.imbalance for number in range(7)]
    assert line == wanted
    expect(seen.page.locator("#strip")).to_contain_text("imbalance beside")
    seen.page.keyboard.press("Escape")


def test_two_recordings_of_the_same_hours_stand_side_by_side_by_the_clock(
    serve: Serve, open_page: Opener, tmp_path: Path
) -> None:
    feed = a_feed(tmp_path / "feed.jsonl", NOON, seeds=0)
    other = a_feed(tmp_path / "other.jsonl", NOON - 600, seeds=50)
    seen = open_page(serve(feed.path, "--beside", other.path).address).drawn(7)
    choose(seen, "file")
    seen.page.locator("#moment").fill("0")
    assert beside(seen) == (NOON, places(a_picture(4, 20, seed=51)))


def test_the_shadow_has_the_moves_of_the_plan_made_and_loads_with_them(
    serve: Serve, open_page: Opener, tmp_path: Path
) -> None:
    """A plan of an observing balancer, given to the page as the server would give it."""
    first = a_picture(2, 10)
    vm = next(name for name, each in first.vms.items() if each.node == "node-0")
    plan = {"name": "p1", "at": NOON - 5, "mode": "observe", "phase": "Proposed", "message": ""}
    move = {"vm": vm, "source": "node-0", "target": "node-1", "why": "", "gain": 1, "seconds": 1}
    seen = open_page(serve(FeedFile(tmp_path / "feed.jsonl", first).path).address).drawn()
    seen.page.route("**/v1/places?*", lambda route: route.fulfill(
        json={"plans": [{**plan, "moves": [move]}]}))  # fmt: skip
    choose(seen, "shadow")
    _, vms = beside(seen)
    assert vms == places(first) | {vm: "node-1"}
    was, is_ = seen.page.evaluate(
        """() => [trimtabPage.map.state, trimtabPage.beside.map.state].map(
                    state => ["node-0", "node-1"].map(name => state.nodes.get(name).cpu * 64))"""
    )
    cores = first.vms[vm].cpu
    assert cores is not None
    assert is_ == pytest.approx([was[0] - cores, was[1] + cores], abs=0.02)


def test_a_page_whose_balancer_made_no_plan_says_so(
    serve: Serve, open_page: Opener, tmp_path: Path
) -> None:
    feed = FeedFile(tmp_path / "feed.jsonl", a_picture(2, 10))
    seen = open_page(serve(feed.path).address).drawn()
    choose(seen, "shadow")
    expect(seen.page.locator("#beside-text")).to_contain_text("The balancer made no plan")
