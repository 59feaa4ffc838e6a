"""What every virt-launcher pod asks of a node: the label it needs, and KWOK's taint it bears."""

SCHEDULABLE = "kubevirt.io/schedulable"
"""Label of a node that VMs may run on."""
FAKE_NODE_TAINT = ("kwok.x-k8s.io/node", "fake", "NoSchedule")
"""Key, value and effect of the taint on the nodes that kwok plays; launcher pods tolerate it."""
