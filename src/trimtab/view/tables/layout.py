"""How wide each column of a table becomes, and which columns are left out. Pure.

No number is ever cut. In a terminal that is too narrow, bars shrink first, then texts wrap,
then names are shortened in the middle; then whole columns go, in the order that the table
names; and what is left over continues below, beside the first column once more.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct
from rich.cells import cell_len

Kind = Literal["number", "name", "text", "picture"]
GAP = 2
NAME_LEAST, TEXT_LEAST = 10, 24
_SHRINKING: tuple[tuple[Kind, ...], ...] = (("picture",), ("text",), ("name",))
_NUMBER = re.compile(r"[+\-]?\d[\d.,:×%–]*")


class ColumnWidths(Struct, frozen=True):
    """A column as far as its width is concerned."""

    name: str
    kind: Kind
    natural: int
    """As wide as its widest cell or its title on one line."""
    least: int
    """Narrower would lose something."""


class Block(Struct, frozen=True):
    """Columns side by side: their numbers, and their widths."""

    columns: tuple[int, ...]
    widths: tuple[int, ...]


class Layout(Struct, frozen=True):
    """Blocks from top to bottom, and the names of the columns that are in none."""

    blocks: tuple[Block, ...]
    left_out: tuple[str, ...] = ()


def fit(rooms: Sequence[ColumnWidths], width: int | None, drop: Sequence[str] = ()) -> Layout:
    """The layout for `width` terminal columns (None: as wide as it takes).

    `drop` names the columns that may go, the first to go first.
    """
    kept = list(range(len(rooms)))
    left_out: list[str] = []
    going = [n for name in drop for n in kept if rooms[n].name == name]
    while width is not None and _least(rooms, kept) > width and going:
        gone = going.pop(0)
        kept.remove(gone)
        left_out.append(rooms[gone].name)
    blocks = tuple(_blocks(rooms, kept, width))
    return Layout(blocks, tuple(left_out))


def _blocks(
    rooms: Sequence[ColumnWidths], kept: Sequence[int], width: int | None
) -> Iterator[Block]:
    first, *rest = kept
    block = [first]
    for column in rest:
        if width is not None and len(block) > 1 and _least(rooms, [*block, column]) > width:
            yield _block(rooms, block, width)
            block = [first]
        block.append(column)
    yield _block(rooms, block, width)


def _least(rooms: Sequence[ColumnWidths], columns: Sequence[int]) -> int:
    return sum(rooms[n].least for n in columns) + GAP * (len(columns) - 1)


def _block(rooms: Sequence[ColumnWidths], columns: Sequence[int], width: int | None) -> Block:
    widths = {n: rooms[n].natural for n in columns}
    if width is not None:
        excess = sum(widths.values()) + GAP * (len(columns) - 1) - width
        # a title on two lines costs nothing
        excess = _narrow(widths, rooms, [n for n in columns if rooms[n].kind == "number"], excess)
        for kinds in _SHRINKING:
            excess = _narrow(widths, rooms, [n for n in columns if rooms[n].kind in kinds], excess)
    return Block(tuple(columns), tuple(widths[n] for n in columns))


def _narrow(
    widths: dict[int, int], rooms: Sequence[ColumnWidths], columns: Sequence[int], excess: int
) -> int:
    """Take from the widest column first; what is still too much."""
    while excess > 0:
        able = [n for n in columns if widths[n] > rooms[n].least]
        if not able:
            break
        widths[max(able, key=lambda n: widths[n])] -= 1
        excess -= 1
    return excess


def shorten(name: str, width: int) -> str:
    """A name with its middle left out: both ends tell names apart."""
    if cell_len(name) <= width:
        return name
    head = (width - 1) // 2
    return f"{name[:head]}…{name[len(name) - (width - 1 - head) :]}"


def least_name_width(names: Sequence[str]) -> int:
    """How short names may become and still be as many different ones as before."""
    different = set(names)
    widest = max((cell_len(name) for name in different), default=0)
    for width in range(min(NAME_LEAST, widest), widest):
        if len({shorten(name, width) for name in different}) == len(different):
            return width
    return widest


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most `width`, broken between words; a long word never inside a number."""
    lines = [""]
    for word in text.split(" "):
        for number, piece in enumerate(_pieces(word, width)):
            glue = "" if number else " "
            if lines[-1] and cell_len(lines[-1] + glue + piece) > width:
                lines.append(piece)
            else:
                lines[-1] += (glue if lines[-1] else "") + piece
    return lines


def _pieces(word: str, width: int) -> Iterator[str]:
    while cell_len(word) > width:
        # names are joined by these: cpu_usage, best-fit, examples/policies/default.yaml
        joint = max(word.rfind(mark, 0, width) for mark in "_-/.")
        at = joint + 1 if joint >= width // 2 else width
        for number in _NUMBER.finditer(word):
            if number.start() < at < number.end() and number.start() > 0:
                at = number.start()
        yield word[:at]
        word = word[at:]
    yield word


def longest_word(text: str) -> int:
    return max((cell_len(word) for word in text.split()), default=0)
