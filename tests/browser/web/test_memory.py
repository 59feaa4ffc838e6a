"""Eight hours of looks, as quickly as the server reads them: neither page nor server grows."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import CDPSession

from browser.web.conftest import Opener
from builders.programs.served_page import ServedPage
from builders.values.pictures import FeedFile, a_picture

pytestmark = [pytest.mark.browser, pytest.mark.full]
LOOKS = 8 * 3600 // 2
"""One every two seconds."""
WARM = LOOKS // 2
PACE = 200
PATIENCE_MS = 300_000
GROWTH = 1.15
"""Between the fourth and the eighth hour; a page that keeps every look doubles."""


def heap(session: CDPSession) -> int:
    """Bytes of JavaScript that are still used after a collection."""
    session.send("HeapProfiler.collectGarbage")
    return int(session.send("Runtime.getHeapUsage")["usedSize"])


def test_eight_hours_of_looks_leave_page_and_server_as_big_as_four(
    serve: Callable[..., ServedPage], open_page: Opener, tmp_path: Path
) -> None:
    pictures = [a_picture(20, 200, seed=seed) for seed in range(29)]
    feed = FeedFile(tmp_path / "feed.jsonl", pictures[0])
    served = serve(feed.path)
    seen = open_page(served.address).drawn()
    session = seen.context.new_cdp_session(seen.page)
    session.send("HeapProfiler.enable")
    measured: list[tuple[int, int]] = []
    for number in range(1, LOOKS + 1):
        feed.add_at(pictures[number % len(pictures)], feed.last.at + 2)
        if number % PACE == 0:  # the page sees them come, not one big history
            seen.page.wait_for_function(
                "at => trimtabPage.timeline.latest.at === at",
                arg=feed.last.at,
                timeout=PATIENCE_MS,
            )
        if number in (WARM, LOOKS):
            measured.append((heap(session), served.resident_bytes()))
    (heap_4, rss_4), (heap_8, rss_8) = measured
    mib = [round(value / 2**20, 1) for value in (heap_4, heap_8, rss_4, rss_8)]
    print(f"\nheap {mib[0]} then {mib[1]} MiB, server {mib[2]} then {mib[3]} MiB")
    assert heap_8 < heap_4 * GROWTH
    assert rss_8 < rss_4 * GROWTH
    assert seen.page.evaluate("() => trimtabPage.timeline.stateAt(0).at") == pictures[0].at
