"""What a migration costs: the seconds of its pre-copy, and whether it would end at all.

The copy of M bytes at B bytes a second, while the guest changes D bytes a second, takes
M / (B - D) seconds. B is learnt from earlier migrations, or what the cluster allows.
"""

from math import inf

import numpy as np
from msgspec import Struct

from trimtab.balance.problem import Floats
from trimtab.virt.migration_backoff import completion_limit_s

MIB = 1024.0**2
DEFAULT_BANDWIDTH = 1024 * MIB
"""Bytes a second where nothing was learnt yet and no limit is set: about a 10 Gbit/s card."""


class MigrationCost(Struct, frozen=True):
    """The transfer rate that predictions use, in bytes a second, and where it comes from."""

    bandwidth: float = DEFAULT_BANDWIDTH
    source: str = "assumed: no migration was measured yet"


def predicted_seconds(resident: Floats, dirty_rate: Floats, cost: MigrationCost) -> Floats:
    """(V,) seconds of pre-copy; infinite where the guest changes memory as fast as it is sent."""
    rate = cost.bandwidth - dirty_rate
    seconds = np.full(len(resident), inf)
    np.divide(resident, rate, out=seconds, where=rate > 0)
    return seconds


def hardly_converges(
    resident: Floats, dirty_rate: Floats, cost: MigrationCost, share: float
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """(V,) VMs that would hardly end: too dirty, or longer than KubeVirt waits."""
    seconds = predicted_seconds(resident, dirty_rate, cost)
    limit = completion_limit_s(1.0) * resident
    return np.asarray((dirty_rate >= share * cost.bandwidth) | (seconds > np.maximum(limit, 1.0)))
