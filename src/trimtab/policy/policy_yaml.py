"""YAML as the descheduler reads it: the first document, through JSON.

So `2.0` is the integer 2, `1e1` is a number, and NaN cannot be written at all.
"""

import math
import re
from typing import Any

import yaml

from trimtab.errors import ConfigError


class _Loader(yaml.CSafeLoader):
    """PyYAML takes `1e1` for a text; Go and JSON take it for a number."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?[0-9]+[eE][-+]?[0-9]+$"), list("-+0123456789")
)


def load_yaml(text: str, file: str) -> Any:
    """The first document as JSON would hold it; an empty file is an empty object."""
    try:
        tree = next(iter(yaml.load_all(text, Loader=_Loader)), None)
    except yaml.YAMLError as error:
        raise ConfigError(f"{file}: not YAML: {_one_line(error)}") from error
    return _as_json({} if tree is None else tree, file)


def _one_line(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        return f"line {error.problem_mark.line + 1}: {error.problem}"
    return " ".join(str(error).split())


def _as_json(value: Any, file: str) -> Any:
    if isinstance(value, dict):
        return {str(key): _as_json(item, file) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_json(item, file) for item in value]
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ConfigError(f"{file}: {value} is not a JSON number; write a finite one")
        return int(value) if value.is_integer() else value
    return value
