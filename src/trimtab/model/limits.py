"""The largest numbers that make sense: files, commands, definitions and services share them.

A number without a limit becomes infinite, exhausts the memory or lasts for ever somewhere
further in. These are far above what anybody simulates, and far below what a computer cannot
hold: the largest run measured has 100,000 nodes and 1,000,000 VMs.
"""

MAX_NODES = 200_000
MAX_VMS = 2_000_000
MAX_PODS = 100_000
"""Pods of one node."""
MAX_AT_ONCE = 1_000_000
"""Migrations at the same time."""
MAX_CORES = 1_000_000
MAX_BYTES = 2**60
"""1Ei, below the 2^63 - 1 at which Kubernetes' own numbers end."""
MAX_USE = 1_000_000
"""How many times its cores a VM may want. Memory is never used more than once."""
MIN_SECONDS, MAX_SECONDS = 0.001, 1e9
"""A period below a millisecond divides by almost nothing; 1e9 s are 31 years."""
