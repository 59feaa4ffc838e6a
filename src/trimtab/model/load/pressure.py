"""The pressure curve: how much a node's tasks wait (PSI), from how much of the node is used.

Real PSI comes from the kernel; here it is a documented function of utilisation so that
simulator and exporter agree. Nothing to speak of below the knee, a straight rise to the
high mark, a steep one to full use, and beyond that (CPU only) as demand exceeds the node.
"""

import math

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from trimtab.errors import ConfigError


class PressureCurve(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Pressure as a function of utilisation: continuous, never falling, within [0, 1]."""

    knee: tuple[float, float] = (0.70, 0.05)
    """A utilisation and the pressure there; up to here it rises gently from 0."""
    high: tuple[float, float] = (0.90, 0.20)
    """A utilisation and the pressure there; a straight line from the knee, then a parabola."""
    full_pressure: float = 0.80
    """The pressure when everything is used."""
    overload_slope: float = 0.50
    """Further pressure for demand beyond that: so much for as much again."""

    def __post_init__(self) -> None:
        (knee, low), (high, middle) = self.knee, self.high
        if not (0 < knee < high < 1 and 0 <= low <= middle <= self.full_pressure <= 1):
            raise ConfigError(
                "pressure: knee, high and fullPressure must rise and stay within 0..1"
            )
        if not 0 <= self.overload_slope < math.inf:
            raise ConfigError("pressure: overloadSlope must be finite and not negative")


DEFAULT_PRESSURE = PressureCurve()


def pressure(
    utilisation: NDArray[np.float64], curve: PressureCurve = DEFAULT_PRESSURE
) -> NDArray[np.float64]:
    """The pressure at each utilisation (1 = everything used; CPU demand may exceed 1)."""
    (knee, low), (high, middle) = curve.knee, curve.high
    used = np.maximum(utilisation, 0.0).ravel()
    total = np.asarray(used * (low / knee), dtype=np.float64)
    # Few nodes are above the knee, fewer above the high mark: the rest is for them alone.
    above = (used >= knee).nonzero()[0]
    if len(above):
        some = used[above]
        rise = np.interp(some, [knee, high], [low, middle])
        busy = (some > high).nonzero()[0]
        over = some[busy]
        steep = np.clip((over - high) / (1.0 - high), 0.0, 1.0)
        overload = curve.overload_slope * np.maximum(over - 1.0, 0.0)
        rise[busy] = np.minimum(
            rise[busy] + (curve.full_pressure - middle) * steep**2 + overload, 1.0
        )
        total[above] = rise
    return total.reshape(np.shape(utilisation))
