"""Every mistake in the structure of a file: unknown and missing fields, wrong types and words.

msgspec stops at the first; a person who writes a file by hand wants them all. It also knows
what was probably meant: the nearest field name, the kinds there are, a `None` in quotes.
"""

import re
import types
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Struct, structs

from trimtab.errors import ConfigError

_WORDS = {
    "array": "a list",
    "bool": "true or false",
    "float": "a number",
    "int": "a whole number",
    "null": "nothing",
    "object": "fields with values",
    "str": "text",
}


def explained(error: msgspec.ValidationError) -> str:
    """msgspec's "Expected … - at `$.vms[2].cpu`" with the field first."""
    text, _, path = str(error).partition(" - at `$")
    field = path.rstrip("`").lstrip(".")
    return f"{field}: {text}" if field else text


def mistakes(data: Any, wanted: Any, field: str = "") -> Iterator[str]:
    """Why `data` cannot become `wanted` (a Struct type, or what its fields are made of)."""
    try:
        msgspec.convert(data, wanted)
    except msgspec.ValidationError as error:
        reasons = list(_reasons(data, wanted, field))
        yield from reasons or [f"{_place(field, error)}: {_plain(error)}"]
    except ConfigError as error:  # from a Struct's own check, which names its field
        yield str(error)


def _reasons(data: Any, wanted: Any, field: str) -> Iterator[str]:
    """The mistakes in the parts of `data`; none if it has no parts that could be looked at."""
    choices = _choices(wanted)
    kinds = [kind for kind in choices if isinstance(kind, type) and issubclass(kind, Struct)]
    lists = [get_args(choice)[0] for choice in choices if get_args(choice)[1:] == (...,)]
    if isinstance(data, dict) and kinds:
        yield from _object(data, kinds, field)
    elif isinstance(data, list) and lists:
        for index, item in enumerate(data):
            yield from mistakes(item, lists[0], f"{field}[{index}]")
    elif get_origin(wanted) is Literal:
        words = get_args(wanted)
        yield f"{field}: {_shown(data)} is not one of {_listed(words)}{_hint(data, words)}"


def _choices(wanted: Any) -> Sequence[Any]:
    if get_origin(wanted) in (Union, types.UnionType):
        return get_args(wanted)
    return (wanted,)


def _object(data: dict[str, Any], kinds: list[type[Struct]], field: str) -> Iterator[str]:
    kind = kinds[0]
    tag_field = kind.__struct_config__.tag_field
    if tag_field is not None:
        by_tag = {each.__struct_config__.tag: each for each in kinds}
        if data.get(tag_field) not in by_tag:
            said = f"{_shown(data[tag_field])} is not" if tag_field in data else "must be"
            yield f"{_below(field, tag_field)}: {said} one of {_listed(tuple(by_tag))}"
            return
        kind = by_tag[data[tag_field]]
    yield from _fields(data, kind, field)


def _fields(data: dict[str, Any], kind: type[Struct], field: str) -> Iterator[str]:
    known = {each.encode_name: each for each in structs.fields(kind)}
    for name, each in known.items():
        if name in data:
            yield from mistakes(data[name], each.type, _below(field, name))
        elif each.required:
            yield f"{_below(field, name)}: is missing; add it"
    for name in data:
        if name not in known and name != kind.__struct_config__.tag_field:
            near = get_close_matches(name, known, n=1)
            advice = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
            yield f"{_below(field, name)}: there is no such field; {advice}"


def _below(field: str, name: str) -> str:
    return f"{field}.{name}" if field else name


def _place(field: str, error: msgspec.ValidationError) -> str:
    """The field and what msgspec found inside of it, e.g. the second of two numbers."""
    inside = str(error).partition(" - at `$")[2].rstrip("`")
    return f"{field}{inside}" or "file"


def _shown(data: Any) -> str:
    return "null" if data is None else repr(data)


def _listed(words: Sequence[Any]) -> str:
    return ", ".join(map(str, words))


def _hint(data: Any, words: Sequence[Any]) -> str:
    if data is None and "None" in words:
        return '; write "None" in quotes'
    near = get_close_matches(str(data), map(str, words), n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _plain(error: msgspec.ValidationError) -> str:
    """msgspec's sentence in the words of a file."""
    sentence = str(error).partition(" - at ")[0]
    match = re.fullmatch(r"Expected `(?P<wanted>[^`]*)`, got `(?P<got>\w+)`", sentence)
    if not match:
        return sentence
    wanted = dict.fromkeys(_WORDS.get(word, word) for word in match["wanted"].split(" | "))
    return f"must be {' or '.join(wanted)}, not {_WORDS.get(match['got'], match['got'])}"
