"""Load over time: how much of its allocation a VM uses at each moment.

A curve is a value, so the simulator, the exporter and a pod's annotation share it. Time is
in seconds from the scenario's start. Every curve has a value at an instant and a mean over
an interval in closed form (`curve_means`); nothing is sampled. All are piecewise smooth and never
negative. Means are computed by NumPy, a seventh of what a service costs that only reads VMs to
start, so it is loaded where a mean is wanted.
"""

import math
from bisect import bisect_right
from operator import itemgetter
from typing import Any

from trimtab.model.load.curve_kinds import (
    DAY_S,
    Constant,
    Curve,
    Diurnal,
    Spikes,
    Steps,
    Trace,
    check_curve,
    levels,
)

__all__ = [
    "DAY_S",
    "Constant",
    "Curve",
    "Diurnal",
    "Spikes",
    "Steps",
    "Trace",
    "chance",
    "check_curve",
    "levels",
    "overall_mean",
    "value_at",
]

_64_BITS = 2**64 - 1


def value_at(curve: Curve, time: float) -> float:
    """The curve's value at `time` seconds (before 0: as at 0)."""
    time = max(time, 0.0)
    match curve:
        case Constant():
            return curve.value
        case Diurnal():
            swing = math.cos(2 * math.pi * (time - curve.peak_at) / curve.period)
            return (curve.high + curve.low) / 2 + (curve.high - curve.low) / 2 * swing
        case Spikes():
            slot = math.floor((time - curve.delay) / curve.every)
            offset = chance(slot % 2**64, curve.seed) * (curve.every - curve.lasts)
            start = slot * curve.every + offset
            spiking = start <= time - curve.delay < start + curve.lasts
            return curve.peak if spiking else curve.base
        case Steps():
            within = time - curve.delay
            if curve.repeat is not None:
                within %= curve.repeat
            index = bisect_right(curve.points, within, key=itemgetter(0)) - 1
            return curve.points[max(index, 0)][1]
        case Trace():
            index, count = int(time // curve.interval), len(curve.values)
            return curve.values[index % count if curve.repeat else min(index, count - 1)]


def overall_mean(curve: Curve) -> float:
    """The mean over one period; without one, over the points or values as they are given.

    The last of several points is then held as long as the others are on average.
    """
    match curve:
        case Constant():
            return curve.value
        case Diurnal():
            return (curve.low + curve.high) / 2
        case Spikes():
            return curve.base + (curve.peak - curve.base) * curve.lasts / curve.every
        case Trace():
            from numpy import mean as arithmetic_mean

            return float(arithmetic_mean(curve.values))
        case Steps():
            from trimtab.model.load.curve_means import mean

            last, count = curve.points[-1][0], len(curve.points)
            span = curve.repeat or (last * count / (count - 1) if count > 1 else 1.0)
            return mean(curve, curve.delay, curve.delay + span)


def chance(slot: Any, seed: int) -> Any:
    """A number in [0, 1) for a slot: a hash (splitmix64), so any moment costs the same.

    For a whole number or an array of uint64 alike: the exporter asks for one moment at a
    time, where an array of one costs more than twice as much.
    """
    mixed = (slot + seed * 0x9E3779B97F4A7C15 % 2**64) & _64_BITS
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = ((mixed ^ (mixed >> shift)) * factor) & _64_BITS
    return ((mixed ^ (mixed >> 31)) >> 11) / 2**53
