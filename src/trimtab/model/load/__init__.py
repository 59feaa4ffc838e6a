"""Load over time: curves, recorded traces, and the pressure they lead to."""
