"""The closed loop for several seeds at once.

All seeds share the scenario's loads and the moments of decisions, so sums, scores and
measurements are arrays over replicas; only what differs (who moves where, when a copy is
done) goes replica by replica. A replica's numbers do not depend on who else is in the batch.
"""

from collections.abc import Callable, Sequence

from trimtab.scores.own import choose_score
from trimtab.sim.descheduling.cycle import Control
from trimtab.sim.descheduling.descheduler import limits_of, policy_of
from trimtab.sim.fleet import Fleet, Floats
from trimtab.sim.loads import Loads
from trimtab.sim.measures.card import lower_bounds, report_card
from trimtab.sim.measures.pieces import Accounts, Sums
from trimtab.sim.measures.recorder import CourseRecorder
from trimtab.sim.outcome import Outcome
from trimtab.sim.placement.cluster import ReplicaPlacement, recount
from trimtab.sim.replica import Replica
from trimtab.sim.spec import RunSpec
from trimtab.sim.timeline import Slice, Timeline, TimelineEvent

Progress = Callable[[int, int], None]
"""Called with the cycle that was finished and the number of cycles."""

# Beyond this many VMs in all, more replicas in one batch cost memory and save no time.
VMS_PER_BATCH = 50_000


def simulate(
    spec: RunSpec, seeds: Sequence[int], progress: Progress | None = None
) -> list[Outcome]:
    """One outcome per seed, in order; the same bits however the seeds are grouped."""
    size = max(1, VMS_PER_BATCH // max(len(spec.scenario.vms), 1))
    return [
        outcome
        for start in range(0, len(seeds), size)
        for outcome in Batch(spec, seeds[start : start + size]).run(progress)
    ]


def simulate_one(spec: RunSpec, seed: int) -> Outcome:
    """The outcome of one seed."""
    return simulate(spec, [seed])[0]


class Batch:
    """One run per seed, in step. `clusters` and `sums` are theirs at the present moment."""

    def __init__(self, spec: RunSpec, seeds: Sequence[int]) -> None:
        score = None if spec.score is None else choose_score(spec.score)
        policy = policy_of(spec)
        fleet = self._fleet = Fleet(spec.scenario)
        self._timeline = Timeline(spec.scenario, spec.timing)
        loads = self._loads = Loads(fleet, self._timeline.edges)
        sums = self.sums = Sums(fleet, len(seeds), spec.scenario.pressure)
        self.clusters = [
            ReplicaPlacement(fleet, loads, *rows)
            for rows in zip(sums.where, sums.cpu, sums.memory, strict=True)
        ]
        in_flight = score is not None and score.reads_migrations
        self._accounts = Accounts(fleet, loads, sums, self.clusters, in_flight)
        self._replicas = [
            Replica(spec, seed, cluster, r, self._accounts.change)
            for r, (seed, cluster) in enumerate(zip(seeds, self.clusters, strict=True))
        ]
        self._counted: tuple[Floats | None, Floats | None] = (None, None)
        """The loads of VMs (CPU, memory) that the sums are made of."""
        self._recount()
        self._recorder = CourseRecorder(self._timeline.cycles, len(seeds), fleet.nodes)
        self._before = [replica.placement() for replica in self._replicas]
        self._bounds = [
            lower_bounds(fleet, where, loads.cpu, loads.memory, limits_of(policy))
            for where in sums.where
        ]
        self._control: Control | None = None
        if score is not None:
            self._control = Control(spec, score, policy, fleet, loads, self._replicas)
            self._control.start(sums)

    def run(self, progress: Progress | None = None) -> list[Outcome]:
        """The whole run, slice by slice; a descheduling cycle begins most of them."""
        for slice_ in self._timeline.slices():
            self._enter(slice_)
            if slice_.cycle is not None:
                self._decide_and_act(slice_.cycle)
            self._advance(slice_.end)
            self._close(slice_)
            if progress and slice_.cycle is not None:
                progress(slice_.cycle + 1, len(self._timeline.cycles))
        return [self._outcome(r) for r in range(len(self._replicas))]

    def _enter(self, slice_: Slice) -> None:
        """Do what is due at the start of a slice, then change to its loads."""
        for replica in self._replicas:
            replica.catch_up()
        for happening in slice_.happenings:
            self._happen(happening)
        self._loads.enter(slice_.number)
        self._recount()

    def _recount(self) -> None:
        loads, sums = self._loads, self.sums
        if loads.cpu is not self._counted[0] or loads.memory is not self._counted[1]:
            recount(self.clusters, sums.where, sums.cpu, sums.memory, self._counted)
            self._counted = loads.cpu, loads.memory

    def _happen(self, happening: TimelineEvent) -> None:
        match happening.what:
            case "arrive" | "depart":
                self._come_or_go(self._fleet.vm_number[happening.name], happening.what)
            case _:
                for replica in self._replicas:
                    replica.apply(happening.what, self._fleet.node_number[happening.name])
                if self._control:
                    self._control.look_again()

    def _come_or_go(self, vm: int, what: str) -> None:
        """A VM leaves before its load goes, and its load comes before it does."""
        if what == "depart":
            for replica in self._replicas:
                replica.depart(vm)
        self._loads.set_present(vm, what == "arrive")
        self._recount()
        if what == "arrive":
            for replica in self._replicas:
                replica.arrive(vm)

    def _decide_and_act(self, cycle: int) -> None:
        """Write down how things stand, then let the descheduler look, decide and act."""
        self._recorder.use(cycle, *self.sums.shares(), ~self.clusters[0].lost)
        if self._control:
            self._control.cycle(cycle, float(self._timeline.cycles[cycle]), self._recorder)

    def _advance(self, until: float) -> None:
        """Start what was asked for, and let copies and boots go on up to the slice's end."""
        for replica in self._replicas:
            replica.begin()
            replica.advance(until)

    def _close(self, slice_: Slice) -> None:
        """Account for the time since the last change; the sensor remembers all of the slice."""
        starts = [replica.now for replica in self._replicas]
        ready = ~self.clusters[0].lost
        pieces = self._accounts.close(starts, slice_.start, slice_.end, ready)
        for replica in self._replicas:
            replica.now = slice_.end
        if self._control:
            self._control.remember(pieces)

    def _outcome(self, r: int) -> Outcome:
        replica, course = self._replicas[r], self._recorder.course(r)
        records = replica.migrations.records(replica.now)
        meter, ready = self._accounts.meter, self._recorder.ready
        card = report_card(meter, r, replica.migrations, course, ready, self._bounds[r])
        errors = self._control.errors[r] if self._control else []
        return Outcome(
            card=card,
            course=course,
            moves=records,
            placement_before=self._before[r],
            placement_after=replica.placement(),
            errors=(*_unplaced(replica), *errors),
        )


def _unplaced(replica: Replica) -> list[str]:
    """A line for the VMs that fit nowhere at the start."""
    if not replica.unplaced:
        return []
    name = replica.cluster.fleet.vm_names[replica.unplaced[0]]
    more = f" and {len(replica.unplaced) - 1} more" if len(replica.unplaced) > 1 else ""
    return [f"start: {name}{more} found no node that takes it and wait"]
