"""The shape of the pressure curve, as scenarios and options give it; `pressure` evaluates it."""

import math

from msgspec import Struct

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
