"""One account as programs read it."""

from datetime import UTC, datetime
from typing import Literal

from msgspec import Struct, field

from trimtab.qos.queue.time_to_violation import SECOND

State = Literal["ok", "atRisk", "violated"]


class Replicas(Struct, frozen=True):
    running: int
    waiting: int
    gated: int = 0


class Row(Struct, frozen=True, rename="camel", kw_only=True):
    """One account in JSON; null is a time that never comes."""

    namespace: str
    kind: str
    name: str
    uid: str
    class_name: str = field(name="class")
    slo: float
    slo_source: str
    ceiling: float
    above_ceiling: bool
    qos: float
    ttv_seconds: float | None
    never_violated: bool
    deadline: str | None
    state: State
    urgent: bool
    running_seconds: float
    waiting_seconds: float
    binding_seconds: float
    binding_approximate: bool
    gated_seconds: float
    unready_seconds: float
    replicas: Replicas
    incarnations: int
    gap_seconds: float
    as_of: str


def moment(ns: int | None) -> str | None:
    """RFC 3339 to the millisecond; None for what never comes or lies outside the calendar."""
    if ns is None or not 0 <= ns < 4_102_444_800 * SECOND:
        return None
    at = datetime.fromtimestamp(ns // SECOND, UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{ns % SECOND // 1_000_000:03d}Z"
