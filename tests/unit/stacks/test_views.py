"""What people see of a loop: the live view and the link test."""

import asyncio
from datetime import UTC, datetime
from io import StringIO

import httpx2
import pytest
from rich.console import Console

from trimtab.stacks.loop.state.links import Broken, Link, judge
from trimtab.stacks.loop.state.loop_state import LoopNode, LoopState, MigrationUnderWay
from trimtab.stacks.loop.state.recent_cycles import RecentCycle, Request
from trimtab.view.loop import frame, show_link, show_links
from trimtab.view.tables.pictures import Bar


def a_node(name: str, cpu: float | None, kind: str, **changes: object) -> LoopNode:
    values: dict[str, object] = {
        "ready": True,
        "cordoned": False,
        "cpu_pressure": 0.05,
        "memory": 0.2,
        "memory_pressure": 0.01,
        "vms": 4,
        "score": 0.3,
    }
    return LoopNode(name=name, cpu=cpu, kind=kind, **(values | changes))  # type: ignore[arg-type]


def a_state(**changes: object) -> LoopState:
    values: dict[str, object] = {
        "at": datetime(2026, 1, 1, 12, tzinfo=UTC),
        "scale": 10,
        "algorithm": "cpu_focused",
        "query": "q",
        "average": 20.0,
        "low": 20.0,
        "high": 30.0,
        "problem": "",
        "nodes": (a_node("n-1", 0.9, "over"), a_node("n-2", 0.3, "under")),
        "vms": {"Running": 7, "Migrating": 1},
        "evacuating": ("db-1",),
        "moves": (
            MigrationUnderWay(
                name="m", vm="db-1", phase="PreCopy", source="n-1", target="", age_s=3.0
            ),
        ),
        "moved": 2,
        "cycle": RecentCycle(pid=1, ended="12:00:00.5", requests=(Request("default/pod-x", True),)),
    }
    return LoopState(**(values | changes))  # type: ignore[arg-type]


def text_of(seen: LoopState) -> str:
    console = Console(width=160, file=StringIO())
    with console.capture() as shown:
        console.print(frame(seen))
    return shown.get()


def test_a_frame_shows_nodes_thresholds_evictions_and_migrations() -> None:
    shown = text_of(a_state())
    for part in (
        "score: cpu_focused",
        "under ≤ 20.0 %, over > 30.0 %",
        "n-1",
        "90.0 %",
        "over",
        "+0.0",
        "last cycle 12:00:00: evictions of pod-x",
        "1 Migrating, 7 Running; migrations: 2 succeeded; to leave: db-1",
        "n-1 → …",
    ):
        assert part in shown


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param({"problem": "no sample"}, "does nothing: no sample", id="a problem"),
        pytest.param({"cycle": None}, "no cycle of the descheduler yet", id="no cycle yet"),
        pytest.param(
            {"cycle": RecentCycle(pid=1, ended="12:00:00", errors=("boom",))},
            "failed: boom",
            id="failed",
        ),
        pytest.param({"nodes": (a_node("n", None, ""),)}, "no sample", id="a node without samples"),
        pytest.param(
            {"nodes": (a_node("n", 0.1, "", ready=False, cordoned=True),)},
            "n NotReady cordoned",
            id="a lost node",
        ),
        pytest.param({"vms": {}, "moves": ()}, "VMs: none", id="nothing there"),
    ],
)
def test_a_frame_says_what_is_missing(changes: dict[str, object], words: str) -> None:
    assert words in text_of(a_state(**changes))


@pytest.mark.parametrize(("share", "filled"), [(0.0, 0), (0.5, 10), (1.0, 20), (1.7, 20), (-1, 0)])
def test_a_bar_is_as_long_as_the_share(share: float, filled: int) -> None:
    drawn = Bar(share, style="filled").draw(20).plain
    assert (drawn.count("█"), len(drawn)) == (filled, 20)


async def works() -> str:
    return "fine"


async def breaks() -> str:
    raise Broken("torn", "trimtab lab logs x")


async def hangs() -> str:
    raise httpx2.ConnectError("refused")


@pytest.mark.parametrize(
    ("check", "link"),
    [
        pytest.param(works, Link(name="l", state="ok", detail="fine"), id="ok"),
        pytest.param(
            breaks,
            Link(name="l", state="broken", detail="torn", look_at="trimtab lab logs x"),
            id="broken, with a place of its own",
        ),
        pytest.param(
            hangs,
            Link(name="l", state="broken", detail="refused", look_at="trimtab lab status"),
            id="no answer",
        ),
    ],
)
def test_whatever_goes_wrong_in_a_check_is_the_links_fault(check: object, link: Link) -> None:
    assert asyncio.run(judge("l", check(), "trimtab lab status")) == link  # type: ignore[operator]


def test_links_are_shown_with_signs_and_the_first_broken_one_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = [
        Link(name="exporter", state="ok", detail="fine"),
        Link(name="targets", state="broken", detail="down", look_at="trimtab lab status"),
        Link(name="rules", state="untested", detail="later"),
    ]
    for link in found:
        show_link(link)
    show_links(found, json=False)
    shown = capsys.readouterr()
    assert [line[0] for line in shown.out.splitlines() if line[0] != " "] == ["✓", "✗", "–"]
    assert "look at: trimtab lab status" in shown.out
    assert shown.err == "the loop is open at: targets\n"
    show_links(found, json=True)
    assert '"ok": false' in capsys.readouterr().out
