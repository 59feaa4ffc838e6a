"""How fast time goes for load curves: the ConfigMap trimtab-system/clock.

Curve time is (now - epoch) * scale. Counters do not follow it: they advance in real seconds,
because Prometheus divides them by real seconds.
"""

import math

from msgspec import Struct

from trimtab.errors import ConfigError
from trimtab.kube.resources import ConfigMap

NAMESPACE, NAME = "trimtab-system", "clock"


class Clock(Struct, frozen=True):
    """`scale` seconds of curve time pass in each real one, counted from `epoch`."""

    epoch: float = 0.0
    scale: float = 1.0

    def curve_time(self, now: float) -> float:
        """The curves' time at a moment in seconds since 1970."""
        return (now - self.epoch) * self.scale


def clock_from(config: ConfigMap | None) -> Clock:
    """The clock that a ConfigMap sets; without one curves count from 1970 in real time."""
    if config is None:
        return Clock()
    try:
        clock = Clock(float(config.data["epoch"]), float(config.data["scale"]))
    except (KeyError, ValueError) as error:
        raise ConfigError(
            f"ConfigMap {config.metadata.key}: epoch and scale must be numbers ({error!r})"
        ) from error
    if not (clock.scale > 0 and math.isfinite(clock.scale) and math.isfinite(clock.epoch)):
        raise ConfigError(f"ConfigMap {config.metadata.key}: scale must be above 0, both finite")
    return clock
