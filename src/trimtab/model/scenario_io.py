"""Scenario files, in and out: ours in YAML or JSON, and the seed's JSON in both of its forms.

A file with several scenarios (the seed's) is narrowed by `file.json#name`. Errors name the
file and the field as it is written there: `shop.yaml: vms[2].cpu: …`.
"""

from pathlib import Path
from typing import Any

import msgspec

from trimtab.errors import ConfigError
from trimtab.model.expand import Traces, expand
from trimtab.model.scenario import Scenario
from trimtab.model.scenario_file import ScenarioFile
from trimtab.model.seed_json import from_seed, is_seed
from trimtab.model.yaml_text import dump_yaml, parse_text


def load_scenario(path: str | Path) -> Scenario:
    """The scenario in a file with every node and VM by name, its traces read."""
    return _expand(load_file(path), path)


def load_file(path: str | Path) -> ScenarioFile:
    """The scenario in a file as it is written there."""
    file, name = _split(path)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(f"{file}: cannot read the scenario: {reason}") from error
    return parse_file(text, str(file), select=name)


def parse_file(text: str, where: str = "scenario", *, select: str | None = None) -> ScenarioFile:
    """A scenario from text, e.g. a request's body; `select` names one where there are several."""
    data = parse_text(text, where)
    if is_seed(data):
        return from_seed(data, where, select)
    if select is not None and not (isinstance(data, dict) and data.get("name") == select):
        raise ConfigError(f"{where}: there is no scenario {select!r} in it")
    try:
        return msgspec.convert(data, ScenarioFile)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{where}: {explained(error)}") from error


def explained(error: msgspec.ValidationError) -> str:
    """msgspec's `Expected … - at `$.vms[2].cpu`` with the field first."""
    text, _, path = str(error).partition(" - at `$")
    field = path.rstrip("`").lstrip(".")
    return f"{field}: {text}" if field else text


def dump(file: ScenarioFile) -> str:
    """The file as YAML."""
    data: dict[str, Any] = msgspec.to_builtins(file)
    return dump_yaml(data)


def _split(path: str | Path) -> tuple[Path, str | None]:
    if Path(path).exists():
        return Path(path), None
    file, hash_, name = str(path).partition("#")
    return Path(file), name if hash_ else None


def _expand(file: ScenarioFile, path: str | Path) -> Scenario:
    traces: Traces = {}
    try:
        return expand(file, traces)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error
