"""The soft tainter: taints that ask the scheduler to prefer the under-utilised nodes.

It runs right after each descheduling cycle on the same classes. So the descheduler meets
taints that are one interval old, and since it counts soft taints like hard ones, a node
that was not under-utilised a minute ago is no destination to it.
"""

import numpy as np
from numpy.typing import NDArray

from trimtab.sim.placement.cluster import Cluster


def taint(cluster: Cluster, classes: NDArray[np.int8]) -> bool:
    """Two taints on over-utilised nodes, one on appropriate ones; says whether any changed.

    If no node is under-utilised the appropriate ones go without, so that some are preferred.
    """
    worn = np.clip(classes.astype(np.int64) + 1, 0, 2)
    if not (classes < 0).any():
        worn[classes == 0] = 0
    wanted = cluster.fleet.soft_taints + worn
    if np.array_equal(wanted, cluster.soft_taints):
        return False
    cluster.soft_taints = wanted
    return True
