"""The closed loop in memory: deterministic by seed, decided by `policy` and `virt`. Pure.

A run is `batch.Batch.run`, and a slice of time between two moments of `timeline` goes so:

enter    what the scenario does now happens to each `replica` (VMs arrive, nodes fail), then
         `loads` change to the means of this slice
decide   at the start of a descheduling cycle `descheduling.sensor` gives the scores that
         Prometheus would show; `descheduling.cycle` decides by `policy`, through a
         `replica_view`, unless `idle_cycles` sees that there is nothing to do
act      the chosen VMs are evicted or moved, soft taints set: `migration` marks the VMs
advance  marked VMs get a slot and a target (`placement.scheduler`), copies share the network,
         VMs cut over, stopped ones start again; each change splits the slice
close    `measures.pieces` hands the time between changes to the meter (the report card) and
         to the sensor (the next scores)

All seeds of a batch go through a slice together, because they share loads and moments.
"""

from trimtab.sim.batch import simulate, simulate_one

__all__ = ["simulate", "simulate_one"]
