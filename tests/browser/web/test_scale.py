"""1,000 nodes with 16,000 VMs: everything is drawn, and what a frame costs is told."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from browser.web.conftest import Opener, OpenPage
from builders.programs.served_page import ServedPage
from builders.values.pictures import FeedFile, a_move_begins, a_move_ends, a_picture

pytestmark = [pytest.mark.browser, pytest.mark.full]
FRAMES = 60


class MainThread:
    """The CPU time of the page's main thread, by Chromium's own count."""

    def __init__(self, seen: OpenPage) -> None:
        self._session = seen.context.new_cdp_session(seen.page)
        self._session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def cpu_s(self) -> float:
        metrics: list[dict[str, Any]] = self._session.send("Performance.getMetrics")["metrics"]
        return float(next(m["value"] for m in metrics if m["name"] == "TaskDuration"))


def test_a_big_cluster_is_drawn_whole(
    serve: Callable[..., ServedPage], open_page: Opener, tmp_path: Path
) -> None:
    feed = FeedFile(tmp_path / "feed.jsonl", a_picture(1000, 16_000))
    vms = [name for name, vm in feed.last.vms.items() if vm.node == "node-0"][:8]
    seen = open_page(serve(feed.path).address).drawn()
    assert seen.page.evaluate("() => trimtabPage.map.boxes.length") == 1000
    cells = "() => trimtabPage.map.boxes.reduce((sum, box) => sum + box.cells.length, 0)"
    assert seen.page.evaluate(cells) == 16_000
    thread = MainThread(seen)
    before = thread.cpu_s()
    seen.page.reload()
    seen.drawn()
    first = thread.cpu_s() - before
    picture = feed.last
    for at, vm in enumerate(vms):
        picture = a_move_begins(picture, vm, f"node-{900 + at}")
        feed.add(picture)
    seen.drawn(1 + len(vms))
    before = thread.cpu_s()
    drawn = """frames => new Promise(done => { const next = () =>
        frames-- ? requestAnimationFrame(next) : done(); requestAnimationFrame(next); })"""
    seen.page.evaluate(drawn, FRAMES)
    frame_ms = 1000 * (thread.cpu_s() - before) / FRAMES
    before = thread.cpu_s()
    feed.add(a_move_ends(picture, vms[0]))
    seen.drawn(2 + len(vms))
    update_ms = 1000 * (thread.cpu_s() - before)
    print(
        f"\n1,000 nodes, 16,000 VMs: {first:.2f} s CPU to the first picture, "
        f"{frame_ms:.1f} ms a frame while 8 VMs move, {update_ms:.0f} ms for the next picture"
    )
    where = seen.page.evaluate("vm => trimtabPage.map.state.vms.get(vm).node", vms[0])
    assert where == "node-900"
