"""The page of a lab with the real KubeVirt: its migrations are arcs that appear, last and end."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from playwright.sync_api import expect

from browser.web.conftest import Opener, OpenPage
from browser.web.test_live import PATIENCE_MS, apart
from builders.labs.kubevirt import KubevirtLab, needs_kubevirt
from builders.labs.loops import LoopLab, running_loop
from builders.programs.served_page import ServedPage
from builders.waiting import wait_until
from trimtab.lab.files.layout import Home
from trimtab.stacks.kubevirt.settings import KubevirtSettings
from trimtab.stacks.kubevirt.stack import kubevirt_stack

pytestmark = [pytest.mark.browser, pytest.mark.engines, pytest.mark.full, needs_kubevirt]
SCALE = 8
SLOW = 24.0 * 1024**2
"""Bytes a second of the lab: at its scale 8 GiB take 43 s, and twice that if two share a card.

The page may spend a tenth of its time on looks, so that is several of them on a slow computer.
With half of it KubeVirt gives up copies that share a card.
"""
EXPLAIN = (sys.executable, "-m", "trimtab.cli", "explain", "--live", "--all", "--json")
LOOKS = 2
"""So many looks at least must show each arc: it lasts."""
UNDER_WAY = ("Pending", "Scheduling", "Scheduled", "PreparingTarget", "TargetReady", "Running")
HISTORY = """vm => { const { timeline } = trimtabPage; const found = [];
    for (let at = 0; at < timeline.changes.length; at++)
      for (const [name, move] of timeline.stateAt(at).moves)
        if (move.vm === vm) found.push({ name, ...move });
    return found; }"""
COPYING = """vm => trimtabPage.map.routes().some(([move, route]) =>
    move.vm === vm && move.phase === "Running" && route.bend)"""
DOT = """vm => { const { map } = trimtabPage;
    const [, { from, bend, to }] = map.routes().find(([move]) => move.vm === vm);
    const at = (done, axis) => (1 - done) ** 2 * from[axis] + 2 * (1 - done) * done * bend[axis]
      + done * done * to[axis];
    const pixel = (done) => map.canvas.getContext("2d").getImageData(
      Math.round(at(done, "x") * map.ratio), Math.round(at(done, "y") * map.ratio), 1, 1).data;
    const pen = document.createElement("canvas").getContext("2d");
    pen.fillStyle = map.theme.focus;
    pen.fillRect(0, 0, 1, 1);
    return [[...pixel(0.65)], [...pen.getImageData(0, 0, 1, 1).data]]; }"""
"""The pixel where the dot of a copy is, and the colour of moves."""


class SeenMove(msgspec.Struct):
    """What one look said of a move."""

    name: str
    source: str = ""
    target: str = ""
    phase: str = "Pending"
    ended: bool = False


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory, state: Path) -> Iterator[LoopLab]:
    """A hot lab of KubeVirt's VMs in which nobody evicts but the test."""
    lab = running_loop(
        tmp_path_factory,
        home=Home(state / "trimtab"),
        beside=(kubevirt_stack(KubevirtSettings(bandwidth=SLOW)),),
        settings={"dry_run": True},
        scale=SCALE,
    )
    yield apart(lab.__enter__)
    apart(lambda: lab.__exit__(None, None, None))


@pytest.fixture(scope="module")
def kubevirt(loop: LoopLab) -> KubevirtLab:
    return KubevirtLab(loop.lab)


@pytest.fixture
def served(loop: LoopLab, state: Path) -> Iterator[ServedPage]:
    with ServedPage(state, "--lab", loop.lab.lab.name, "--every", "1") as page:
        yield page


@pytest.fixture
def seen(served: ServedPage, open_page: Opener) -> OpenPage:
    return open_page(served.address).drawn()


def places(kubevirt: KubevirtLab) -> dict[str, str]:
    return {str(vmi.metadata.key): vmi.status.node_name for vmi in apart(kubevirt.vmis)}


def told(seen: OpenPage, vm: str) -> list[SeenMove]:
    """What each look since the page was opened said of a VM's moves."""
    return msgspec.convert(seen.page.evaluate(HISTORY, vm), list[SeenMove])


def await_page(seen: OpenPage, question: str, argument: object) -> None:
    seen.page.wait_for_function(question, arg=argument, timeout=PATIENCE_MS)


def explanation(loop: LoopLab, state: Path) -> dict[str, Any]:
    """What `trimtab explain` says of the lab now."""
    told = subprocess.run(
        [*EXPLAIN, "--lab", loop.lab.lab.name],
        env={**os.environ, "XDG_STATE_HOME": str(state)},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = msgspec.json.decode(told.stdout)
    return found


def check_explained(seen: OpenPage, loop: LoopLab, state: Path, name: str) -> None:
    """A click on the node says what `trimtab explain` says, once both looked at the same loads."""

    def agree() -> bool:
        seen.click_node(name)
        said = {
            part: seen.page.locator(f"#details [data-part={part}]").all_inner_texts()
            for part in ("verdict", "class", "distance", "stop")
        }
        whole = explanation(loop, state)
        wanted: dict[str, list[str]] = {"verdict": [whole["verdict"]], "class": [], "stop": []}
        distances = []
        for run in whole["runs"]:
            node = next(each for each in run["nodes"] if each["name"] == name)
            wanted["class"].append(f"{run['plugin']}: {node['nodeClass']}")
            if node.get("stop"):
                wanted["stop"].append(f"then: {node['stop']} ({node['stopRule']})")
            distances += [
                f"under up to {each['low']:.2f}, over above {each['high']:.2f}"
                for each in node["distances"].values()
            ]
        return {part: said[part] for part in wanted} == wanted and all(
            words in text for words, text in zip(distances, said["distance"], strict=True)
        )

    wait_until(agree, f"the page and explain differ about {name}")


def test_a_click_on_a_node_says_what_trimtab_explain_says_of_kubevirts_vms(
    loop: LoopLab, kubevirt: KubevirtLab, seen: OpenPage, state: Path
) -> None:
    (hot,) = apart(loop.await_over)
    check_explained(seen, loop, state, hot)
    assert "over" in seen.text("#details [data-part=class]")
    shown = seen.page.evaluate("() => [...trimtabPage.map.state.vms].map(([n, v]) => [n, v.node])")
    assert dict(shown) == places(kubevirt)


def test_evictions_and_a_migration_are_arcs_until_the_vms_are_elsewhere(
    loop: LoopLab, kubevirt: KubevirtLab, seen: OpenPage, state: Path
) -> None:
    before = places(kubevirt)
    evicted = [f"default/{each.metadata.name}" for each in apart(kubevirt.vmis)]
    evicted = [vm for vm in evicted if vm.startswith("default/hot-db")][:2]
    asked = next(vm for vm in before if vm.startswith("default/calm"))
    moving = (*evicted, asked)
    for vm in moving:  # what a guest writes would make copies that share a card too slow
        apart(lambda vm=vm: kubevirt.annotate(vm.partition("/")[2], dirty_rate="0"))  # type: ignore[misc]
    for vm in evicted:
        name = vm.partition("/")[2]
        (pod,) = apart(lambda name=name: kubevirt.running_launchers(name))  # type: ignore[misc]
        apart(lambda pod=pod: kubevirt.evict(pod.metadata.name))  # type: ignore[misc]
    apart(lambda: kubevirt.virtctl("migrate", asked.partition("/")[2]))
    await_page(seen, COPYING, evicted[0])
    dot, colour = seen.page.evaluate(DOT, evicted[0])
    assert dot == colour
    assert " moving" in seen.text("#verdict")
    assert "0 moving" not in seen.text("#verdict")
    seen.click_vm(evicted[0])
    assert seen.page.locator("#cancel").count() == 0  # this page only shows
    (running,) = {(m.source, m.target) for m in told(seen, evicted[0]) if m.phase == "Running"}
    assert f"Move Running: {running[0]} → {running[1]}" in seen.text("#details")
    for vm in moving:
        elsewhere = "([vm, node]) => trimtabPage.map.state.vms.get(vm).node !== node"
        await_page(seen, elsewhere, [vm, before[vm]])
        await_page(seen, "vm => !trimtabPage.map.routes().some(([m]) => m.vm === vm)", vm)
    apart(kubevirt.await_all_over)
    after = places(kubevirt)
    for vm in moving:
        looks = told(seen, vm)
        assert len({move.name for move in looks}) == 1
        arcs = [move for move in looks if not move.ended and move.target]
        assert len(arcs) >= LOOKS
        assert {(move.source, move.target) for move in arcs} == {(before[vm], after[vm])}
        phases = list(dict.fromkeys(move.phase for move in looks))
        assert phases == [each for each in (*UNDER_WAY, "Succeeded") if each in phases]
        assert phases[-2:] == ["Running", "Succeeded"]
        assert [move.ended for move in looks] == sorted(move.ended for move in looks)
        cells = """vm => trimtabPage.map.boxes.filter(box => box.cells.some(c => c.name === vm))
                           .map(box => box.name)"""
        assert seen.page.evaluate(cells, vm) == [after[vm]]
    assert {vm: node for vm, node in after.items() if vm not in moving} == {
        vm: node for vm, node in before.items() if vm not in moving
    }
    check_explained(seen, loop, state, after[evicted[0]])


def test_a_migration_is_asked_for_and_cancelled_in_the_panel_of_its_vm(
    loop: LoopLab, kubevirt: KubevirtLab, state: Path, open_page: Opener
) -> None:
    options = ("--lab", loop.lab.lab.name, "--every", "1", "--allow-changes")
    with ServedPage(state, *options) as writable:
        seen = open_page(writable.address).drawn()
        before = places(kubevirt)
        vm = next(vm for vm in before if vm.startswith("default/calm-e"))
        seen.click_vm(vm)
        asked = seen.page.locator("[data-part=asked]")
        cancel = seen.page.locator("#cancel")
        expect(cancel).to_be_disabled()
        seen.page.locator("#migrate").click()
        asked.filter(has_text="was asked for").wait_for(timeout=PATIENCE_MS)
        await_page(seen, COPYING, vm)
        expect(seen.page.locator("#migrate")).to_be_disabled()
        cancel.click()  # in the same panel: it follows what the page sees
        asked.filter(has_text="cancelled: migration").wait_for(timeout=PATIENCE_MS)
        gone = "vm => ![...trimtabPage.map.state.moves.values()].some(m => m.vm === vm && !m.ended)"
        await_page(seen, gone, vm)
        expect(cancel).to_be_disabled()
        apart(kubevirt.await_all_over)
        assert places(kubevirt) == before
        seen.context.close()  # before its server goes
