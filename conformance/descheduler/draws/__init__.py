"""What the cluster looks like in each cycle, drawn from a seed."""
