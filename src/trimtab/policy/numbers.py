"""The arithmetic of a cycle, on whole arrays: usage, percent, mean, thresholds, classes, caps.

Every function takes nodes on the last axis and any axes before it, so one call serves one
cluster `(nodes,)` or all replicas of a simulation `(replicas, nodes)`, with the same bits.
The bits are Go's on amd64: truncation toward zero, division before multiplication, and a
mean that is added up from left to right (NumPy's own sum adds in pairs).

Rule ids in parentheses are explained in docs/reference/policy.md.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Classes = NDArray[np.int8]

NO_NUMBER = np.iinfo(np.int64).min
"""What amd64 makes of NaN when it is converted to an integer (P8)."""


class NotANumberError(ValueError):
    """A sample is NaN: what follows differs between processors, so it is not simulated (P8)."""


def usage_of(values: Floats, nan: Literal["raise", "amd64"] = "raise") -> Integers:
    """Samples in [0, 1] as whole percents; everything below one percent is lost (P5)."""
    missing = np.isnan(values)
    if not missing.any():
        return (values * 100.0).astype(np.int64)
    if nan == "raise":
        raise NotANumberError
    filled: Integers = (np.where(missing, 0.0, values) * 100.0).astype(np.int64)
    filled[missing] = NO_NUMBER
    return filled


def percent_of(used: Integers, capacity: Integers | int) -> Floats:
    """Percent of capacity; 0 where there is none. 28 of 100 is 28.000000000000004 (T1)."""
    whole = np.asarray(capacity, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        percent: Floats = used.astype(np.float64) / whole * 100.0
    if (whole > 0).all():
        return percent
    return np.where(whole > 0, percent, 0.0)


def mean_of(percent: Floats) -> Floats:
    """The plain mean, added up in the order of the nodes (T4, T5); shape without the last axis."""
    mean: Floats = np.add.accumulate(percent, axis=-1)[..., -1] / np.float64(percent.shape[-1])
    return mean


def around(mean: float, low: float, high: float) -> tuple[float, float]:
    """Widen one mean by `low` points below and `high` above, clamped to 0..100 (T4).

    With a mean of 90 and a high of 10 nothing can be over-utilised any more (C5).
    """
    return min(max(mean - low, 0.0), 100.0), min(max(mean + high, 0.0), 100.0)


def thresholds_around(mean: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """`around` for many means at once."""
    below: Floats = np.minimum(np.maximum(mean - low, 0.0), 100.0)
    above: Floats = np.minimum(np.maximum(mean + high, 0.0), 100.0)
    return below, above


def classify_nodes(
    percent: Floats, low: Floats | float, high: Floats | float, schedulable: Flags
) -> Classes:
    """-1 under, 0 appropriate, 1 over (`Class`), for one resource (C1–C4).

    Under is tested first and includes the threshold; over does not. A cordoned node is
    never under. `low` and `high` have the shape of `mean_of`.
    """
    return combine_classes(
        percent <= np.asarray(low)[..., None], percent > np.asarray(high)[..., None], schedulable
    )


def combine_classes(below: Flags, above: Flags, schedulable: Flags) -> Classes:
    """First match wins: under, then over (C1)."""
    under = below & schedulable
    return (above & ~under).astype(np.int8) - under.astype(np.int8)


def cap(high: float, capacity: int) -> int:
    """Capacity up to the threshold in whole units, truncated: 29 % of 100 is 28 (E1)."""
    return int(high * 0.01 * float(capacity))


def caps_of(high: Floats | float, capacity: Integers | int) -> Integers:
    """`cap` for many thresholds or nodes at once."""
    scaled = np.asarray(high, dtype=np.float64) * 0.01 * np.asarray(capacity, dtype=np.float64)
    caps: Integers = scaled.astype(np.int64)
    return caps
