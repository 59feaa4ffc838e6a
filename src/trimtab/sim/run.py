"""Runs: a spec and its seeds in, an outcome for each seed out."""

from collections.abc import Sequence

from trimtab.sim.batch import Batch, Progress
from trimtab.sim.outcome import Outcome
from trimtab.sim.spec import RunSpec

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
