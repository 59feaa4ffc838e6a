"""What a loop on KubeVirt's VMs needs that one on trimtab's own does not.

Rights to KubeVirt's objects for the loop's services, and a policy inside the API server that
lets a VM start on the node where the scenario wants it. KubeVirt itself could only bind a VM to
a node for good, so the policy changes the first launcher pod and no migration's target.
"""

from typing import Any

from trimtab.install.policies import node_selector
from trimtab.install.rights import FOLLOW, LOOK, Role, everywhere, granted, right, within
from trimtab.kube.kubevirt import HOSTNAME, MIGRATION_JOB_LABEL, VMIMS
from trimtab.kube.virtual_machines import INITIAL_NODE, KUBEVIRT

Manifest = dict[str, Any]
POLICY = "trimtab-initial-node"


def loop_objects() -> list[Manifest]:
    """Everything that the API server must know."""
    reading = everywhere(right(KUBEVIRT, ["virtualmachineinstances"], FOLLOW), part="kubevirt")
    writing = everywhere(
        right(KUBEVIRT, ["virtualmachines"], [*LOOK, "create", "delete"]), part="kubevirt"
    )
    return [
        *granted("exporter", [reading, _scenarios_of_exporter()]),
        *granted("scenario", [writing]),
        *initial_node_policy(),
    ]


def _scenarios_of_exporter(namespace: str = "default") -> Role:
    """For POST /scenario and /feedback, as the exporter has them for trimtab's own VMs."""
    return within(
        namespace,
        right(KUBEVIRT, ["virtualmachines"], ["list", "create", "delete"]),
        right(KUBEVIRT, [VMIMS.plural], [*FOLLOW, "create"]),
        part="kubevirt-scenario",
    )


def initial_node_policy() -> list[Manifest]:
    """By a node selector, beside those that KubeVirt gives every launcher.

    The pod keeps it for life, like one of a directed migration; the next launcher is free. A
    list of requirements would be better, but the API server panics on lists in such a patch.
    """
    annotations, labels = "object.metadata.annotations", "object.metadata.labels"
    conditions = {
        "wanted": f'has({annotations}) && "{INITIAL_NODE}" in {annotations}',
        "not-a-migration": f'has({labels}) && !("{MIGRATION_JOB_LABEL}" in {labels})',
        "a-launcher": f'{labels}["kubevirt.io"] == "virt-launcher" && '
        "has(object.spec.nodeSelector)",
    }
    return node_selector(POLICY, HOSTNAME, f'{annotations}["{INITIAL_NODE}"]', conditions)
