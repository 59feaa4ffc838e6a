"""The page for a browser."""

import re

from builders.values.qos import World, a_life_pod, controlled_by
from trimtab.qos.page.html import HEADERS, html_page, in_danger_first
from trimtab.qos.promise import ANNOTATION as SLO

HOSTILE = "<script>alert(1)</script>"


def a_world() -> World:
    """One that is kept, one that waits and is below its promise."""
    world = World()
    for name, scheduled in (("aaa", 1.0), ("zzz", None)):
        world.owner("ReplicaSet", name)
        world.put(
            a_life_pod(
                f"{name}-1",
                created=0,
                scheduled=scheduled,
                owner=controlled_by("ReplicaSet", name),
                annotations={SLO: "0.9"},
            )
        )
    world.second = 600
    return world


async def test_those_in_danger_come_first_and_are_marked() -> None:
    world = a_world()
    views = world.accounts.all(world.now())
    assert [view.name for view in in_danger_first(views)] == ["zzz", "aaa"]
    text = html_page(views, "now")
    assert re.findall(r'<tr class="(\w+)"', text) == ["violated", "ok"]
    assert "<title>1 in danger" in text


async def test_it_loads_itself_again_and_has_a_legend_and_no_script() -> None:
    text = html_page([], "now")
    assert '<meta http-equiv="refresh" content="5">' in text
    assert "<dt>Time left</dt>" in text
    assert "<script" not in text
    assert "default-src 'none'" in HEADERS["Content-Security-Policy"]


async def test_names_are_text_whatever_they_are() -> None:
    text = html_page([], HOSTILE, HOSTILE)
    assert HOSTILE not in text
    assert "&lt;script&gt;" in text
