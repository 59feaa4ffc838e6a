"""What is measured while time passes: integrals over every piece of every replica.

Definitions: docs/reference/metrics.md. All arrays have one row per replica; a piece is
added to the row of its owner in order of time, so a replica's sums do not depend on who
else is in the batch.
"""

from functools import lru_cache

import numpy as np

from trimtab.sim.descheduling.sensor import Pieces
from trimtab.sim.fleet import Flags, Fleet, Floats, Numbers
from trimtab.sim.placement.residents import Residents

MIGRATION_LOSS = 0.10
"""The share of its CPU that a VM loses while its memory is copied."""
FIGURES = (
    "cpu_std",
    "memory_std",
    "cpu_cv",
    "max_over_mean",
    "gini",
    "spread",
    "overload",
    "pressure",
)


class Meter:
    """Running integrals of a batch."""

    def __init__(self, fleet: Fleet, replicas: int) -> None:
        self._fleet = fleet
        self.cpu_capacity = fleet.cpu_capacity
        self.seconds = 0.0
        self._figures: Floats = np.zeros((replicas, len(FIGURES)))
        self.full: Floats = np.zeros((replicas, fleet.nodes))
        """Node-seconds with all CPU used."""
        self.active: Floats = np.zeros((replicas, fleet.nodes))
        """Node-seconds with VMs on the node."""
        self.down = np.zeros(replicas)
        """VM-seconds of VMs that should run and do not."""
        self.there: Floats = np.zeros(fleet.nodes)
        """Seconds in which each node was not lost; the same in every replica."""
        self.demand: Floats = np.zeros(fleet.vms)
        """CPU that each VM asked for, in units times seconds; the same in every replica."""
        self.unserved: Floats = np.zeros((replicas, fleet.vms))
        self.lost_to_migration: Floats = np.zeros((replicas, fleet.vms))
        self.last_cpu_std = np.zeros(replicas)
        self._last: tuple[Flags, Floats] | None = None
        """Which nodes were ready in the last pieces of all replicas, and the figures of these."""
        self._asked: Floats = np.empty(fleet.vms)

    def served(self, replica: int) -> float:
        """CPU that the VMs got, in units times seconds."""
        return float(self.demand.sum() - self.unserved[replica].sum())

    def integral(self, figure: str, replica: int) -> float:
        """The time integral of one of `FIGURES`."""
        return float(self._figures[replica, FIGURES.index(figure)])

    def ask(self, cpu: Floats, ready: Flags, seconds: float) -> None:
        """Every VM asked for its load during a slice, of the nodes that were ready."""
        self.demand += np.multiply(cpu, seconds, out=self._asked)
        self.there += ready * seconds
        self.seconds += seconds

    def measure(self, pieces: Pieces, ready: Flags, *, again: bool) -> None:
        """Balance and contention of the nodes that are there.

        again: the inputs are those of the last pieces that were measured.
        """
        if not ready.any():
            self._last = None
            return
        passed = (pieces.end - pieces.start)[:, None]
        figures = self._measured(pieces.inputs, ready, again)
        pieces.add(figures * passed, self._figures)
        self.last_cpu_std[:] = figures[-len(self.last_cpu_std) :, 0]
        cpu = pieces.inputs[:, 0]
        pieces.add((cpu > 0.0) * passed, self.active)
        if (full := cpu >= 1.0).any():
            pieces.add(full * passed, self.full)

    def _measured(self, inputs: Floats, ready: Flags, again: bool) -> Floats:
        """The figures of each piece; those of the last pieces if they are measured again."""
        if again and self._last is not None and np.array_equal(ready, self._last[0]):
            return self._last[1]
        figures = measured(inputs if ready.all() else inputs[:, :, ready])
        self._last = ready, figures[-len(self.last_cpu_std) :]
        return figures

    def serve(
        self,
        replica: int,
        where: Numbers,
        residents: Residents,
        cpu_share: Floats,
        demand: Floats,
        seconds: float,
    ) -> None:
        """Who got less than they asked for: a full node serves all its VMs in proportion.

        where: (vms,) node of each, nowhere being the last; cpu_share: (nodes,).
        """
        nowhere = len(cpu_share)
        full = (cpu_share > 1.0).nonzero()[0]  # few, even among 100,000
        missing_s = np.zeros(nowhere + 1)
        missing_s[full] = (1.0 - 1.0 / cpu_share[full]) * seconds
        missing_s[nowhere] = seconds
        some = residents.on_any(np.append(full, nowhere))
        self.unserved[replica, some] += demand[some] * missing_s[where[some]]

    def miss(self, replica: int, where: Numbers, demand: Floats, seconds: float) -> None:
        """Some VMs should run and do not."""
        nowhere = where == self._fleet.nodes
        self.down[replica] += np.count_nonzero(demand[nowhere]) * seconds

    def copy(self, replica: int, vms: Numbers, demand: Floats, seconds: float) -> None:
        """Some VMs were slowed down while their memory was copied."""
        self.lost_to_migration[replica, vms] += MIGRATION_LOSS * demand[vms] * seconds


def measured(inputs: Floats) -> Floats:
    """All `FIGURES` of each row of inputs (rows, columns, nodes): (rows, figures).

    Spelled out with bare reductions: NumPy's `mean` and `std` take three times as long for
    a hundred nodes, and this runs in every cycle.
    """
    count = inputs.shape[2]
    shares, figures = inputs[:, :4:2], np.empty((len(inputs), len(FIGURES)))
    mean = np.add.reduce(shares, axis=2) / count
    apart = shares - mean[:, :, None]
    deviation = np.sqrt(np.add.reduce(np.square(apart, out=apart), axis=2) / count)
    largest = np.maximum.reduce(shares, axis=2)
    busy = mean[:, 0] > 0
    level = np.where(busy, mean[:, 0], 1.0)
    ordered = np.sort(shares[:, 0], axis=1)
    figures[:, 5] = largest[:, 0] - ordered[:, 0]
    ordered *= _ranks(count)
    differences = np.add.reduce(ordered, axis=1)  # half of all |xi - xj|
    figures[:, 0:2] = deviation
    figures[:, 2] = np.where(busy, deviation[:, 0] / level, 0.0)
    figures[:, 3] = np.where(busy, largest[:, 0] / level, 1.0)
    figures[:, 4] = np.where(busy, differences / (count**2 * level), 0.0)
    figures[:, 6] = 0.0
    if (largest > 1.0).any():
        over = np.subtract(shares, 1.0, out=apart)
        figures[:, 6] = np.add.reduce(np.maximum(over, 0.0, out=over), axis=(1, 2))
    figures[:, 7] = np.add.reduce(np.add.reduce(inputs[:, 1:4:2], axis=2), axis=1)
    return figures


@lru_cache(maxsize=4)
def _ranks(count: int) -> Floats:
    """How often each of `count` ordered values is added less how often it is subtracted."""
    return 2.0 * np.arange(1, count + 1, dtype=np.float64) - count - 1
