"""The closed loop in memory: deterministic by seed, decided by `policy`. Pure."""
