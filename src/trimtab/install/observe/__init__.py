"""Rights of the commands that look at a cluster."""
