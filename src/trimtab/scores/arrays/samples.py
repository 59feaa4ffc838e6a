"""A window from a file: inputs per node written by hand, or a snapshot that holds them.

One instant is a mapping of nodes, `n1: {cpu: 0.8, memory: 0.5, cpuPressure: 0.1}`; several are a
list of `{time: 15, nodes: {…}}`, seconds ascending. Inputs that are left out are 0.
"""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from trimtab.errors import ConfigError
from trimtab.model.snapshot import Snapshot, decode
from trimtab.model.yaml_text import parse_text
from trimtab.scores.arrays.window import Window
from trimtab.scores.inputs import DIMENSIONS
from trimtab.scores.prometheus.records import base_record
from trimtab.scores.score import Mode


class NodeInputs(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The six inputs of a node, in the order of a window's columns."""

    cpu: float
    cpu_pressure: float = 0.0
    memory: float = 0.0
    memory_pressure: float = 0.0
    cpu_in_flight: float = 0.0
    memory_in_flight: float = 0.0


class Instant(Struct, frozen=True, forbid_unknown_fields=True):
    """All nodes at one time."""

    time: float
    nodes: dict[str, NodeInputs]


class Samples(Struct, frozen=True, eq=False):
    """A window and the names of its nodes, in its order."""

    nodes: tuple[str, ...]
    window: Window


def load_samples(path: Path) -> Samples:
    """Read inputs from a file of either form, or from a snapshot."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: it is not UTF-8 text") from error
    data = parse_text(text, str(path))
    if isinstance(data, dict) and data.get("kind") == "Snapshot":
        return from_snapshot(decode(text, str(path)), str(path))
    if isinstance(data, dict):
        return from_instants([Instant(0.0, _read(data, dict[str, NodeInputs], path))], str(path))
    return from_instants(_read(data, list[Instant], path), str(path))


def _read(data: Any, form: Any, path: Path) -> Any:
    try:
        return msgspec.convert(data, form)
    except msgspec.ValidationError as error:
        what, _, where = str(error).replace("`", "").partition(" - at ")
        place = where.removeprefix("$").lstrip(".") or "the whole file"
        raise ConfigError(
            f"{path}: {place}: {what}; write nodes as n1: {{cpu: 0.8, memory: 0.5}}"
        ) from error


def from_instants(instants: list[Instant], where: str) -> Samples:
    """One replica with these samples; every instant must have the same nodes."""
    nodes = tuple(sorted(instants[0].nodes)) if instants else ()
    for instant in instants:
        if odd := set(nodes).symmetric_difference(instant.nodes):
            raise ConfigError(
                f'{where}: node "{min(odd)}" is not in every sample (see time {instant.time:g}); '
                "leave it out everywhere, or give it inputs everywhere"
            )
    rows = [[msgspec.structs.astuple(i.nodes[n]) for n in nodes] for i in instants]
    shape = (1, len(instants), len(nodes), len(NodeInputs.__struct_fields__))
    values = np.array(rows, dtype=np.float64).reshape(shape)
    try:
        return Samples(nodes, Window(values, np.array([i.time for i in instants])))
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error


def from_snapshot(snapshot: Snapshot, where: str) -> Samples:
    """Inputs from the samples of a snapshot, if its query selected our base records."""
    modes: tuple[Mode, ...] = ("avg1m", "score")
    for mode in modes:
        columns = [_column(snapshot, base_record(c, mode)) for c in DIMENSIONS]
        if nodes := sorted(set.intersection(*(set(column) for column in columns))):
            values = np.array([[[[column[n] for column in columns] for n in nodes]]])
            return Samples(tuple(nodes), Window(values, np.zeros(1), mode == "avg1m"))
    raise ConfigError(
        f"{where}: the snapshot has no inputs, only what the policy's query selected; give it a "
        "file of inputs, or take a snapshot with --policy of a policy whose query is "
        '{__name__=~"descheduler:node:(cpu|memory)_(usage|pressure):avg1m"}'
    )


def _column(snapshot: Snapshot, record: str) -> dict[str, float]:
    """A record's values by node; what the base rules drop is not there."""
    found = snapshot.query.samples if snapshot.query else ()
    return {
        sample.labels["instance"]: float(sample.value)
        for sample in found
        if sample.labels.get("__name__") == record and "instance" in sample.labels
    }
