"""What a running loop is like: nodes, cycles, lag, links, readiness."""
