"""Plays KubeVirt's handlers and launchers, and the kubelets below them, on nodes that are fake.

virt-controller and virt-api are the real ones; they expect a virt-handler on each node that
starts guests, copies their memory and reports it in the VMI. One process here does that for
all nodes: what to write next is decided by pure functions (`turn`, `migration`, `migratable`,
`nodes`, `launchers`), and `service` reads and writes.
"""
