"""1,000 nodes with 16,000 VMs: everything is drawn, and within the CPU time that it may take.

CPU time is that of the page's main thread in Chromium's own trace. A recording tells where VMs
were at each of its moments, so none of its moves is under way; moves are in a feed of `--keep`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace
from playwright.sync_api import Browser

from browser.web.conftest import Opener, OpenPage
from builders.programs.served_page import ServedPage
from builders.values.pictures import FeedFile, a_move_begins, a_move_ends, a_picture
from builders.worlds.recordings import GIB, a_recording
from trimtab.model.recorded.archive import write_recording
from trimtab.model.recorded.recording import ClusterRecording

pytestmark = [pytest.mark.browser, pytest.mark.full]
NODES, VMS = 1000, 16_000
MOMENTS = 288
MOVES = 8
FRAMES = 60
STEPS = 10
FIRST_S = 2.0
"""Three times what was measured, 0.63 s of CPU time; the goal is 1 s."""
FRAME_MS = 12.0
"""Three times what was measured; the goal is 16 ms."""
MOMENT_MS = 400.0
"""Three times what was measured: another moment of the recording, every VM with another load."""
CELLS = "() => trimtabPage.map.boxes.reduce((sum, box) => sum + box.cells.length, 0)"
NEXT_FRAMES = """frames => new Promise(done => { const next = () =>
    frames-- ? requestAnimationFrame(next) : done(); requestAnimationFrame(next); })"""
MARK_FIRST_PICTURE = """new MutationObserver((_, observer) => {
    if (!document.documentElement?.dataset.drawn) return;
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => performance.mark("first picture")));
}).observe(document, { attributes: true, subtree: true, attributeFilter: ["data-drawn"] });"""


class Event(msgspec.Struct):
    """An event of Chromium's trace; times in microseconds."""

    name: str
    pid: int
    tid: int
    ts: float = 0.0
    tdur: float = 0.0
    ph: str = ""


class _Trace(msgspec.Struct, rename="camel"):
    trace_events: list[Event]


class Trace:
    """What the page's main thread did, between marks that were set in the page."""

    def __init__(self) -> None:
        self._events: list[Event] = []

    def read(self, data: bytes) -> None:
        self._events = msgspec.json.decode(data, type=_Trace).trace_events

    def cpu_ms(self, until: str, since: str = "") -> float:
        """CPU time from one mark, or the beginning, to another."""
        end = self._mark(until)
        begin = self._mark(since).ts if since else 0.0
        return sum(
            event.tdur / 1000
            for event in self._events
            if event.name == "RunTask"
            and (event.pid, event.tid) == (end.pid, end.tid)
            and begin <= event.ts <= end.ts
        )

    def _mark(self, name: str) -> Event:
        return next(event for event in self._events if event.name == name and event.ph != "M")


@contextmanager
def traced(browser: Browser) -> Iterator[Trace]:
    trace = Trace()
    browser.start_tracing(categories=["blink.user_timing", "disabled-by-default-devtools.timeline"])
    try:
        yield trace
    finally:
        trace.read(browser.stop_tracing())


def mark(seen: OpenPage, name: str) -> None:
    """Name this moment, in a task of its own."""
    seen.page.evaluate(
        "name => new Promise(done => setTimeout(() => done(performance.mark(name) && 0)))", name
    )


def a_recorded_cluster() -> ClusterRecording:
    """A day in which every load is new every five minutes, and eight VMs are elsewhere."""
    recording = a_recording(nodes=NODES, vms=VMS, moments=MOMENTS)
    draw = np.random.default_rng(0)
    placement = recording.placement.copy()
    for before, moment in pairwise(placement):
        moment[:] = before
        moment[draw.choice(VMS, MOVES, replace=False)] = draw.integers(0, NODES, MOVES)
    loads = recording.vm_cpu * draw.uniform(0.5, 1.5, recording.vm_cpu.shape)
    homes = [recording.manifest.nodes[place] for place in placement[-1]]
    seen = recording.snapshot
    snapshot = replace(
        seen,
        taken_at=seen.taken_at + timedelta(seconds=MOMENTS * recording.manifest.step_s),
        pods=tuple(replace(pod, node=home) for pod, home in zip(seen.pods, homes, strict=True)),
        vms=tuple(
            replace(vm, cpu=f"{cpu:.3f}", memory=str(4 * GIB))
            for vm, cpu in zip(seen.vms, loads[-1], strict=True)
        ),
    )
    return replace(
        recording, snapshot=snapshot, vm_cpu=loads.astype(np.float32), placement=placement
    )


def test_a_recorded_cluster_is_drawn_whole_and_soon(
    browser: Browser, serve: Callable[..., ServedPage], open_page: Opener, tmp_path: Path
) -> None:
    write_recording(a_recorded_cluster(), tmp_path / "day.trimtab")
    served = serve(tmp_path / "day.trimtab")
    before = served.cpu_s()
    with traced(browser) as trace:
        seen = open_page(served.address, before=MARK_FIRST_PICTURE).drawn(2)
        mark(seen, "whole")
    first_s = trace.cpu_ms("first picture") / 1000
    server_s = served.cpu_s() - before
    assert seen.page.evaluate("() => trimtabPage.map.boxes.length") == NODES
    assert seen.page.evaluate(CELLS) == VMS
    slider = seen.page.locator("#moment")
    moments = int(slider.get_attribute("max") or 0)
    assert moments > STEPS
    with traced(browser) as trace:
        mark(seen, "steps")
        for number in range(STEPS):
            slider.fill(str(moments * number // STEPS))
            seen.page.evaluate(NEXT_FRAMES, 2)
        mark(seen, "seen")
    moment_ms = trace.cpu_ms("seen", "steps") / STEPS
    print(
        f"\n{NODES} nodes, {VMS} VMs, recorded: {first_s:.2f} s CPU to the first picture "
        f"(the server {server_s:.2f} s), {moment_ms:.0f} ms for another moment"
    )
    assert seen.page.evaluate(CELLS) == VMS
    assert first_s < FIRST_S
    assert moment_ms < MOMENT_MS


def test_a_frame_while_vms_move_is_soon_drawn(
    browser: Browser, serve: Callable[..., ServedPage], open_page: Opener, tmp_path: Path
) -> None:
    feed = FeedFile(tmp_path / "feed.jsonl", a_picture(NODES, VMS))
    vms = [name for name, vm in feed.last.vms.items() if vm.node == "node-0"][:MOVES]
    seen = open_page(serve(feed.path).address).drawn()
    for at, vm in enumerate(vms):
        feed.add(a_move_begins(feed.last, vm, f"node-{900 + at}"))
    seen.drawn(1 + len(vms))
    seen.page.evaluate(NEXT_FRAMES, FRAMES)
    with traced(browser) as trace:
        mark(seen, "frames")
        seen.page.evaluate(NEXT_FRAMES, FRAMES)
        mark(seen, "update")
        feed.add(a_move_ends(feed.last, vms[0]))
        seen.drawn(2 + len(vms))
        mark(seen, "end")
    frame_ms = trace.cpu_ms("update", "frames") / FRAMES
    print(
        f"\n{NODES} nodes, {VMS} VMs: {frame_ms:.1f} ms CPU a frame while {MOVES} VMs move, "
        f"{trace.cpu_ms('end', 'update'):.0f} ms for the next picture"
    )
    where = seen.page.evaluate("vm => trimtabPage.map.state.vms.get(vm).node", vms[0])
    assert where == "node-900"
    assert frame_ms < FRAME_MS
