"""Which cluster and which Prometheus a command means."""
