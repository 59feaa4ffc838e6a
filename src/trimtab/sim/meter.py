"""What is measured while time passes: integrals over every piece of every replica.

Definitions: docs/reference/metrics.md. All arrays have one row per replica; a piece is
added to the row of its owner in order of time, so a replica's sums do not depend on who
else is in the batch.
"""

import numpy as np
from numpy.typing import NDArray

from trimtab.sim.fleet import Fleet, Floats
from trimtab.sim.sensor import Pieces

MIGRATION_LOSS = 0.10
"""The share of its CPU that a VM loses while its memory is copied."""
BALANCES = ("cpu_std", "memory_std", "cpu_cv", "max_over_mean", "gini", "spread")


class Meter:
    """Running integrals of a batch."""

    def __init__(self, fleet: Fleet, replicas: int) -> None:
        self._fleet = fleet
        self.seconds = 0.0
        self.balance = {name: np.zeros(replicas) for name in BALANCES}
        self.overload = np.zeros(replicas)
        self.pressure = np.zeros(replicas)
        self.full: Floats = np.zeros((replicas, fleet.nodes))
        """Node-seconds with all CPU used."""
        self.active: Floats = np.zeros((replicas, fleet.nodes))
        """Node-seconds with VMs on the node."""
        self.down = np.zeros(replicas)
        """VM-seconds of VMs that should run and do not."""
        self.demand: Floats = np.zeros(fleet.vms)
        """CPU that each VM asked for, in units times seconds; the same in every replica."""
        self.unserved: Floats = np.zeros((replicas, fleet.vms))
        self.lost_to_migration: Floats = np.zeros((replicas, fleet.vms))
        self.last_cpu_std = np.zeros(replicas)

    def ask(self, cpu: Floats, seconds: float) -> None:
        """Every VM asked for its load during a slice."""
        self.demand += cpu * seconds
        self.seconds += seconds

    def measure(self, pieces: Pieces, ready: NDArray[np.bool_]) -> None:
        """Balance and contention of the nodes that are there."""
        if not ready.any():
            return
        passed = pieces.end - pieces.start
        every = bool(ready.all())
        inputs = pieces.inputs if every else pieces.inputs[:, ready]
        cpu, memory = np.ascontiguousarray(inputs[..., 0]), np.ascontiguousarray(inputs[..., 2])
        for name, value in balance(cpu, memory).items():
            pieces.add(value * passed, self.balance[name])
            if name == "cpu_std":
                self.last_cpu_std[pieces.owner] = value
        over = np.maximum(cpu - 1.0, 0.0).sum(axis=1) + np.maximum(memory - 1.0, 0.0).sum(axis=1)
        pieces.add(over * passed, self.overload)
        waiting = np.ascontiguousarray(inputs[..., 1] + inputs[..., 3]).sum(axis=1)
        pieces.add(waiting * passed, self.pressure)
        self._occupy(pieces, passed)

    def _occupy(self, pieces: Pieces, passed: Floats) -> None:
        cpu = pieces.inputs[..., 0]
        pieces.add((cpu > 0.0) * passed[:, None], self.active)
        if (full := cpu >= 1.0).any():
            pieces.add(full * passed[:, None], self.full)

    def serve(
        self,
        replica: int,
        where: NDArray[np.intp],
        cpu_share: Floats,
        demand: Floats,
        seconds: float,
    ) -> None:
        """Who got less than they asked for: a full node serves all its VMs in proportion.

        where: (vms,) node of each, nowhere being the last; cpu_share: (nodes,).
        """
        with np.errstate(divide="ignore"):
            short = np.append(np.maximum(1.0 - 1.0 / cpu_share, 0.0), 1.0)
        self.unserved[replica] += demand * short[where] * seconds
        self.down[replica] += np.count_nonzero((where == len(cpu_share)) & (demand > 0)) * seconds

    def copy(self, replica: int, vm: int, demand: float, seconds: float) -> None:
        """A VM was slowed down while its memory was copied."""
        self.lost_to_migration[replica, vm] += MIGRATION_LOSS * demand * seconds


def _mean_and_deviation(values: Floats) -> tuple[Floats, Floats]:
    """Of each row; what `mean` and `std` do, in a third of their time for a hundred nodes."""
    count = values.shape[1]
    mean = np.add.reduce(values, axis=1) / count
    apart = values - mean[:, None]
    return mean, np.sqrt(np.add.reduce(apart * apart, axis=1) / count)


def balance(cpu: Floats, memory: Floats) -> dict[str, Floats]:
    """How level the nodes are, for each row of (rows, nodes)."""
    count = cpu.shape[1]
    mean, spread = _mean_and_deviation(cpu)
    largest = cpu.max(axis=1)
    some = np.where(mean > 0, mean, 1.0)
    ranks = 2.0 * np.arange(1, count + 1) - count - 1
    differences = (np.sort(cpu, axis=1) * ranks).sum(axis=1)  # half of all |xi - xj|
    return {
        "cpu_std": spread,
        "memory_std": _mean_and_deviation(memory)[1],
        "cpu_cv": np.where(mean > 0, spread / some, 0.0),
        "max_over_mean": np.where(mean > 0, largest / some, 1.0),
        "gini": np.where(mean > 0, differences / (count**2 * some), 0.0),
        "spread": largest - cpu.min(axis=1),
    }
