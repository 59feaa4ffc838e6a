"""A score as the text of a Python file: how one that was made in a program reaches a worker."""

from msgspec import structs

from trimtab.scores.catalog import CATALOG
from trimtab.scores.expr import Expr, Record, walk
from trimtab.scores.score import Score

# Where each record of the catalogue can be found again.
_SHARED: dict[Expr, str] = {
    part: f"part({score.name!r}, {place})"
    for score in CATALOG.values()
    for place, part in enumerate(walk(score.value))
    if isinstance(part, Record)
}
_HEAD = """from trimtab.scores import find_score
from trimtab.scores import expr as x
from trimtab.scores.score import define


def part(score, place):
    return list(x.walk(find_score(score).value))[place]


"""


def score_text(score: Score) -> str:
    """A Python file that defines the same score; `load_score_file` reads it back.

    Records of the catalogue are taken from there: a copy of one would be a second
    series of the same name.
    """
    lines: list[str] = []
    names: dict[Expr, str] = {}
    clamped = score.value.parts[0].parts[0]  # `define` clamps and records what it is given
    text = _text(clamped, names, lines)
    lines.append(f"SCORE = define({score.name!r}, {text}, formula={score.formula!r})")
    return _HEAD + "\n".join(lines) + "\n"


def _text(value: object, names: dict[Expr, str], lines: list[str]) -> str:
    if isinstance(value, tuple):
        return f"({''.join(f'{_text(each, names, lines)}, ' for each in value)})"
    if not isinstance(value, Expr):
        return repr(value)
    if value in names:
        return names[value]
    text = _SHARED.get(value, "")
    if not text:
        fields = [_text(getattr(value, f.name), names, lines) for f in structs.fields(value)]
        text = f"x.{type(value).__name__}({', '.join(fields)})"
    # A name for each part, so that what is one object stays one object.
    names[value] = f"e{len(names)}"
    lines.append(f"{names[value]} = {text}")
    return names[value]
