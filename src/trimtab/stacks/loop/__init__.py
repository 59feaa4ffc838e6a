"""The stack `loop`: descheduler, Prometheus, exporter, VMs and what keeps them together."""
