"""What a loop on KubeVirt's VMs needs that one on trimtab's own does not.

Rights to KubeVirt's objects for the loop's services, and a policy inside the API server that
lets a VM start on the node where the scenario wants it. KubeVirt itself could only bind a VM to
a node for good, so the policy changes the first launcher pod and no migration's target.
"""

from typing import Any

from trimtab.install.rights import FOLLOW, LOOK, Role, everywhere, granted, right, within
from trimtab.kube.kubevirt import HOSTNAME, MIGRATION_JOB_LABEL, VMIMS
from trimtab.kube.machines import INITIAL_NODE, KUBEVIRT

Manifest = dict[str, Any]
POLICY = "trimtab-initial-node"
_NOTE = f'object.metadata.annotations["{INITIAL_NODE}"]'


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
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["pods"],
    }
    path = f"/spec/nodeSelector/{HOSTNAME.replace('/', '~1')}"
    patch = f'[JSONPatch{{op: "add", path: "{path}", value: {_NOTE}}}]'
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": POLICY},
        "spec": {
            "failurePolicy": "Fail",
            "reinvocationPolicy": "Never",
            "matchConstraints": {"resourceRules": [rule]},
            "matchConditions": [
                {
                    "name": "wanted",
                    "expression": "has(object.metadata.annotations) && "
                    f'"{INITIAL_NODE}" in object.metadata.annotations',
                },
                {
                    "name": "not-a-migration",
                    "expression": "has(object.metadata.labels) && "
                    f'!("{MIGRATION_JOB_LABEL}" in object.metadata.labels)',
                },
                {
                    "name": "a-launcher",
                    "expression": 'object.metadata.labels["kubevirt.io"] == "virt-launcher" && '
                    "has(object.spec.nodeSelector)",
                },
            ],
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}],
        },
    }
    binding = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": POLICY},
        "spec": {"policyName": POLICY},
    }
    return [policy, binding]
