"""The closed loop in memory: deterministic by seed, decided by `policy`. Pure."""

from trimtab.sim.run import simulate, simulate_one

__all__ = ["simulate", "simulate_one"]
