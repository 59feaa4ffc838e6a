"""One descheduling cycle of a replica: what is seen, what is decided, what it leads to."""
