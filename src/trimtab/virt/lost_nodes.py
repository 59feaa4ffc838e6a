"""When the VMs of a lost node start elsewhere: 300 s after the node stopped answering.

Kubernetes taints such a node, and its pods tolerate the taints for so long; then they are
deleted, and each VM gets another pod on another node. A node that is back earlier keeps them.
In the simulator this is `Replica.give_up_on` (sim/replica.py); in a cluster the tolerations
that vm/launcher.py writes into each pod.
"""

LOST_NODE_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
"""With effect NoExecute, on a node that does not answer; tolerated for a while."""
LOST_NODE_S = 300.0
"""How long a pod stays on a lost node: the tolerationSeconds that Kubernetes adds to pods."""
