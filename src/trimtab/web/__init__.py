"""The page: nodes with their VMs and moves, over time, and a click that says why."""
