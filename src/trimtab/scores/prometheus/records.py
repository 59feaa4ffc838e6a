"""Recording rules and their names: what users, dashboards and the descheduler's policy type."""

from collections.abc import Mapping

from msgspec import Struct, field

from trimtab.scores.expr import Column
from trimtab.scores.score import Mode


class RecordingRule(Struct, frozen=True, omit_defaults=True):
    """One recording rule."""

    record: str
    expr: str
    labels: Mapping[str, str] = field(default_factory=dict)


def base_record(column: Column, mode: Mode) -> str:
    """The record of an input; the instant ones have the endings users know."""
    ending = "psi" if column.endswith("pressure") else "ratio"
    return f"descheduler:node:{column}:{'avg1m' if mode == 'avg1m' else ending}"


def score_record(name: str, mode: Mode) -> str:
    """The record of a score, by its name or an alias."""
    return f"descheduler:node:{name}:{mode}"


def mean_record(name: str) -> str:
    """The record of a score's mean over the nodes."""
    return f"descheduler:cluster:{name}:avg1m"


def helper_ending(mode: Mode) -> str:
    """How the names of helpers end."""
    return "avg1m" if mode == "avg1m" else "now"


def number(value: float) -> str:
    """The shortest text that reads back as the same number."""
    text = repr(float(value)).replace("e-0", "e-").removesuffix(".0")
    return f"({text})" if value < 0 else text


def duration(seconds: float) -> str:
    """A PromQL duration, to the millisecond."""
    milliseconds = max(1, round(seconds * 1000))
    for unit, size in (("h", 3_600_000), ("m", 60_000), ("s", 1000)):
        if milliseconds % size == 0:
            return f"{milliseconds // size}{unit}"
    return f"{milliseconds}ms"
