"""CustomResourceDefinitions, derived from the Structs that read their objects.

The Struct of a kind gives the structure: names, nesting, types, lists, maps, choices. What a
type cannot say is a `Note` under the field's path, written as in docs/reference: `status.phase`,
`status.items[].name`. `[]` is an entry of a list or of a map, the empty path the whole object.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import chain
from math import inf
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, Struct, structs, to_builtins

from trimtab.kube.resources import Kind

Schema = dict[str, Any]
ANYTHING: Schema = {"x-kubernetes-preserve-unknown-fields": True}
_PLAIN = {bool: "boolean", int: "integer", float: "number", str: "string"}
_LIMITS = {
    "string": ("minLength", "maxLength"),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
    "integer": ("minimum", "maximum"),
    "number": ("minimum", "maximum"),
}
_RULES = "x-kubernetes-validations"


class Note(Struct, frozen=True):
    """What the type of a field cannot say."""

    text: str = ""
    """The description."""
    least: float | None = None
    """The least number, or length of a text, list or map. Unsaid, a number is at least 0."""
    most: float | None = None
    """The same upwards. A text, list or map must have it, or rules in CEL cost too much."""
    pattern: str = ""
    choices: tuple[str, ...] = ()
    """Instead of the Struct's: where it reads any text on purpose, or the empty text counts."""
    required: bool = False
    """A field without a default always is; most have one, because a bookmark has no spec."""
    filled: bool = False
    """Whether the API server fills in the Struct's default."""
    rules: Mapping[str, str] = {}
    """Rules in CEL, each with the sentence of its refusal."""
    also: Schema = {}
    """Other words of the schema, as they stand there."""
    instead: Schema | None = None
    """The schema itself, where the definition is looser than the Struct on purpose."""


Notes = Mapping[str, Note | None]
"""By path; None leaves the field out of the definition."""


def under(path: str, notes: Notes) -> dict[str, Note | None]:
    """The notes of fields that several places share, for one of the places."""
    return {f"{path}.{name}": note for name, note in notes.items()}


def list_map(key: str) -> Schema:
    """Makes a list a map for server-side apply: each entry is known by `key`."""
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key]}


def conditions(text: str, *, most: int, longest_message: int) -> dict[str, Note | None]:
    """The notes of `status.conditions`, with at most `most` of them."""
    entry: Notes = {
        "type": Note(most=64, required=True),
        "status": Note(choices=("True", "False", "Unknown"), required=True),
        "reason": Note(most=128),
        "message": Note(most=longest_message),
    }
    whole = Note(text, most=most, also=list_map("type"))
    return {"status.conditions": whole} | under("status.conditions[]", entry)


def column(name: str, path: str, kind: str = "string", *, wide: bool = False) -> Schema:
    """A printer column; a wide one shows with `-o wide` only."""
    shown: Schema = {"name": name, "type": kind, "jsonPath": path}
    return shown | {"priority": 1} if wide else shown


def definition(
    kind: Kind[Any], notes: Notes, *, short: Iterable[str] = (), columns: Iterable[Schema] = ()
) -> Schema:
    """A CustomResourceDefinition with one served and stored version and a status subresource."""
    version = {
        "name": kind.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema_of(kind.type, notes)},
        "subresources": {"status": {}},
        "additionalPrinterColumns": list(columns),
    }
    names: Schema = {"kind": kind.kind, "plural": kind.plural, "singular": kind.kind.lower()}
    if short:
        names["shortNames"] = list(short)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": {
            "group": kind.group,
            "names": names,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "versions": [version],
        },
    }


def schema_of(struct: type[Any], notes: Notes) -> Schema:
    """The schema of a kind's objects; ValueError says where Struct and notes do not agree."""
    derivation = _Derivation(struct.__name__, notes)
    schema = derivation.schema(struct, "")
    if unused := ", ".join(derivation.unused):
        raise ValueError(f"{struct.__name__} has no {unused}: remove its Note, or add the field")
    return schema


class _Field(NamedTuple):
    name: str
    type: Any
    required: bool
    default: Any


class _Derivation:
    """Walks the types of a kind, and uses each note at the field that it is about."""

    def __init__(self, kind: str, notes: Notes) -> None:
        self.kind = kind
        self.notes = notes
        self.unused = dict(notes)

    def schema(self, kind: Any, path: str) -> Schema:
        self.unused.pop(path, None)
        note = self.notes.get(path) or Note()
        schema = self._structure(_bare(kind), path) if note.instead is None else {**note.instead}
        rules = [{"rule": rule, "message": text} for rule, text in note.rules.items()]
        if note.choices:
            schema["enum"] = list(note.choices)
        schema |= {**note.also, **_bounds(schema, note)}
        if _unbounded(schema) and note.instead is None:
            raise ValueError(f"{self.kind}: {path} has no bound: give it a Note with `most`")
        more = {"pattern": note.pattern, "description": note.text, _RULES: rules}
        return schema | {key: value for key, value in more.items() if value}

    def _structure(self, kind: Any, path: str) -> Schema:
        origin, args = get_origin(kind), get_args(kind)
        if kind is Any:
            return {**ANYTHING}
        if kind in _PLAIN:
            return {"type": _PLAIN[kind]}
        if kind is datetime:
            return {"type": "string", "format": "date-time"}
        if _is_struct(kind):
            return self._object(_fields(kind), path)
        if choices := _choices(kind):
            return {"type": _PLAIN[type(choices[0])], "enum": choices}
        if origin is dict and args[1] is Any:
            return {"type": "object", **ANYTHING}
        if origin is dict:
            return {"type": "object", "additionalProperties": self.schema(args[1], f"{path}[]")}
        if origin is list or (origin is tuple and args[1:] == (...,)):
            return {"type": "array", "items": self.schema(args[0], f"{path}[]")}
        if origin is tuple and len(set(args)) == 1:
            size = {"minItems": len(args), "maxItems": len(args)}
            return {"type": "array", "items": self.schema(args[0], f"{path}[]"), **size}
        if origin is Union and {int, str} <= set(args) <= {int, str, float}:
            either = [{"type": "integer"}, {"type": "string"}]
            return {"x-kubernetes-int-or-string": True, "anyOf": either}
        if origin is Union and all(map(_is_struct, args)):
            return self._one_of(args, path)
        raise ValueError(f"{self.kind}: {path} is a {kind}: give it a Note with `instead`")

    def _object(self, fields: Iterable[_Field], path: str) -> Schema:
        properties, required = {}, []
        for field in fields:
            at = f"{path}.{field.name}" if path else field.name
            note = self.notes.get(at, Note())
            if note is None or at == "metadata":  # the API server's own
                self.unused.pop(at, None)
                continue
            properties[field.name] = self.schema(field.type, at)
            if note.filled:
                properties[field.name]["default"] = to_builtins(field.default)
            if field.required or note.required:
                required.append(field.name)
        schema: Schema = {"type": "object", "properties": properties}
        return schema | {"required": required} if required else schema

    def _one_of(self, kinds: tuple[type[Struct], ...], path: str) -> Schema:
        """The fields of several tagged Structs in one object, of which only the tag is required.

        A structural schema cannot say "one of these"; which fields belong to which tag is for
        rules. A field that has two types among them may be anything.
        """
        configs = [kind.__struct_config__ for kind in kinds]
        tags = Literal[tuple(config.tag for config in configs)]  # type: ignore[valid-type]
        fields = {configs[0].tag_field: _Field(str(configs[0].tag_field), tags, True, NODEFAULT)}
        for each in chain.from_iterable(map(_fields, kinds)):
            known = fields.get(each.name, each)
            both = each.type if each.type == known.type else Any
            fields[each.name] = each._replace(type=both, required=False)
        return self._object(fields.values(), path)


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)


def _fields(struct: type[Struct]) -> list[_Field]:
    types = get_type_hints(struct)
    return [
        _Field(field.encode_name, types[field.name], field.required, field.default)
        for field in structs.fields(struct)
    ]


def _bare(kind: Any) -> Any:
    """Without `| None`: a field that is not there is None."""
    rest = tuple(each for each in get_args(kind) if each is not NoneType)
    return Union[rest] if get_origin(kind) in (Union, UnionType) else kind  # noqa: UP007


def _choices(kind: Any) -> list[Any]:
    """The values of a Literal, or of several; an empty text stands for a missing field."""
    parts = [kind] if get_origin(kind) is Literal else get_args(kind)
    literal = all(get_origin(part) is Literal for part in parts)
    return [word for part in parts for word in get_args(part) if word != ""] if literal else []


def _bounds(schema: Schema, note: Note) -> Schema:
    kind = schema.get("type", "string")
    least = 0 if note.least is None and kind in ("integer", "number") else note.least
    bounds = zip(_LIMITS.get(kind, ()), (least, note.most), strict=False)
    return {word: value for word, value in bounds if value not in (None, -inf)}


def _unbounded(schema: Schema) -> bool:
    """Whether a text, list or map may be as long as it likes."""
    kind = schema.get("type", "string")
    if kind not in ("string", "array", "object"):
        return False
    return {"enum", "format", "properties", *ANYTHING, _LIMITS[kind][1]}.isdisjoint(schema)
