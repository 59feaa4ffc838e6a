"""No table ever cuts a number, whatever its columns and the terminal's width are."""

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from trimtab.view.tables.layout import shorten, wrap
from trimtab.view.tables.pictures import Bar
from trimtab.view.tables.table import Table

WIDTHS = (60, 80, 100, 140)

names = st.text("abcdefgh-", min_size=1, max_size=40)
numbers = st.floats(-1e6, 1e9, allow_nan=False).map(lambda value: f"{value:,.3f}")
words = st.lists(names | numbers, max_size=12).map(" ".join)
rows = st.lists(st.tuples(names, numbers, st.floats(0, 2).map(Bar), numbers, words), min_size=1)


@given(rows, st.sampled_from([*WIDTHS, 20, 40]))
def test_every_number_of_the_columns_that_stay_is_whole(
    table: list[tuple[object, ...]], width: int
) -> None:
    columns = ("name", "first", "", "second number", "text")
    lines, layout = Table(columns, table, right=columns[1:4:2], drop=("first",)).lines(width)
    shown = "\n".join(line.plain for line in lines).split()
    kept = [1, 3] if "first" not in layout.left_out else [3]
    for row in table:
        for column in kept:
            assert str(row[column]) in shown


@given(rows, st.sampled_from([60, 80, 100, 140]))
def test_no_line_is_wider_than_the_terminal(table: list[tuple[object, ...]], width: int) -> None:
    columns = ("name", "first", "", "second number", "text")
    lines, _ = Table(columns, table, right=columns[1:4:2], drop=("first", "")).lines(width)
    assert max(line.cell_len for line in lines) <= width


def test_what_does_not_fit_side_by_side_continues_below() -> None:
    nodes = [f"node-{n}" for n in range(20)]
    lines, layout = Table(["score", *nodes], [["robust", *["0.1234"] * 20]], right=nodes).lines(60)
    text = "\n".join(line.plain for line in lines)
    assert len(layout.blocks) > 1
    assert layout.left_out == ()
    assert text.count("robust") == len(layout.blocks)
    assert all(node in text.split() for node in nodes)


def test_names_are_shortened_in_the_middle_and_stay_different() -> None:
    assert shorten("kwok-node-1", 8) == "kwo…de-1"
    table = Table(("node", "x"), [(f"worker-{n}.example.com", "1" * 40) for n in range(20)], ("x",))
    found = {line.plain.split()[0] for line in table.lines(56)[0][1:]}
    assert len(found) == 20
    assert all(cell_len(name) < len("worker-1.example.com") for name in found)


def test_a_long_name_is_broken_where_its_parts_are_joined() -> None:
    assert wrap("ideal_point_positive_distance", 25) == ["ideal_point_positive_", "distance"]
    assert wrap("examples/policies/default.yaml", 20) == ["examples/policies/", "default.yaml"]
    assert wrap("a_nameWithoutAnyFurtherJoint", 20) == ["a_nameWithoutAnyFurt", "herJoint"]


def test_a_long_word_is_not_broken_inside_a_number() -> None:
    assert wrap("http://somewhere:12345/path", 20) == ["http://somewhere:", "12345/path"]
    assert wrap("over 3 lines of words", 8) == ["over 3", "lines of", "words"]
