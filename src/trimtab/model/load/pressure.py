"""The pressure curve: how much a node's tasks wait (PSI), from how much of the node is used.

Real PSI comes from the kernel; here it is a documented function of utilisation so that
simulator and exporter agree. Nothing to speak of below the knee, a straight rise to the
high mark, a steep one to full use, and beyond that (CPU only) as demand exceeds the node.
"""

import numpy as np
from numpy.typing import NDArray

from trimtab.model.load.pressure_curve import DEFAULT_PRESSURE, PressureCurve


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
