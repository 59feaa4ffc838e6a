"""Recorded workloads as arrays: what every trace format is read into.

Shares of a machine's allocation on one regular grid of times for all machines. What had to be
repaired on the way (gaps, machines without cores) is counted, never hidden.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from trimtab.errors import ConfigError

Floats = NDArray[np.float64]
DEFAULT_INTERVAL_S = 300.0
MOST = 16.0  # times the allocation; beyond it somebody wrote percent


class Recording(Struct, frozen=True):
    """What was recorded of each machine."""

    names: tuple[str, ...]
    cpu: Floats
    """(machines, samples) share of the allocated CPU; may exceed 1"""
    memory: Floats | None = None
    """(machines, samples) share of the allocated memory"""
    interval: float = DEFAULT_INTERVAL_S
    """Seconds between two samples"""
    repairs: Mapping[str, int] = {}
    """How often something was missing and what was done about it"""


class MachineSamples(Struct, frozen=True):
    """What was recorded of one machine, at the times it happened to be."""

    name: str
    times: Floats
    """(samples,) seconds, rising"""
    values: Floats
    """(samples, columns)"""


def on_a_grid(machines: Sequence[MachineSamples]) -> tuple[Floats, float, dict[str, int]]:
    """All machines on one grid: (machines, slots, columns), the interval, and the repairs.

    Each sample goes to the nearest slot of its machine's own beat, so jitter and a different
    phase do no harm. A gap keeps the value before it; before its first and after its last
    sample a machine uses nothing.
    """
    start = min(machine.times[0] for machine in machines)
    interval = _beat(machines)
    slots = [_slots(machine.times, start, interval) for machine in machines]
    length = 1 + max(int(own[-1]) for own in slots)
    grid = np.zeros((len(machines), length, machines[0].values.shape[1]))
    repairs = {"gaps filled with the value before": 0, "samples replaced by a later one": 0}
    for row, (machine, own) in enumerate(zip(machines, slots, strict=True)):
        whole = np.arange(own[0], own[-1] + 1)
        latest = np.searchsorted(own, whole, side="right") - 1
        grid[row, own[0] : own[-1] + 1] = machine.values[latest]
        distinct = len(np.unique(own))
        repairs["gaps filled with the value before"] += len(whole) - distinct
        repairs["samples replaced by a later one"] += len(own) - distinct
    return grid, interval, repairs


def _beat(machines: Sequence[MachineSamples]) -> float:
    """The usual time between two samples."""
    gaps = np.concatenate([np.diff(machine.times) for machine in machines])
    gaps = gaps[gaps > 0]
    return float(np.median(gaps)) if len(gaps) else DEFAULT_INTERVAL_S


def _slots(times: Floats, start: float, interval: float) -> NDArray[np.int64]:
    first = round(float(times[0] - start) / interval)
    return np.asarray(first + np.rint((times - times[0]) / interval), dtype=np.int64)


def checked(recording: Recording, where: str) -> Recording:
    """The recording without memory beyond the allocation; refuse what cannot be shares."""
    _refuse_percent(recording.cpu, "CPU", recording, where)
    if recording.memory is None:
        return recording
    _refuse_percent(recording.memory, "memory", recording, where)
    beyond = {"samples of memory beyond the allocation cut": int(np.sum(recording.memory > 1))}
    memory = np.minimum(recording.memory, 1.0)
    return structs.replace(recording, memory=memory, repairs={**recording.repairs, **beyond})


def _refuse_percent(shares: Floats, what: str, recording: Recording, where: str) -> None:
    if not shares.size:
        raise ConfigError(f"{where}: there is nothing recorded in it")
    wrong = ~((shares >= 0) & (shares <= MOST)).all(axis=1)  # also where it is not a number
    if wrong.any():
        raise ConfigError(
            f"{where}: {what} of {recording.names[int(np.argmax(wrong))]!r} leaves 0..{MOST:g}; "
            "write shares of the allocation (0.25), not percent (25)"
        )
