"""Values that every room shares: quantities, machines, curves, scenarios, snapshots. Pure."""
