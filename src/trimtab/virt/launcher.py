"""What every virt-launcher pod asks of a node, and how long it outlives a node that is lost."""

SCHEDULABLE = "kubevirt.io/schedulable"
"""Label of a node that VMs may run on."""
FAKE_NODE_TAINT = ("kwok.x-k8s.io/node", "fake", "NoSchedule")
"""Key, value and effect of the taint on the nodes that kwok plays; launcher pods tolerate it."""
LOST_NODE_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
"""With effect NoExecute, on a node that does not answer; tolerated for a while."""
LOST_NODE_S = 300.0
"""How long a pod stays on a lost node: the tolerationSeconds that Kubernetes adds to pods."""
