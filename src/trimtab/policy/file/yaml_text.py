"""YAML as the descheduler reads it: the first document, through JSON.

So `2.0` is the integer 2, `1e1` is a number, `y` is true, and NaN cannot be written at all.
"""

import math
import re
from typing import Any

import yaml

from trimtab.errors import ConfigError
from trimtab.files.yaml import problem_of

_BOOL = "tag:yaml.org,2002:bool", re.compile(r"^(?:y|Y|n|N)$"), list("yYnN")


class _Loader(yaml.CSafeLoader):
    """PyYAML takes `1e1` and `y` for texts; Go takes them for a number and for true."""

    bool_values = yaml.CSafeLoader.bool_values | {"y": True, "n": False}


class _Dumper(yaml.CSafeDumper):
    """Quotes what Go would take for something else than text."""


_Loader.add_implicit_resolver(*_BOOL)
_Dumper.add_implicit_resolver(*_BOOL)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?[0-9]+[eE][-+]?[0-9]+$"), list("-+0123456789")
)


def load_yaml(text: str, file: str) -> Any:
    """The first document as JSON would hold it; an empty file is an empty object."""
    try:
        tree = next(iter(yaml.load_all(text, Loader=_Loader)), None)
    except yaml.YAMLError as error:
        raise ConfigError(f"{file}: not YAML: {problem_of(error)}") from error
    return _as_json({} if tree is None else tree, file)


def dump_yaml(tree: Any) -> str:
    """A policy that the descheduler reads as we do; keys in their order."""
    text: str = yaml.dump(tree, Dumper=_Dumper, sort_keys=False, width=10_000)
    return text


def _as_json(value: Any, file: str) -> Any:
    if isinstance(value, dict):
        return {_key(key): _as_json(item, file) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_json(item, file) for item in value]
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ConfigError(f"{file}: {value} is not a JSON number; write a finite one")
        return int(value) if value.is_integer() else value
    return value


def _key(key: Any) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)
