"""`trimtab top` as text: any size, any name, any keys."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from builders.values.pictures import a_picture
from trimtab.view.top import KeyRequest, Top, frame, press, rows_of
from trimtab.web.feed.picture import ClusterState, NodeState, Picture, VmState

KEYS = ("j", "k", "g", "G", "Tab", "/", "Enter", "Escape", "?", "Backspace", "Down", "Up", "n")


def pressed(
    keys: str | list[str], picture: Picture, top: Top | None = None
) -> tuple[Top, KeyRequest | None]:
    top, asked = top or Top(), None
    for key in keys:
        top, asked = press(top, key, picture)
    return top, asked


@given(
    keys=st.lists(st.sampled_from(KEYS), max_size=12),
    columns=st.integers(20, 200),
    lines=st.integers(6, 60),
)
def test_a_screen_is_never_larger_than_the_terminal(
    keys: list[str], columns: int, lines: int
) -> None:
    picture = a_picture(12, 90)
    top, _ = pressed(keys, picture)
    shown = frame(top, picture, "lab default", columns, lines)
    assert len(shown) == lines
    assert max(map(cell_len, shown)) <= columns


def test_at_80_by_24_the_hottest_nodes_are_shown_with_class_score_and_loads() -> None:
    picture = Picture(
        nodes={
            "cold": NodeState(kind="under", percent=5, high=30, cpu=0.1, memory=0.2),
            "hot": NodeState(kind="over", percent=90, high=30, cpu=0.9, memory=0.5),
        },
        vms={"default/web": VmState(node="hot", cpu=1.5, memory=2**30)},
        cluster=ClusterState(verdict="a" * 99, imbalance=21.0, moving=3, moved=4),
    )
    shown = frame(Top(), picture, "lab default", 80, 24)
    assert shown[:2] == [
        "lab default",
        "2 nodes, 1 VMs · imbalance 21.0 · 3 moving, 4 moved · " + "a" * 26,
    ]
    hot, cold = shown[4], shown[5]
    assert " ".join(hot.split()) == "> hot ▲ over 90 % -60.0 90 % 50 % 1"
    assert "under" in cold
    assert "+25.0" in cold


def test_the_columns_of_all_classes_end_below_their_titles() -> None:
    kinds = ("under", "appropriate", "over", "")
    states = {kind: NodeState(kind=kind, percent=5, high=30, cpu=0.1, memory=0.2) for kind in kinds}
    shown = frame(Top(), Picture(nodes=states), "lab", 80, 24)
    title, *rows = shown[3 : 4 + len(kinds)]
    for column, cell in (("score", " 5 %"), ("to over", "+25.0"), ("CPU", "10 %")):
        end = title.index(column) + len(column)
        assert all(row[:end].endswith(cell) for row in rows), shown


def test_the_row_that_is_chosen_is_always_on_the_screen() -> None:
    picture = a_picture(12, 90)
    for row in range(90):
        top, _ = pressed(["Tab", *["j"] * row], picture)
        shown = frame(top, picture, "lab", 80, 24)
        (chosen,) = [line for line in shown if line.startswith("> ")]
        assert rows_of(top, picture)[row] in chosen


def test_a_search_leaves_what_it_finds_and_escape_brings_all_back() -> None:
    picture = a_picture(12, 90)
    top, _ = pressed(["/", *"node-1", "Enter"], picture)
    assert rows_of(top, picture)
    assert all("node-1" in name for name in rows_of(top, picture))
    top, _ = pressed(["Escape"], picture, top)
    assert len(rows_of(top, picture)) == 12


def test_a_migration_needs_a_vm_and_a_yes() -> None:
    picture = a_picture(12, 90)
    top, asked = pressed(["m"], picture)
    assert asked is None
    assert "Tab" in top.note
    top, asked = pressed(["Tab", "m"], picture)
    assert asked is None
    vm = rows_of(top, picture)[0]
    assert f"migrate {vm}?" in frame(top, picture, "lab", 80, 24)[-1]
    waited, asked = pressed(["", ""], picture, top)  # nobody pressed a key for a while
    assert (waited, asked) == (top, None)
    assert pressed(["n"], picture, top)[1] is None
    assert pressed(["Enter"], picture, top)[1] is None
    assert pressed(["y"], picture, top)[1] == KeyRequest("migrate", vm)


def test_enter_asks_why_and_q_ends() -> None:
    picture = a_picture(12, 90)
    assert pressed(["j", "Enter"], picture)[1] == KeyRequest("why", rows_of(Top(), picture)[1])
    assert pressed(["q"], picture)[1] == KeyRequest("quit")
    helped, asked = pressed(["?", "q"], picture)
    assert asked is None  # closes the help
    assert helped.text == ()


@pytest.mark.parametrize("name", ["\x1b[2J", "a\nb", "\u202egnp", "\x9b31m"])
def test_no_name_reaches_the_terminal_as_a_command(name: str) -> None:
    picture = Picture(nodes={name: NodeState()}, vms={f"x/{name}": VmState(node=name)})
    for kind in ("nodes", "VMs"):
        text = "".join(frame(Top(kind=kind), picture, name, 80, 24))
        assert not set(text) & set("\x1b\n\u202e\x9b")
