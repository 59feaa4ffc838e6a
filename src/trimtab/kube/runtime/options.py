"""Options of a service: each is declared once, as a field of the service's settings.

The field's name, type and default and the string below it become the option on the command
line, its check, its default and its help. `Option` says what a type alone cannot: another
name, limits, or how a text is read. A field that is a Struct itself brings its own options.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, Struct, structs

from trimtab.model.duration import format_duration, parse_duration
from trimtab.model.quantity import NANO, Quantity, parse_quantity


class Option(Struct, frozen=True, kw_only=True):
    """How a field is written on a command line, where its name and type do not say it."""

    names: tuple[str, ...] = ()
    """How it is typed, the preferred name first; empty: `--` and the field's name."""
    least: float | None = None
    most: float | None = None
    parse: Callable[[Any, str], Any] | None = None
    """From the text (of a `several` option: from all texts) and the option's name."""
    write: Callable[[Any], Any] = str
    """The text, or the texts, that `parse` makes this value from."""
    several: bool = False
    """It may be repeated."""
    shown: bool = True
    """False: its default is too long for a help text."""
    offered: bool = True
    """False: it is no option of the command line."""


def _bytes(text: str, name: str) -> float:
    return float(parse_quantity(text, name))


Port = Annotated[int, Option(least=0, most=65535)]
Seconds = Annotated[float, Option(parse=parse_duration, write=format_duration)]
"""Written as a duration: 30s, 5m."""
Bytes = Annotated[
    float, Option(parse=_bytes, write=lambda value: str(Quantity(round(value * NANO))))
]
"""Written as a quantity: 1Gi."""
Amount = Annotated[Quantity, Option(parse=parse_quantity)]
INTERNAL = Option(offered=False)
"""For fields that tests set, and no user."""


class Listening(Struct, frozen=True, kw_only=True):
    """Settings of a service that serves HTTP; a service gives `port` its own default."""

    host: str = "127.0.0.1"
    """The address to listen on."""
    port: Port = 0
    """The port to listen on; 0 takes a free one."""


class Declared(Struct, frozen=True):
    """One option as the settings declare it; `path` leads to its field."""

    path: tuple[str, ...]
    names: tuple[str, ...]
    type: Any
    default: Any
    help: str
    option: Option

    @property
    def required(self) -> bool:
        return self.default is NODEFAULT

    @property
    def key(self) -> str:
        """The name of the argument of a function that takes all options."""
        return "_".join(self.path)


@cache
def declared(settings: type[Struct]) -> tuple[Declared, ...]:
    """All options of a service, in the order of its fields."""
    return tuple(_declared(settings, ()))


def _declared(kind: type[Struct], prefix: tuple[str, ...]) -> Iterator[Declared]:
    types, texts = get_type_hints(kind, include_extras=True), field_texts(kind)
    for field in structs.fields(kind):
        bare, option = _split(types[field.name])
        if not option.offered:
            continue
        path = (*prefix, field.name)
        if isinstance(bare, type) and issubclass(bare, Struct) and option.parse is None:
            yield from _declared(bare, path)
            continue
        # a field has its unit in its name, an option in its value: wait_s, --wait 30s
        names = option.names or (f"--{field.name.removesuffix('_s').replace('_', '-')}",)
        yield Declared(path, names, bare, _default(field), texts.get(field.name, ""), option)


def _split(annotation: Any) -> tuple[Any, Option]:
    if get_origin(annotation) is not Annotated:
        return annotation, Option()
    bare, *rest = get_args(annotation)
    return bare, next((each for each in rest if isinstance(each, Option)), Option())


def _default(field: structs.FieldInfo) -> Any:
    return field.default_factory() if callable(field.default_factory) else field.default


def field_texts(kind: type[Struct]) -> dict[str, str]:
    """The string below each field, inherited fields included."""
    texts: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        if issubclass(each, Struct) and each is not Struct:
            texts |= _own_texts(each)
    return texts


def _own_texts(kind: type[Struct]) -> dict[str, str]:
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(body, ast.ClassDef)
    return {
        field.target.id: " ".join(str(below.value.value).split())
        for field, below in zip(body.body, body.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(below, ast.Expr)
        and isinstance(below.value, ast.Constant)
    }


def read(settings: type[Struct], given: Mapping[str, Any]) -> Any:
    """The settings of what a command line gave, by `Declared.key`; texts are parsed here."""
    values: dict[str, Any] = {}
    for each in (each for each in declared(settings) if each.key in given):
        value = given[each.key]
        if each.option.parse is not None and value is not None:
            value = each.option.parse(value, each.names[0])
        place = values
        for step in each.path[:-1]:
            place = place.setdefault(step, {})
        place[each.path[-1]] = value
    return _made(settings, values)


def _made(kind: type[Struct], values: Mapping[str, Any]) -> Any:
    types = get_type_hints(kind)
    made = {k: _made(types[k], v) if _is_nested(types[k], v) else v for k, v in values.items()}
    return kind(**made)


def _is_nested(kind: Any, value: Any) -> bool:
    return isinstance(value, dict) and isinstance(kind, type) and issubclass(kind, Struct)


def written(settings: Struct, *, always: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """The command line that `read` makes these settings from, without what is the default."""
    return tuple(
        text
        for each in declared(type(settings))
        for text in _written(each, _value(settings, each.path), each.key in always)
    )


def _value(settings: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        settings = getattr(settings, step)
    return settings


def _written(each: Declared, value: Any, always: bool) -> tuple[str, ...]:
    name = each.names[0]
    if value is None or (value == each.default and not always):
        return ()
    if each.type is bool:
        return (name if value else f"--no-{name.removeprefix('--')}",)
    texts = each.option.write(value) if each.option.several else (each.option.write(value),)
    return tuple(f"{name}={text}" for text in texts)
