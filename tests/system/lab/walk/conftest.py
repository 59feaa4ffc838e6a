"""One lab for these files, which are a walk: from a new lab over its changes to its end.

pytest takes files by their names: `test_life` finds the lab new, `test_placement` starts it again
with other configurations, `test_services` asks what its stack has made of all that and ends it.
"""

from collections.abc import Iterator

import pytest

from builders.labs.lab import RunningLab, a_script, running_lab
from trimtab.lab.components.component import LogLine
from trimtab.lab.components.identity import ServiceIdentity, kubeconfig_file
from trimtab.lab.components.stack import Lab, Stack, StackContribution

READER = "descheduler"
RBAC = (
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "reader"},
        "rules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}],
    },
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "reader"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "reader",
        },
        "subjects": [
            {"kind": "ServiceAccount", "name": READER, "namespace": "trimtab-system"},
        ],
    },
)
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.example.dev"},
    "spec": {
        "group": "example.dev",
        "scope": "Namespaced",
        "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "Things"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}
THING = {
    "apiVersion": "example.dev/v1",
    "kind": "Thing",
    "metadata": {"name": "first", "namespace": "default"},
}


def contribute(lab: Lab) -> StackContribution:
    """A service that lists nodes with its token, over and over, as kubectl.

    Not more often than this, because each start of kubectl takes 0.1 s of CPU time; and without
    discovery, whose cache in the lab's directory is open to others.
    """
    config = kubeconfig_file(READER)
    listing = f"{lab.program('kubectl')} --kubeconfig={config} get --raw '/api/v1/nodes?limit=1'"
    return StackContribution(
        components=(
            a_script(
                READER,
                f"while {listing}; do sleep 2; done; exit 1",
                needs=("tokens",),
                probes=(LogLine("kwok-node-1"),),
            ),
        ),
        services=(ServiceIdentity(READER, lifetime_s=600, renew_after_s=1.0),),
        objects=(*RBAC, CRD, THING),
    )


@pytest.fixture(scope="package")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningLab]:
    stack = Stack(name="reading", contribute=contribute)
    with running_lab(tmp_path_factory, stacks=(stack,), nodes=3, node_cpu="8") as lab:
        yield lab
