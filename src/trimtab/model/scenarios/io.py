"""Scenario files, in and out: ours in YAML or JSON, node-classifier-sim's JSON in both its forms.

A file with several scenarios (node-classifier-sim's) is narrowed by `file.json#name`. Errors name
the file and the field as it is written there: `shop.yaml: vms[2].cpu: …`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from trimtab.errors import ConfigError
from trimtab.model.load.trace_formats import read_trace
from trimtab.model.scenarios.check import check_file
from trimtab.model.scenarios.classic_json import (
    classic_notes,
    classic_scenarios,
    from_classic,
    is_classic,
)
from trimtab.model.scenarios.expand import Recorded, expand, expanded, traces_of
from trimtab.model.scenarios.file import ScenarioFile, TraceSource
from trimtab.model.scenarios.scenario import Scenario, name_problems
from trimtab.model.scenarios.structure import explained, mistakes
from trimtab.model.scenarios.summary import doubts
from trimtab.model.scenarios.written import written
from trimtab.model.yaml_text import dump_yaml, parse_text

__all__ = [
    "ScenarioFinding",
    "dump",
    "explained",
    "findings",
    "load_file",
    "load_scenario",
    "parse_file",
]


class ScenarioFinding(Struct, frozen=True):
    """Something about a file: an error keeps it from being used, a warning does not."""

    level: Literal["error", "warning"]
    text: str


def load_scenario(path: str | Path) -> Scenario:
    """The scenario in a file with every node and VM by name, its traces read."""
    file = load_file(path)
    where = _split(path)[0]
    try:
        return expand(file, _traces(file, where.parent))
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error


def load_file(path: str | Path) -> ScenarioFile:
    """The scenario in a file as it is written there."""
    where, name = _split(path)
    return parse_file(_text(where), str(where), select=name)


def parse_file(text: str, where: str = "scenario", *, select: str | None = None) -> ScenarioFile:
    """A scenario from text, e.g. a request's body; `select` names one where there are several."""
    data = parse_text(text, where)
    if is_classic(data):
        return from_classic(data, where, select)
    if select is not None and not (isinstance(data, dict) and data.get("name") == select):
        raise ConfigError(f"{where}: there is no scenario {select!r} in it")
    wrong = list(mistakes(data, ScenarioFile))
    if wrong:
        more = f" ({len(wrong) - 1} more: trimtab scenario validate)" if len(wrong) > 1 else ""
        raise ConfigError(f"{where}: {wrong[0]}{more}")
    return msgspec.convert(data, ScenarioFile)


def findings(path: str | Path) -> Iterator[ScenarioFinding]:
    """Everything that is wrong with a file, and what is doubtful about it.

    Of a file with several scenarios each one is looked at, unless `#name` selects one.
    """
    where, name = _split(path)
    try:
        text = _text(where)
        data = parse_text(text, str(where))
        names = [*classic_scenarios(data)] if name is None and is_classic(data) else [name]
    except ConfigError as error:
        yield _error(error, where)
        return
    wrong = [] if is_classic(data) else [*mistakes(data, ScenarioFile)]
    yield from (ScenarioFinding("error", mistake) for mistake in wrong)
    for each in [] if wrong else names:
        yield from _findings(text, where, each)


def _findings(text: str, where: Path, select: str | None) -> Iterator[ScenarioFinding]:
    try:
        file = parse_file(text, str(where), select=select)
        wrong = [*check_file(file)]
        if not wrong:
            scenario = expanded(file, _traces(file, where.parent))
            wrong = [*name_problems(scenario)]
    except ConfigError as error:
        yield _error(error, where)
        return
    yield from (ScenarioFinding("error", mistake) for mistake in wrong)
    if not wrong:
        data = parse_text(text, str(where))
        notes = classic_notes(data, str(where), select)[0] if is_classic(data) else []
        yield from (ScenarioFinding("warning", doubt) for doubt in (*notes, *doubts(scenario)))


def _error(error: ConfigError, where: Path) -> ScenarioFinding:
    return ScenarioFinding("error", str(error).removeprefix(f"{where}: "))


def dump(file: ScenarioFile) -> str:
    """The file as YAML, without what is default; it reads back as the same file."""
    data: dict[str, Any] = written(file)
    long = {key: data.pop(key) for key in ("nodes", "vms", "events") if key in data}
    return dump_yaml({"apiVersion": file.api_version, "kind": file.kind} | data | long)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(f"{path}: cannot read the scenario: {reason}") from error


def _split(path: str | Path) -> tuple[Path, str | None]:
    if Path(path).exists():
        return Path(path), None
    file, hash_, name = str(path).partition("#")
    return Path(file), name if hash_ else None


def _traces(file: ScenarioFile, folder: Path) -> dict[TraceSource, Recorded]:
    """What was recorded in each trace of the file; each is read once."""
    traces: dict[TraceSource, Recorded] = {}
    for field, source in traces_of(file):
        if source not in traces:
            try:
                traces[source] = read_trace(source, folder)
            except ConfigError as error:
                raise ConfigError(f"{field}: {error}") from error
    return traces
