"""Energy: what the nodes draw, so that ESV can be told.

A straight line from idle to full, by cores: measured servers come within a few per cent of
it (Fan, Weber and Barroso, 2007). Nobody switches nodes off here, so the idle part is the same
for every candidate on a scenario, and what differs is the CPU that was served.
"""

import numpy as np

from trimtab.model.machines import REFERENCE_CPU
from trimtab.sim.fleet import UNITS, Floats

IDLE_W_PER_CORE = 4.0
FULL_W_PER_CORE = 10.0
"""128 W and 320 W for the reference node of 32 cores."""
_CORES_PER_UNIT = float(REFERENCE_CPU) / UNITS
_J_PER_KWH = 3.6e6


def energy_kwh(capacity: Floats, seconds: Floats, served: float) -> float:
    """What nodes with `capacity` draw that are there for `seconds` and serve `served`.

    capacity, seconds: (nodes,) units of CPU, time without loss; served: units times seconds.
    """
    idle = float(np.dot(capacity, seconds)) * IDLE_W_PER_CORE
    busy = served * (FULL_W_PER_CORE - IDLE_W_PER_CORE)
    return (idle + busy) * _CORES_PER_UNIT / _J_PER_KWH
