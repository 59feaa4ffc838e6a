"""`trimtab fidelity`: the same scenario in a lab and in the simulator, cycle by cycle."""
