"""Splits time at each change of placement and hands the pieces to meter and sensor.

A slice of time falls into pieces wherever a replica's placement changes inside it. Pieces
that end within the slice are kept as they occur; at its end the rest of it is one more
piece for every replica, and all of them are accounted for at once.
"""

from collections.abc import Sequence

import numpy as np

from trimtab.model.load.pressure import pressure
from trimtab.model.load.pressure_curve import PressureCurve
from trimtab.sim.descheduling.sensor import Pieces
from trimtab.sim.fleet import Flags, Fleet, Floats, Numbers
from trimtab.sim.loads import Loads
from trimtab.sim.measures.meter import Meter
from trimtab.sim.placement.cluster import ReplicaPlacement


class Sums:
    """Loads of all nodes of all replicas: (replicas, nodes + 1), the last being nowhere."""

    def __init__(self, fleet: Fleet, replicas: int, curve: PressureCurve) -> None:
        self._fleet, self._curve = fleet, curve
        self.where: Numbers = np.empty((replicas, fleet.vms), dtype=np.intp)
        self.cpu: Floats = np.zeros((replicas, fleet.nodes + 1))
        self.memory: Floats = np.zeros((replicas, fleet.nodes + 1))

    def shares(self) -> tuple[Floats, Floats]:
        """CPU and memory in use as shares of the nodes: (replicas, nodes) each."""
        fleet = self._fleet
        return self.cpu[:, :-1] / fleet.cpu_capacity, self.memory[:, :-1] / fleet.memory_capacity

    def inputs(self, cpu: Floats | None = None, memory: Floats | None = None) -> Floats:
        """What scores read, from these sums or the present ones: (rows, 4, nodes)."""
        cpu, memory = (self.cpu if cpu is None else cpu, self.memory if memory is None else memory)
        inputs = np.empty((len(cpu), 4, self._fleet.nodes))
        np.divide(cpu[:, :-1], self._fleet.cpu_capacity, out=inputs[:, 0])
        np.divide(memory[:, :-1], self._fleet.memory_capacity, out=inputs[:, 2])
        inputs[:, 1::2] = pressure(inputs[:, ::2], self._curve)
        return inputs


class Accounts:
    """Keeps the books of a batch."""

    def __init__(
        self,
        fleet: Fleet,
        loads: Loads,
        sums: Sums,
        clusters: Sequence[ReplicaPlacement],
        in_flight: bool,
    ) -> None:
        self._fleet, self._loads, self._sums, self._clusters = fleet, loads, sums, clusters
        self._in_flight = in_flight
        self._inner: list[tuple[int, float, float, Floats, Floats, Floats | None]] = []
        nothing = np.zeros((0, 0))
        self._last = nothing, nothing, nothing
        """Sums of CPU and memory at the end of the last slice, and their inputs."""
        self.meter = Meter(fleet, len(clusters))

    def change(self, r: int, start: float, end: float) -> None:
        """A replica is about to change within a slice: keep what was until then."""
        cpu, memory = self._sums.cpu[r].copy(), self._sums.memory[r].copy()
        self._inner.append((r, start, end, cpu, memory, self._moving(r)))
        self._serve(r, end - start)

    def close(self, starts: Sequence[float], start: float, end: float, ready: Flags) -> Pieces:
        """A slice is over; `starts` says since when nothing has changed in each replica."""
        for r, since in enumerate(starts):
            self._serve(r, end - since)
        self.meter.ask(self._loads.cpu, ready, end - start)
        known = self._last[2]
        pieces = self._pieces(starts, end)
        again = pieces.inputs is known
        self._inner.clear()
        self.meter.measure(pieces, ready, again=again)
        return pieces

    def _pieces(self, starts: Sequence[float], end: float) -> Pieces:
        inner, count = self._inner, len(starts)
        return Pieces(
            np.array([*(piece[0] for piece in inner), *range(count)], dtype=np.intp),
            np.array([*(piece[1] for piece in inner), *starts]),
            np.array([*(piece[2] for piece in inner), *([end] * count)]),
            self._inputs(count),
        )

    def _inputs(self, count: int) -> Floats:
        """Of the inner pieces and of the present; the last array again if nothing has changed."""
        sums, inner = self._sums, self._inner
        cpu, memory, known = self._last
        same = np.array_equal(sums.cpu, cpu) and np.array_equal(sums.memory, memory)
        if same and not inner and not self._in_flight:
            return known
        inputs = sums.inputs(
            np.concatenate([*(piece[3][None] for piece in inner), sums.cpu]),
            np.concatenate([*(piece[4][None] for piece in inner), sums.memory]),
        )
        if self._in_flight:
            moving = [piece[5] for piece in inner] + [self._moving(r) for r in range(count)]
            inputs = np.concatenate([inputs, np.stack([m for m in moving if m is not None])], 1)
        self._last = sums.cpu.copy(), sums.memory.copy(), inputs[-count:]
        return inputs

    def _serve(self, r: int, seconds: float) -> None:
        cpu, meter = self._sums.cpu[r], self.meter
        share = cpu[:-1] / self._fleet.cpu_capacity
        if cpu[-1] > 0.0:
            meter.miss(r, self._sums.where[r], self._loads.cpu, seconds)
        if cpu[-1] > 0.0 or np.maximum.reduce(share) > 1.0:
            residents = self._clusters[r].residents
            meter.serve(r, self._sums.where[r], residents, share, self._loads.cpu, seconds)
        if len(copies := self._clusters[r].copies):
            meter.copy(r, copies.vms, self._loads.cpu, seconds)

    def _moving(self, r: int) -> Floats | None:
        """Load arriving minus load leaving, as shares of each node: (2, nodes)."""
        return self._clusters[r].moving() if self._in_flight else None
