"""What keeps a VM where it is although its node is over-utilised.

Cooldown as in the plugin KubevirtMigrationAware: a VM that moved rests, twice as long with
each further move of the last two days, six hours at most. `consecutive` is hysteresis: a
node counts only when it was over-utilised so many cycles in a row.
"""

import numpy as np
from numpy.typing import NDArray

from trimtab.policy.pods.migration_aware import MigrationAware, cooldown_s
from trimtab.sim.fleet import Flags
from trimtab.sim.replica import Replica
from trimtab.sim.spec import Restraint


class Restrained:
    """The restraint of one replica, with each node's run of cycles above the threshold."""

    def __init__(self, restraint: Restraint, replica: Replica, nodes: int) -> None:
        self.restraint, self._replica = restraint, replica
        base_s = restraint.cooldown_s
        longest_s = max(MigrationAware().longest_cooldown_s, base_s)
        self._aware = MigrationAware(cooldown_s=base_s, longest_cooldown_s=longest_s)
        self._over_for = np.zeros(nodes, dtype=np.int64)

    def spares_node(self, node: int) -> bool:
        """True until the node was over-utilised in `consecutive` cycles in a row, this one too."""
        return bool(self._over_for[node] + 1 < self.restraint.consecutive)

    def spares_vm(self, vm: int, now: float) -> bool:
        history = self._replica.history.get(vm)
        if not history or self.restraint.cooldown_s <= 0.0:
            return False
        return now - history[-1][1] < cooldown_s(history, now, self._aware)

    @property
    def ripe(self) -> Flags:
        """(nodes,) over-utilised long enough, the cycle that was learnt last included."""
        return np.asarray(self._over_for >= self.restraint.consecutive)

    def learn(self, classes: NDArray[np.int8]) -> None:
        """After each cycle: which nodes were over-utilised in it."""
        self._over_for = np.where(classes > 0, self._over_for + 1, 0)
