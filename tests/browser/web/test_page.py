"""The page follows a feed, answers clicks, and survives its server."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from browser.web.conftest import Opener
from builders.programs.served_page import ServedPage
from builders.values.pictures import FeedFile, a_move_begins, a_move_ends, a_picture
from builders.worlds.snapshots import a_snapshot, with_vms
from trimtab.balance.explain import explain_vm
from trimtab.balance.from_snapshot import problem_from
from trimtab.balance.planner import make_plan
from trimtab.model.snapshot import dump
from trimtab.truth.explain.explanation import explain
from trimtab.web.feed.history import LONG_BYTES
from trimtab.web.feed.picture import NodeState, VmState

pytestmark = pytest.mark.browser
Serve = Callable[..., ServedPage]
HOT = {"hot": 80.0, "warm": 40.0, "cold": 10.0}
NASTY = (
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    "__proto__",
    "constructor",
    "javascript:alert(3)",
    '"><svg onload=alert(4)>',
    "\u202egnp.exe",
    "a" * 253,
    "{{7*7}}${7*7}",
    "\u0000\u001b[31m",
)

HOLD_WHOLE_HISTORY = """
const ask = globalThis.fetch;
const wait = new Promise((done) => { globalThis.goOn = done; });
globalThis.fetch = async (path, options) => {
  if (path === "v1/history") await wait;
  return ask(path, options);
};
"""


@pytest.fixture
def feed(tmp_path: Path) -> FeedFile:
    return FeedFile(tmp_path / "feed.jsonl", a_picture(12, 90))


def test_a_move_appears_as_an_arc_and_ends_where_it_went(
    serve: Serve, open_page: Opener, feed: FeedFile
) -> None:
    seen = open_page(serve(feed.path).address).drawn()
    vm = next(name for name, known in feed.last.vms.items() if known.node == "node-0")
    feed.add(a_move_begins(feed.last, vm, "node-11"))
    seen.drawn(2)
    assert seen.page.evaluate("[...trimtabPage.map.state.moves.values()][0].target") == "node-11"
    assert "1 moving" in seen.text("#verdict")
    seen.click_vm(vm)
    assert seen.text("#details [data-part=moves]") == "Move PreCopy: node-0 → node-11"
    feed.add(a_move_ends(feed.last, vm))
    seen.drawn(3)
    assert seen.text("#details [data-part=moves]") == ""  # the open panel follows
    assert seen.page.evaluate("vm => trimtabPage.map.state.vms.get(vm).node", vm) == "node-11"
    assert "0 moving, 1 moved" in seen.text("#verdict")
    seen.click_vm(vm)
    assert "node-0" in seen.text("#details")
    assert "node-11" in seen.text("#details")


def test_moves_between_the_same_two_nodes_are_arcs_beside_each_other(
    serve: Serve, open_page: Opener, feed: FeedFile
) -> None:
    seen = open_page(serve(feed.path).address).drawn()
    leaving = [name for name, vm in feed.last.vms.items() if vm.node == "node-0"][:3]
    for vm in leaving:
        feed.add(a_move_begins(feed.last, vm, "node-11"))
    seen.drawn(4)
    bends = "trimtabPage.map.routes().map(([, route]) => `${route.bend.x} ${route.bend.y}`)"
    assert len(set(seen.page.evaluate(bends))) == len(leaving) == 3


@pytest.mark.parametrize(
    ("nodes", "width"),
    [
        pytest.param(12, 360, id="a phone"),
        pytest.param(12, 1280, id="two rows"),
        pytest.param(5, 1280, id="one row"),
    ],
)
def test_arcs_stay_on_the_map_and_apart_between_any_two_nodes(
    serve: Serve, open_page: Opener, tmp_path: Path, nodes: int, width: int
) -> None:
    feed = FeedFile(tmp_path / "feed.jsonl", a_picture(nodes, 7 * nodes))
    seen = open_page(serve(feed.path).address).drawn()
    seen.page.set_viewport_size({"width": width, "height": 900})
    bends, least = seen.page.evaluate(
        """() => {
          const map = trimtabPage.map;
          const all = map.boxes.map((box) => map.centre(box.name));
          const others = (from) => all.filter((to) => to !== from);
          const pairs = all.flatMap((from) => others(from).map((to) => [from, to]));
          const bends = pairs.map(([from, to]) => map.bends(from, to).map((bend) => [
            0.25 * from.x + 0.5 * bend.x + 0.25 * to.x, 0.25 * from.y + 0.5 * bend.y + 0.25 * to.y,
          ].map((at, axis) => 0 < at && at < (axis ? map.height : map.width)).every(Boolean)));
          return [bends.flat(), Math.min(...bends.map((each) => each.length))];
        }"""
    )
    assert all(bends)
    assert least >= 4


def test_the_strip_tells_the_time_of_each_tick_and_the_day_once(
    serve: Serve, open_page: Opener, feed: FeedFile
) -> None:
    for _ in range(4):
        feed.add_at(feed.last, feed.last.at + 60)
    seen = open_page(serve(feed.path).address).drawn(5)
    first, *others = seen.page.evaluate("() => trimtabPage.strip.chart.axes[0]._values")
    assert re.fullmatch(r"\d\d:\d\d(:\d\d)?\n\D*\d+\D*", first)
    assert others
    assert all(re.fullmatch(r"\d\d:\d\d(:\d\d)?", each) for each in others)


def test_the_page_shows_exactly_what_the_feed_says(
    serve: Serve, open_page: Opener, feed: FeedFile
) -> None:
    for number in range(1, 8):
        feed.add(a_picture(12, 90, seed=number, at=feed.last.at + 5))
    seen = open_page(serve(feed.path).address).drawn(8)
    shown = seen.page.evaluate(
        """() => [...trimtabPage.map.state.vms].map(([name, vm]) => [name, vm.node])"""
    )
    assert dict(shown) == {name: vm.node for name, vm in feed.last.vms.items()}
    percents = seen.page.evaluate(
        "() => trimtabPage.map.boxes.map(({name, node}) => [name, node.percent])"
    )
    assert dict(percents) == {name: node.percent for name, node in feed.last.nodes.items()}


def test_the_past_can_be_looked_at_and_left_again(
    serve: Serve, open_page: Opener, feed: FeedFile
) -> None:
    first = feed.last
    for number in range(1, 140):
        feed.add(a_picture(12, 90, seed=number, at=feed.last.at + 5))
    seen = open_page(serve(feed.path).address).drawn(140)
    for index, wanted in ((0, first), (139, feed.last)):
        seen.page.evaluate(
            """index => { const m = document.getElementById('moment'); m.value = index;
                          m.dispatchEvent(new Event('input')); }""",
            index,
        )
        nodes = seen.page.evaluate("() => [...trimtabPage.map.state.vms.values()].map(v => v.node)")
        assert sorted(nodes) == sorted(vm.node for vm in wanted.vms.values())
    assert seen.page.locator("#live").get_attribute("aria-pressed") == "true"
    seen.page.keyboard.press("[")
    assert seen.page.locator("#live").get_attribute("aria-pressed") == "false"
    feed.add(replace(a_picture(12, 90, seed=999), at=feed.last.at + 5))
    seen.page.wait_for_function("() => trimtabPage.timeline.changes.length === 141")
    assert seen.page.locator("#moment").input_value() == "138"
    seen.page.keyboard.press("l")
    seen.drawn(141)


def test_the_newest_picture_of_a_long_history_is_shown_before_the_past_is_there(
    serve: Serve, open_page: Opener, tmp_path: Path
) -> None:
    feed = FeedFile(tmp_path / "feed.jsonl", a_picture(20, 400))
    for number in range(1, 150):
        feed.add(a_picture(20, 400, seed=number, at=feed.last.at + 5))
    assert feed.path.stat().st_size > LONG_BYTES
    served = serve(feed.path)
    open_page(served.address).drawn(150)  # the server has read all of it
    seen = open_page(served.address, before=HOLD_WHOLE_HISTORY).drawn()
    places = "() => [...trimtabPage.map.state.vms].map(([name, vm]) => [name, vm.node])"
    newest = {name: vm.node for name, vm in feed.last.vms.items()}
    assert dict(seen.page.evaluate(places)) == newest
    assert seen.page.evaluate("() => trimtabPage.timeline.changes.length") == 1
    seen.page.evaluate("() => goOn()")
    seen.drawn(150)
    assert dict(seen.page.evaluate(places)) == newest
    seen.page.keyboard.press("[")
    assert seen.page.locator("#moment").input_value() == "148"
    feed.add(a_picture(20, 400, seed=999, at=feed.last.at + 5))
    seen.page.wait_for_function("() => trimtabPage.timeline.changes.length === 151")


def test_a_click_on_a_node_says_what_trimtab_explain_says(
    serve: Serve, open_page: Opener, tmp_path: Path
) -> None:
    snapshot = with_vms(a_snapshot(HOT))
    dump(snapshot, tmp_path / "now.yaml")
    seen = open_page(serve(tmp_path / "now.yaml").address).drawn()
    explanation = explain(snapshot).explanation
    (run,) = explanation.runs
    for node in run.nodes:
        seen.click_node(node.name)
        assert seen.text("#details [data-part=verdict]") == explanation.verdict
        assert seen.text("#details [data-part=class]") == f"{run.plugin}: {node.node_class}"
        (distance,) = node.distances.values()
        told = seen.text("#details [data-part=distance]")
        assert f"under up to {distance.low:.2f}, over above {distance.high:.2f}" in told
        if node.stop:
            stop = f"then: {node.stop} ({node.stop_rule})"
            assert seen.text("#details [data-part=stop]") == stop
        for pod in run.pods:
            if pod.node == node.name:
                assert f"default/{pod.name}" in seen.text("#details")
                assert pod.verdict == "evicted" or pod.text in seen.text("#details")


def test_a_click_on_a_vm_says_what_the_planner_says(
    serve: Serve, open_page: Opener, tmp_path: Path
) -> None:
    snapshot = with_vms(a_snapshot(HOT), cpu="9")
    dump(snapshot, tmp_path / "now.yaml")
    seen = open_page(serve(tmp_path / "now.yaml").address).drawn()
    problem = problem_from(snapshot)
    plan = make_plan(problem)
    for number in (0, 8):
        seen.click_vm(problem.vms[number])
        told = explain_vm(problem, plan, number)
        assert seen.text("#details [data-part=why]") == told.text
        for target in told.targets:
            assert problem.nodes[target.target] in seen.text("#details table")


def test_a_killed_server_is_said_and_its_successor_followed_without_reload(
    serve: Serve, open_page: Opener, feed: FeedFile
) -> None:
    served = serve(feed.path)
    seen = open_page(served.address).drawn()
    seen.page.evaluate("() => { globalThis.sameDocument = true }")
    served.kill()
    seen.page.wait_for_function("() => document.documentElement.dataset.connected === 'no'")
    assert "trying again" in seen.text("#connection")
    feed.add(a_picture(12, 90, seed=5, at=feed.last.at + 5))
    served.start()
    seen.page.wait_for_function("() => document.documentElement.dataset.connected === 'yes'")
    seen.drawn(2)
    assert seen.page.evaluate("() => globalThis.sameDocument")
    refused = [text for text in seen.complaints if "ERR_" in text]
    assert refused == seen.complaints  # the browser's own words about the lost connection
    seen.complaints.clear()


def test_hostile_names_are_text(serve: Serve, open_page: Opener, tmp_path: Path) -> None:
    nodes = {name: NodeState(kind="over", percent=50.0, zone=name) for name in NASTY}
    vms = {f"{name}/{name}": VmState(node=name, cpu=1.0, stays=name) for name in NASTY}
    picture = a_picture(2, 4)
    cluster = replace(picture.cluster, verdict=NASTY[0], problem=NASTY[1])
    picture = replace(picture, nodes=nodes, vms=vms, cluster=cluster)
    feed = FeedFile(tmp_path / "feed.jsonl", picture)
    seen = open_page(serve(feed.path).address).drawn()
    assert seen.page.evaluate("() => trimtabPage.map.boxes.length") == len(NASTY)
    seen.page.keyboard.press("t")
    for name in NASTY:
        seen.click_node(name)
        seen.click_vm(f"{name}/{name}")
    own = "document.querySelectorAll('script').length + document.querySelectorAll('img,svg').length"
    assert seen.page.evaluate(own) == 2
    assert NASTY[0] in seen.text("#node-rows")
    assert seen.page.evaluate("() => ({}).kind") is None


def test_everything_is_reached_by_keyboard(serve: Serve, open_page: Opener, feed: FeedFile) -> None:
    seen = open_page(serve(feed.path).address).drawn()
    page = seen.page
    page.locator("#map").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    second = page.evaluate("() => trimtabPage.map.boxes[1].name")
    assert second in seen.text("#selected")
    page.keyboard.press("Enter")
    seen.answered(second)
    page.keyboard.press("Escape")
    assert page.locator("#details").is_hidden()
    page.keyboard.press("/")
    page.keyboard.type("vm-17")
    page.keyboard.press("Enter")
    assert "vm-17" in seen.text("#details h2")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("t")
    assert page.locator("#node-rows tr").count() == 12


def test_the_page_asks_nobody_but_its_server(
    serve: Serve, open_page: Opener, feed: FeedFile
) -> None:
    served = serve(feed.path)
    seen = open_page(served.address).drawn()
    assert all(url.startswith(served.url) for url in seen.requests), seen.requests
    assert served.token not in seen.page.url


def test_a_long_past_is_thinned_out_and_what_stays_is_right_from_the_first_moment(
    serve: Serve, open_page: Opener, tmp_path: Path
) -> None:
    """What hours at a look every few seconds do: neither page nor server grows for ever."""
    feed = FeedFile(tmp_path / "feed.jsonl", a_picture(3, 6))
    places = {feed.last.at: feed.last.vms}
    for number in range(1, 3_800):
        feed.add(a_picture(3, 6, seed=number % 97, at=feed.last.at + 5))
        places[feed.last.at] = feed.last.vms
    seen = open_page(serve(feed.path).address)
    seen.page.wait_for_function(
        "at => trimtabPage.timeline.latest.at === at", arg=feed.last.at
    )  # fmt: skip
    seen.drawn(2)  # the newest picture may have come alone
    kept = seen.page.evaluate("() => trimtabPage.timeline.changes.length")
    assert kept <= 3_600
    for index in (0, 63, 64, 1_000, kept - 1):
        at, shown = seen.page.evaluate(
            """index => { const state = trimtabPage.timeline.stateAt(index);
                          return [state.at, [...state.vms].map(([name, vm]) => [name, vm.node])]; }
            """,
            index,
        )
        assert dict(shown) == {name: vm.node for name, vm in places[at].items()}
    first = seen.page.evaluate("() => trimtabPage.timeline.stateAt(0).at")
    assert first == min(places)
