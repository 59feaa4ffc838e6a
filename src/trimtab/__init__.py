"""trimtab keeps a cluster of virtual machines on Kubernetes level with the fewest, safest moves."""

__version__ = "0.1.0"
