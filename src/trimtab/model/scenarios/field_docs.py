"""What the source says about the fields of a struct: their types in words, and the line below.

Used to print references and JSON Schemas; the documentation of a field is the string that
follows it in the class, as editors show it.
"""

import ast
import inspect
import sys
import textwrap
from functools import cache
from typing import Any, get_args

from msgspec import Struct, structs

_WORDS = {
    "str": "text",
    "int": "whole number",
    "float": "number",
    "bool": "true or false",
    "Amount": "[quantity](#units)",
    "Duration": "[duration](#units)",
}
_PLURALS = {"number": "numbers", "pair of numbers": "pairs of numbers"}


class FieldDoc(Struct, frozen=True):
    """One field as a reader sees it."""

    name: str
    """As it is written in the file"""
    type: str
    """In words, with the names of other structs in brackets"""
    required: bool
    default: Any
    text: str


@cache
def documented(kind: type[Struct]) -> tuple[FieldDoc, ...]:
    """Every field of a struct; one without a line of documentation is an error."""
    lines = _lines(kind)
    return tuple(
        FieldDoc(
            name=field.encode_name,
            type=lines[field.name][0],
            required=field.required,
            default=None if field.required else _default(field),
            text=lines[field.name][1],
        )
        for field in structs.fields(kind)
    )


def _default(field: structs.FieldInfo) -> Any:
    return field.default_factory() if callable(field.default_factory) else field.default


def _lines(kind: type[Struct]) -> dict[str, tuple[str, str]]:
    """For each field of the class's source: its type in words, and the string below it."""
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(body, ast.ClassDef)
    found = {}
    for field, below in zip(body.body, [*body.body[1:], None], strict=True):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            if not isinstance(below, ast.Expr) or not isinstance(below.value, ast.Constant):
                raise TypeError(f"{kind.__name__}.{field.target.id} has no line of documentation")
            words = _in_words(field.annotation, kind)
            found[field.target.id] = words, " ".join(str(below.value.value).split())
    return found


def _in_words(annotation: ast.expr, kind: type[Struct]) -> str:
    match annotation:
        case ast.Name(id=name):
            return _WORDS.get(name) or _named(name, kind)
        case ast.BinOp(left=left, right=ast.Constant(value=None)):
            return _in_words(left, kind)
        case ast.BinOp(left=left, right=right):
            return f"{_in_words(left, kind)} or {_in_words(right, kind)}"
        case ast.Subscript(value=ast.Name(id="Literal"), slice=literal):
            several = literal.elts if isinstance(literal, ast.Tuple) else [literal]
            return ", ".join(f"`{ast.literal_eval(word)}`" for word in several)
        case ast.Subscript(value=ast.Name(id="dict"), slice=ast.Tuple(elts=[key, value])):
            return f"{_in_words(value, kind)} by {_in_words(key, kind)}"
        case ast.Subscript(slice=ast.Tuple(elts=[item, ast.Constant(value=last)])) if last is ...:
            words = _in_words(item, kind)
            return f"list of {_PLURALS.get(words, words)}"
        case ast.Subscript(slice=ast.Tuple(elts=[item, _])):
            return f"pair of {_PLURALS[_in_words(item, kind)]}"
        case _:
            raise TypeError(f"{kind.__name__}: no words for {ast.unparse(annotation)}")


def _named(name: str, kind: type[Struct]) -> str:
    """The words of a literal, or in brackets the name of a struct or of a union of them."""
    meaning = getattr(sys.modules[kind.__module__], name)
    words = get_args(meaning)
    if words and all(isinstance(word, str) for word in words):
        return ", ".join(f"`{word}`" for word in words)
    return f"[{name}]"
