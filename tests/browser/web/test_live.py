"""The page of a real lab: the hot node levels out before the eyes."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar
from urllib.parse import parse_qs, urlsplit

import pytest

from browser.web.conftest import Opener
from builders.labs.loops import LoopLab, running_loop
from builders.programs.served_page import ServedPage
from builders.waiting import wait_until
from trimtab.lab.files.layout import Home
from trimtab.scores import CATALOG

pytestmark = [pytest.mark.browser, pytest.mark.engines, pytest.mark.full]
PATIENCE_MS = 300_000
T = TypeVar("T")


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state")


def apart(call: Callable[[], T]) -> T:
    """Call in a thread: the browser's own event loop runs in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(call).result()


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory, state: Path) -> Iterator[LoopLab]:
    lab = running_loop(tmp_path_factory, home=Home(state / "trimtab"))
    yield apart(lab.__enter__)
    apart(lambda: lab.__exit__(None, None, None))


@pytest.fixture
def served(loop: LoopLab, state: Path) -> Iterator[ServedPage]:
    with ServedPage(state, "--lab", loop.lab.lab.name, "--every", "1") as page:
        yield page


@pytest.fixture
def nobody_else_moves(loop: LoopLab) -> Iterator[None]:
    """Or the descheduler may send a VM back before the page has seen it elsewhere."""
    with loop.stopped("descheduler"):
        yield


@pytest.fixture
def writable(loop: LoopLab, state: Path) -> Iterator[ServedPage]:
    options = ("--lab", loop.lab.lab.name, "--every", "1", "--allow-changes")
    with ServedPage(state, *options) as page:
        yield page


def test_a_hot_node_is_over_vms_move_away_and_the_cluster_is_level(
    loop: LoopLab, served: ServedPage, open_page: Opener
) -> None:
    seen = open_page(served.address).drawn()
    apart(loop.start_over)
    story = apart(loop.converge)
    moved = {f"{m.metadata.namespace}/{m.spec.vm_name}" for m in story.migrations}
    level = "() => (trimtabPage.timeline.latest.cluster.over ?? 0) === 0"
    seen.page.wait_for_function(level, timeout=PATIENCE_MS)
    over = seen.page.evaluate("() => Math.max(...trimtabPage.timeline.lines()[2])")
    assert over >= len(story.over_at_first) >= 1
    arcs = seen.page.evaluate(
        """() => trimtabPage.timeline.changes.flatMap(c => Object.values(c.moves ?? {}))
                   .filter(m => m && m.target).map(m => m.vm)"""
    )
    assert set(arcs) & moved
    places = {
        f"{vm.metadata.namespace}/{vm.metadata.name}": vm.status.node_name for vm in apart(loop.vms)
    }
    there = """wanted => { const { vms } = trimtabPage.timeline.latest;
                   return vms.size === Object.keys(wanted).length
                     && [...vms].every(([name, vm]) => wanted[name] === vm.node); }"""
    seen.page.wait_for_function(there, arg=places, timeout=PATIENCE_MS)

    def agree() -> bool:
        shown = seen.page.evaluate("() => trimtabPage.map.boxes.map(b => [b.name, b.node.kind])")
        return dict(shown) == {node.name: node.kind for node in apart(loop.state).nodes}

    wait_until(agree, "the page and the loop call the nodes differently")


@pytest.mark.usefixtures("nobody_else_moves")
def test_a_vm_is_migrated_from_its_panel_then_kept_where_it_is_and_let_go(
    loop: LoopLab, writable: ServedPage, open_page: Opener
) -> None:
    seen = open_page(writable.address).drawn()
    vm = next(vm for vm in apart(loop.vms) if vm.metadata.name.startswith("calm"))
    name, before = f"default/{vm.metadata.name}", vm.status.node_name

    def press(button: str, words: str) -> None:
        seen.click_vm(name)
        seen.page.locator(f"#{button}").click()
        asked = seen.page.locator("[data-part=asked]")
        asked.filter(has_text=words).wait_for(timeout=PATIENCE_MS)

    press("migrate", "was asked for")
    moved = "([name, node]) => trimtabPage.timeline.latest.vms.get(name)?.node !== node"
    seen.page.wait_for_function(moved, arg=[name, before], timeout=PATIENCE_MS)
    kept = "([name, on]) => !!trimtabPage.timeline.latest.vms.get(name)?.protected === on"
    press("protect", "it stays where it is")
    seen.page.wait_for_function(kept, arg=[name, True], timeout=PATIENCE_MS)
    after = {each.metadata.name: each for each in apart(loop.vms)}[vm.metadata.name]
    assert not after.spec.live_migratable
    press("release", "it may move again")
    seen.page.wait_for_function(kept, arg=[name, False], timeout=PATIENCE_MS)
    asked = [m for m in apart(loop.migrations) if m.metadata.name.startswith("move-calm")]
    assert [m.status.phase for m in asked] == ["Succeeded"]


def test_every_score_is_told_for_every_node(
    loop: LoopLab, served: ServedPage, open_page: Opener
) -> None:
    seen = open_page(served.address).drawn()
    nodes = {node.name for node in apart(loop.state).nodes}
    seen.page.keyboard.press("c")
    seen.page.wait_for_selector("#scores[data-answered]", timeout=PATIENCE_MS)
    assert seen.page.locator("#scores tbody tr").count() == len(CATALOG)
    heads = set(seen.page.locator("#scores thead th").all_inner_texts())
    assert nodes <= heads
    assert "(chosen)" in seen.text("#scores tbody")
    assert "not recorded" not in seen.text("#scores tbody")
    numbers = seen.page.locator("#scores tbody tr").first.locator("td a")
    asked = [parse_qs(urlsplit(each.get_attribute("href") or "").query) for each in numbers.all()]
    queries = [each["g0.expr"][0] for each in asked]
    assert {name for name in nodes if any(f'{{instance="{name}"}}' in q for q in queries)} == nodes


def test_the_history_begins_before_the_page_did(
    loop: LoopLab, served: ServedPage, open_page: Opener
) -> None:
    """The past comes from Prometheus, which was there from the beginning of the lab."""
    seen = open_page(served.address).drawn()
    first_look = seen.page.evaluate("() => trimtabPage.timeline.latest.at")
    reaches = "at => trimtabPage.timeline.changes[0].at < at - 30"
    seen.page.wait_for_function(reaches, arg=first_look, timeout=PATIENCE_MS)
    past = seen.page.evaluate(
        """at => { const { timeline } = trimtabPage; const found = [];
                   for (let i = 0; i < timeline.changes.length; i++) {
                     if (timeline.changes[i].at >= at) break;
                     const state = timeline.stateAt(i);
                     found.push([[...state.nodes.values()].map(node => node.kind ?? ""),
                                 [...state.nodes.values()].map(node => node.cpu ?? null),
                                 state.vms.size, state.cluster.notes?.[0] ?? ""]);
                   }
                   return found; }""",
        first_look,
    )
    assert len(past) >= 3
    kinds, loads, vms, note = past[-1]
    assert set(kinds) <= {"over", "under", "appropriate"}
    assert None not in loads
    assert vms == len(apart(loop.vms))
    assert "from Prometheus" in note
    seen.page.locator("#moment").fill("0")
    assert "from Prometheus" in seen.text("#notes")
    seen.page.keyboard.press("l")


@pytest.mark.parametrize("component", ["prometheus", "exporter", "descheduler"])
def test_a_part_of_the_loop_that_is_killed_is_said_and_its_successor_followed(
    loop: LoopLab, served: ServedPage, open_page: Opener, component: str
) -> None:
    seen = open_page(served.address).drawn()
    silent = """() => { const { problem, notes } = trimtabPage.timeline.latest.cluster;
                        return [problem ?? "", ...(notes ?? [])].join().includes("Prometheus"); }"""
    seen.page.wait_for_function(f"() => !({silent})()", timeout=PATIENCE_MS)
    process = loop.lab.processes()[component]
    os.kill(process.pid, signal.SIGSTOP)  # long enough for everybody to see it
    try:
        seen.page.wait_for_function(silent, timeout=PATIENCE_MS)
        assert "Prometheus" in seen.text("header")
    finally:
        os.kill(process.pid, signal.SIGKILL)
    seen.page.wait_for_function(f"() => !({silent})()", timeout=PATIENCE_MS)


def test_an_api_server_that_is_killed_is_said_and_its_successor_followed(
    loop: LoopLab, served: ServedPage, open_page: Opener
) -> None:
    seen = open_page(served.address).drawn()
    server = loop.lab.processes()["kube-apiserver"]
    os.kill(server.pid, signal.SIGSTOP)
    try:
        seen.page.wait_for_function(
            "() => (trimtabPage.timeline.latest.cluster.problem ?? '').includes('look failed')",
            timeout=PATIENCE_MS,
        )
        assert "look failed" in seen.text("#problem")
        assert seen.page.evaluate("() => trimtabPage.map.boxes.length") > 0
    finally:
        os.kill(server.pid, signal.SIGKILL)
    apart(lambda: loop.lab.await_ready())
    seen.page.wait_for_function(
        "() => !trimtabPage.timeline.latest.cluster.problem", timeout=PATIENCE_MS
    )


def test_whatever_else_is_killed_the_page_follows_the_cluster(
    loop: LoopLab, served: ServedPage, open_page: Opener
) -> None:
    seen = open_page(served.address).drawn()
    seen_above = {"prometheus", "exporter", "descheduler", "kube-apiserver"}
    others = sorted(loop.lab.processes().keys() - seen_above - {"supervisor"})
    assert {"etcd", "kube-scheduler", "vm-controller", "webhook"} <= set(others)
    for component in others:
        killed = loop.lab.processes()[component]
        os.kill(killed.pid, signal.SIGKILL)
        wait_until(
            lambda killed=killed, component=component: (  # type: ignore[misc]
                loop.lab.processes().get(component, killed) != killed
            ),
            f"{component} is not started again",
        )
        apart(lambda: loop.lab.await_ready())
        ready_at = time.time()
        seen.page.wait_for_function(
            """at => trimtabPage.timeline.latest.at > at
                     && !trimtabPage.timeline.latest.cluster.problem""",
            arg=ready_at,
            timeout=PATIENCE_MS,
        )
        assert seen.page.evaluate("() => trimtabPage.map.boxes.length") == len(loop.scenario.nodes)
