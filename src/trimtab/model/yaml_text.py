"""YAML and JSON as people write them, without the surprises of YAML 1.1.

`no` and `on` stay words, `1e3` is a number, `1:30` and dates are text, and a key that is
written twice is refused instead of silently winning.
"""

import json
import re
from typing import Any, NoReturn

import yaml

from trimtab.errors import ConfigError

_MERGE = "tag:yaml.org,2002:merge"


class _Loader(yaml.CSafeLoader):
    """YAML 1.2's core schema on PyYAML's C parser."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[object] = set()
        for key_node, _ in node.value:
            if key_node.tag == _MERGE:
                continue
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise _refused(f"the key {key!r} is not text; put it in quotes", key_node)
            if key in seen:
                raise _refused(f"the key {key!r} appears twice; keep one of them", key_node)
            seen.add(key)
        return super().construct_mapping(node, deep)


def _refused(problem: str, node: yaml.Node) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("null", r"~|null|", ["~", "n", ""]),
    ("bool", r"true|false", ["t", "f"]),
    ("int", r"[-+]?(?:0|[1-9][0-9]*)", list("-+0123456789")),
    (
        "float",
        r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?",
        list("-+.0123456789"),
    ),
    ("merge", r"<<", ["<"]),
):
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(f"(?:{_pattern})\\Z"), _first
    )


def parse_text(text: str, where: str) -> Any:
    """The one document in `text`, YAML or JSON; `where` names it in errors."""
    try:
        return _parse(text, where)
    except RecursionError:
        raise ConfigError(f"{where}: it is nested too deeply") from None


def _parse(text: str, where: str) -> Any:
    if text.lstrip()[:1] not in ("{", "["):
        return _parse_yaml(text, where)
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        return _parse_braces(text, where, error)
    except ValueError as error:
        raise ConfigError(f"{where}: {error}") from error


def _parse_braces(text: str, where: str, error: json.JSONDecodeError) -> Any:
    """What begins like JSON may be YAML; if it is neither, JSON was probably meant."""
    try:
        return _parse_yaml(text, where)
    except ConfigError:
        place = f"{where}:{error.lineno}:{error.colno}"
        raise ConfigError(f"{place}: not JSON: {error.msg}") from error


def _parse_yaml(text: str, where: str) -> Any:
    try:
        return yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"{where}:{mark.line + 1}:{mark.column + 1}" if mark else where
        raise ConfigError(f"{place}: {error.problem or 'not YAML'}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{where}: not YAML: {' '.join(str(error).split())}") from error
    except ValueError as error:  # a whole number of thousands of digits
        raise ConfigError(f"{where}: {error}") from error


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number; write one")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} appears twice; keep one of them")
    return result


def dump_yaml(data: Any) -> str:
    """`data` as YAML, keys in their order; it reads back with `parse_text` as the same data."""
    return yaml.dump(
        data,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=None,  # what has no parts is written on one line
        width=100,
    )


class _Dumper(yaml.CSafeDumper):
    """Quotes what either version of YAML would take for something else than text."""

    def ignore_aliases(self, data: Any) -> bool:
        return True  # the reader of a converted file should not chase anchors


_Dumper.yaml_implicit_resolvers = {
    first: _Loader.yaml_implicit_resolvers.get(first, [])
    + yaml.CSafeDumper.yaml_implicit_resolvers.get(first, [])
    for first in {*_Loader.yaml_implicit_resolvers, *yaml.CSafeDumper.yaml_implicit_resolvers}
}
