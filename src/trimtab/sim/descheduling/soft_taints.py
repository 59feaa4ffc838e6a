"""The soft tainter: taints that ask the scheduler to prefer the under-utilised nodes.

It runs right after each descheduling cycle on the same classes. So the descheduler meets
taints that are one interval old, and since it counts soft taints like hard ones, a node
that was not under-utilised a minute ago is no destination to it.
"""

import numpy as np
from numpy.typing import NDArray

from trimtab.sim.placement.cluster import Cluster
from trimtab.virt.soft_taints import NodeClass, keys_of

_KINDS: tuple[NodeClass, ...] = ("under", "appropriate", "over")
"""By class: -1, 0, 1."""


def taint(cluster: Cluster, classes: NDArray[np.int8]) -> bool:
    """Give every node as many taints as its class gets; says whether any node changed."""
    some_under = bool((classes < 0).any())
    counts = np.array([len(keys_of(kind, some_under=some_under)) for kind in _KINDS])
    wanted = cluster.fleet.soft_taints + counts[classes.astype(np.int64) + 1]
    if np.array_equal(wanted, cluster.soft_taints):
        return False
    cluster.soft_taints = wanted
    return True
