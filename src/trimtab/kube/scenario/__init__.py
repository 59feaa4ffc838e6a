"""A scenario's VMs in a cluster: how they look as objects, and how they are written."""
