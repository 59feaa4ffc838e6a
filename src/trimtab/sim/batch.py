"""The closed loop for several seeds at once.

All seeds share the scenario's loads and the moments of decisions, so sums, scores and
measurements are arrays over replicas; only what differs (who moves where, when a copy is
done) goes replica by replica. A replica's numbers do not depend on who else is in the batch.
"""

from collections.abc import Sequence

import numpy as np

from trimtab.model.pressure import pressure
from trimtab.scores import find_score
from trimtab.sim.bounds import Bounds, lower_bounds
from trimtab.sim.card import report_card
from trimtab.sim.cluster import Cluster, recount
from trimtab.sim.descheduler import Descheduler, Verdict, limits_of
from trimtab.sim.eyes import Wardrobe
from trimtab.sim.fleet import Fleet, Floats
from trimtab.sim.loads import Loads
from trimtab.sim.meter import Meter
from trimtab.sim.outcome import Outcome
from trimtab.sim.policies import policy_of
from trimtab.sim.recorder import Recorder
from trimtab.sim.replica import Replica
from trimtab.sim.sensor import Pieces, Sensor
from trimtab.sim.soft_taints import taint
from trimtab.sim.spec import RunSpec
from trimtab.sim.timeline import Happening, Slice, Timeline


class Batch:
    """One run per seed, in step."""

    def __init__(self, spec: RunSpec, seeds: Sequence[int]) -> None:
        self._spec, self._fleet = spec, Fleet(spec.scenario)
        self._timeline = Timeline(spec.scenario, spec.timing)
        self._loads = Loads(self._fleet, self._timeline.edges)
        count, width = len(seeds), self._fleet.nodes + 1
        self._where = np.empty((count, self._fleet.vms), dtype=np.intp)
        self._cpu, self._memory = np.zeros((count, width)), np.zeros((count, width))
        clusters = [
            Cluster(self._fleet, self._loads, self._where[r], self._cpu[r], self._memory[r])
            for r in range(count)
        ]
        self._clusters = clusters
        self._replicas = [
            Replica(spec, seed, cluster, self._changing)
            for seed, cluster in zip(seeds, clusters, strict=True)
        ]
        self._number = {id(replica): r for r, replica in enumerate(self._replicas)}
        self._counted = -1
        self._recount()
        self._meter = Meter(self._fleet, count)
        self._recorder = Recorder(self._timeline.cycles, count, self._fleet.nodes)
        self._inner: list[tuple[int, float, float, Floats, Floats]] = []
        self._errors: list[list[str]] = [_unplaced(replica) for replica in self._replicas]
        self._before = [replica.placement() for replica in self._replicas]
        self._observe(seeds)

    def _observe(self, seeds: Sequence[int]) -> None:
        """Set up the descheduler, unless the run is about doing nothing."""
        spec = self._spec
        policy, wardrobe = policy_of(spec), Wardrobe(self._fleet)
        self._bounds = [self._bound(r, limits_of(policy)) for r in range(len(seeds))]
        self._sensor: Sensor | None = None
        self._deschedulers: list[Descheduler] = []
        if spec.score is None:
            return
        self._sensor = Sensor(
            find_score(spec.score), self._fleet.node_names, spec.timing, list(seeds)
        )
        self._sensor.start_with(self._inputs(self._cpu, self._memory))
        self._deschedulers = [
            Descheduler(spec, policy, self._fleet, wardrobe, replica) for replica in self._replicas
        ]

    def _bound(self, replica: int, limits: tuple[int | None, int | None]) -> Bounds:
        where, loads = self._where[replica], self._loads
        return lower_bounds(self._fleet, where, loads.cpu, loads.memory, limits)

    def run(self) -> list[Outcome]:
        for slice_ in self._timeline.slices():
            self._enter(slice_)
            if slice_.cycle is not None:
                self._cycle(slice_.cycle)
            for replica in self._replicas:
                replica.begin()
                replica.advance(slice_.end)
            self._close(slice_)
        return [self._outcome(r) for r in range(len(self._replicas))]

    # --- a slice ---

    def _enter(self, slice_: Slice) -> None:
        """What is due at its start, then its loads."""
        for replica in self._replicas:
            replica.catch_up()
        for happening in slice_.happenings:
            self._happen(happening)
        self._loads.enter(slice_.number)
        self._recount()

    def _recount(self) -> None:
        if self._counted != self._loads.version:
            recount(self._clusters, self._where, self._cpu, self._memory)
            self._counted = self._loads.version

    def _happen(self, happening: Happening) -> None:
        fleet, what = self._fleet, happening.what
        if what in ("arrive", "depart"):
            vm = fleet.vm_number[happening.name]
            if what == "depart":
                for replica in self._replicas:
                    replica.depart(vm)
            self._loads.set_present(vm, what == "arrive")
            self._recount()
            if what == "arrive":
                for replica in self._replicas:
                    replica.arrive(vm)
            return
        node = fleet.node_number[happening.name]
        for replica in self._replicas:
            {
                "fail": replica.lose,
                "give-up": replica.give_up_on,
                "recover": replica.recover,
                "drain": replica.drain,
                "undrain": replica.undrain,
            }[what](node)
        for descheduler in self._deschedulers:
            descheduler.look_again()

    def _cycle(self, cycle: int) -> None:
        """One descheduling cycle in every replica."""
        ready = ~self._clusters[0].lost
        cpu, memory = self._shares(self._cpu, self._memory)
        self._recorder.use(cycle, cpu, memory, ready)
        if self._sensor is None:
            return
        now = float(self._timeline.cycles[cycle])
        scores = self._sensor.scores(now, ready)
        self._recorder.score[:, cycle] = scores
        for r, (replica, descheduler) in enumerate(
            zip(self._replicas, self._deschedulers, strict=True)
        ):
            replica.sweep()
            verdict = descheduler.decide(cycle, scores[r])
            self._obey(r, cycle, verdict)

    def _obey(self, r: int, cycle: int, verdict: Verdict) -> None:
        replica, descheduler = self._replicas[r], self._deschedulers[r]
        self._recorder.classes[r, cycle] = verdict.classes
        self._recorder.thresholds[r, cycle] = verdict.low, verdict.high
        descheduler.restrained.learn(verdict.classes)
        for vm in verdict.evicted:
            replica.evict(vm)
        if verdict.error:
            self._errors[r].append(f"cycle {cycle} at {replica.now:g} s: {verdict.error}")
        if self._spec.placement == "soft-taints" and taint(replica.cluster, verdict.classes):
            descheduler.look_again()

    # --- time that has passed ---

    def _changing(self, replica: Replica, until: float) -> None:
        """A replica is about to change within a slice: keep what was until then."""
        r = self._number[id(replica)]
        self._inner.append((r, replica.now, until, self._cpu[r].copy(), self._memory[r].copy()))
        self._serve(r, self._cpu[r], until - replica.now)

    def _close(self, slice_: Slice) -> None:
        """Account for the slice: the pieces before changes, and the rest of it for everyone."""
        count = len(self._replicas)
        starts = np.array([replica.now for replica in self._replicas])
        for r, replica in enumerate(self._replicas):
            self._serve(r, self._cpu[r], slice_.end - replica.now)
            replica.now = slice_.end
        owner = np.array([piece[0] for piece in self._inner] + list(range(count)), dtype=np.intp)
        pieces = Pieces(
            owner,
            np.concatenate([[piece[1] for piece in self._inner], starts]),
            np.concatenate([[piece[2] for piece in self._inner], np.full(count, slice_.end)]),
            self._inputs(
                np.concatenate([*(piece[3][None] for piece in self._inner), self._cpu]),
                np.concatenate([*(piece[4][None] for piece in self._inner), self._memory]),
            ),
        )
        self._inner.clear()
        self._meter.ask(self._loads.cpu, slice_.end - slice_.start)
        self._meter.measure(pieces, ~self._clusters[0].lost)
        if self._sensor is not None:
            self._sensor.remember(pieces)

    def _serve(self, r: int, cpu: Floats, seconds: float) -> None:
        share = cpu[:-1] / self._fleet.cpu_capacity
        if cpu[-1] > 0.0 or (share > 1.0).any():
            self._meter.serve(r, self._where[r], share, self._loads.cpu, seconds)
        for vm in self._clusters[r].landing:
            self._meter.copy(r, vm, float(self._loads.cpu[vm]), seconds)

    def _shares(self, cpu: Floats, memory: Floats) -> tuple[Floats, Floats]:
        fleet = self._fleet
        return cpu[:, :-1] / fleet.cpu_capacity, memory[:, :-1] / fleet.memory_capacity

    def _inputs(self, cpu: Floats, memory: Floats) -> Floats:
        """Sums (rows, nodes + 1) as the columns that scores read: (rows, nodes, 4)."""
        curve = self._spec.scenario.pressure
        shares = self._shares(cpu, memory)
        inputs = np.empty((*shares[0].shape, 4))
        for column, share in enumerate(shares):
            inputs[..., 2 * column] = share
            inputs[..., 2 * column + 1] = pressure(share, curve)
        return inputs

    # --- the end ---

    def _outcome(self, r: int) -> Outcome:
        replica, course = self._replicas[r], self._recorder.course(r)
        unfinished = replica.migrations.unfinished(replica.now)
        card = report_card(
            self._meter, r, replica.migrations, course, self._recorder.ready, self._bounds[r]
        )
        return Outcome(
            card=card,
            course=course,
            moves=(*replica.migrations.moves, *unfinished),
            placement_before=self._before[r],
            placement_after=replica.placement(),
            errors=tuple(self._errors[r]),
        )


def _unplaced(replica: Replica) -> list[str]:
    """A line for the VMs that fit nowhere at the start."""
    if not replica.unplaced:
        return []
    name = replica.cluster.fleet.vm_names[replica.unplaced[0]]
    more = f" and {len(replica.unplaced) - 1} more" if len(replica.unplaced) > 1 else ""
    return [f"start: {name}{more} found no node with room and wait"]
