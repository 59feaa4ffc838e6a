"""VirtualMachines: the CRDs, the controller that keeps each on one active pod, migrations,
the eviction webhook and the guard against direct deletion.
"""
