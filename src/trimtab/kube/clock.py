"""How fast time goes: the ConfigMap trimtab-system/clock, which a lab writes and services follow.

The lab's time, which is also the load curves', is (now - epoch) * scale. In a cluster without
the ConfigMap it is the real one. Counters do not follow it: they advance in real seconds,
because Prometheus divides them by real seconds.
"""

import math

from msgspec import Struct

from trimtab.errors import ConfigError
from trimtab.kube.resources import ConfigMap
from trimtab.model.names import SYSTEM_NAMESPACE
from trimtab.obs import get_logger

log = get_logger()

NAMESPACE, NAME = SYSTEM_NAMESPACE, "clock"


class Clock(Struct, frozen=True):
    """`scale` seconds of the lab pass in each real one, counted from `epoch`."""

    epoch: float = 0.0
    scale: float = 1.0

    def lab_s(self, now: float) -> float:
        """The lab's time at a moment in seconds since 1970."""
        return (now - self.epoch) * self.scale

    def real_s(self, lab_s: float) -> float:
        """How long a duration of the lab takes."""
        return lab_s / self.scale


class ClockReader:
    """The newest clock that made sense: one that is lost or wrong is told once, and not followed.

    A jump to another scale would move every load curve and stretch every time-out.
    """

    def __init__(self) -> None:
        self._last: Clock | None = None
        self._told = ""

    def read(self, config: ConfigMap | None) -> Clock:
        """The clock that the ConfigMap sets, or the last one; without any, the real time."""
        problem = ""
        if config is not None:
            try:
                self._last = clock_from(config)
            except ConfigError as error:
                problem = str(error)
        elif self._last is not None:
            problem = f"ConfigMap {NAMESPACE}/{NAME} is gone"
        clock = self._last or Clock()
        if problem and problem != self._told:
            log.warning("clock ignored", error=problem, scale=clock.scale, epoch=clock.epoch)
        self._told = problem
        return clock


def clock_from(config: ConfigMap | None) -> Clock:
    """The clock that a ConfigMap sets; a ConfigError names what is wrong with it."""
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
