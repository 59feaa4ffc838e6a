"""Tables for a terminal: the one printer of all commands.

A cell is text (styled or not), a number that was formatted by its owner, or a picture: a bar
or a line of blocks that is drawn as wide as there is room.
"""

from collections.abc import Sequence
from typing import Protocol, TypeGuard, runtime_checkable

from msgspec import Struct
from rich.text import Text

from trimtab.view.tables.layout import (
    GAP,
    TEXT_LEAST,
    Block,
    ColumnWidths,
    Kind,
    Layout,
    fit,
    least_name_width,
    longest_word,
    shorten,
    wrap,
)


@runtime_checkable
class Drawing(Protocol):
    """Something drawn: it says how wide it likes to be and how narrow it can be."""

    @property
    def widest(self) -> int: ...
    @property
    def least(self) -> int: ...
    def draw(self, width: int) -> Text: ...


class Table(Struct, frozen=True):
    """Titles and rows.

    The last column and those with several words in a cell wrap; other columns hold names, which
    are shortened, unless they are `right` or `whole`.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    right: Sequence[str] = ()
    """Columns of numbers: aligned to the right, never shortened."""
    whole: Sequence[str] = ()
    """Further columns that are never shortened or wrapped: addresses, identifiers."""
    drop: Sequence[str] = ()
    """Columns that may go where there is no room, the first to go first."""

    def lines(self, width: int | None) -> tuple[list[Text], Layout]:
        """The table for a terminal of `width`, and what was left out of it."""
        layout = fit([self._room(n) for n in range(len(self.columns))], width, self.drop)
        found: list[Text] = []
        for block in layout.blocks:
            found += [Text()] if found else []
            found += self._block(block)
        return found, layout

    def _room(self, column: int) -> ColumnWidths:
        title, cells = self.columns[column], [row[column] for row in self.rows]
        kind = self._kind(column)
        if kind == "picture":
            drawn = [cell for cell in cells if _is_drawn(cell)]
            widest, least = max(each.widest for each in drawn), max(each.least for each in drawn)
            return ColumnWidths(
                title, kind, max(widest, _len(title)), max(least, longest_word(title))
            )
        natural = max([_len(title), *map(_len, cells)])
        return ColumnWidths(title, kind, natural, min(natural, self._least(kind, title, cells)))

    def _kind(self, column: int) -> Kind:
        title = self.columns[column]
        if any(_is_drawn(row[column]) for row in self.rows):
            return "picture"
        if title in self.right or title in self.whole:
            return "number"
        last = column == len(self.columns) - 1
        return "text" if last or self._has_sentences(column) else "name"

    def _has_sentences(self, column: int) -> bool:
        return any(" " in _text(row[column]).plain for row in self.rows)

    def _least(self, kind: Kind, title: str, cells: Sequence[object]) -> int:
        head = longest_word(title)
        if kind == "number":
            return max([head, *map(_len, cells)])
        if kind == "name":
            return max(head, least_name_width([str(_text(cell)) for cell in cells]))
        return max(head, min(TEXT_LEAST, max([0, *map(_len, cells)])))

    def _block(self, block: Block) -> list[Text]:
        heads = [Text(self.columns[n], style="bold") for n in block.columns]
        wrapped = [
            _styled(wrap(head.plain, width), head)
            for head, width in zip(heads, block.widths, strict=True)
        ]
        found = self._row(block, wrapped)
        kinds = [self._kind(n) for n in block.columns]  # each looks at all rows
        for row in self.rows:
            cells = [
                _lines_of(row[n], kind, width)
                for n, kind, width in zip(block.columns, kinds, block.widths, strict=True)
            ]
            found += self._row(block, cells)
        return found

    def _row(self, block: Block, cells: Sequence[Sequence[Text]]) -> list[Text]:
        height = max(len(cell) for cell in cells)
        lines = []
        for number in range(height):
            line = Text()
            for n, width, cell in zip(block.columns, block.widths, cells, strict=True):
                part = cell[number] if number < len(cell) else Text()
                space = " " * max(0, width - part.cell_len)
                if self.columns[n] in self.right:
                    line.append(space).append_text(part).append(" " * GAP)
                else:
                    line.append_text(part).append(space + " " * GAP)
            line.rstrip()
            lines.append(line)
        return lines


def _lines_of(cell: object, kind: Kind, width: int) -> list[Text]:
    if _is_drawn(cell):
        return [cell.draw(min(width, cell.widest))]
    text = _text(cell)
    if text.cell_len <= width or kind == "number":
        return _styled(text.plain.split("\n"), text) if "\n" in text.plain else [text]
    if kind == "name":
        return _styled([shorten(text.plain, width)], text)
    return _styled(wrap(text.plain, width), text)


def _is_drawn(cell: object) -> TypeGuard[Drawing]:
    """Most cells are text; to ask a protocol takes a hundred times as long."""
    return not isinstance(cell, str | Text) and isinstance(cell, Drawing)


def _text(cell: object) -> Text:
    if isinstance(cell, Text):
        return cell
    return Text("" if cell is None else str(cell))


def _len(cell: object) -> int:
    if _is_drawn(cell):
        return cell.widest
    return max(Text(line).cell_len for line in _text(cell).plain.split("\n"))


def _styled(lines: Sequence[str], text: Text) -> list[Text]:
    """New lines in the style of the text that they came from."""
    style = text.style or (text.spans[0].style if text.spans else "")
    return [Text(line, style=style) for line in lines]
