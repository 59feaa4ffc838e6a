"""The files of k8s/balancer, and docs/reference/rebalanceplan.md, from the declarations."""

from trimtab.balancer.wire import ACKNOWLEDGED
from trimtab.install.balancer.crd import crds
from trimtab.install.deployments import account_with_rights, service_file
from trimtab.install.manifests import (
    documents,
    field_table,
    head,
    kustomization,
    name_table,
    refusals,
)
from trimtab.install.services.balancer import SERVICE
from trimtab.kube.virtual_machines import PLAN_LABEL

_SOURCE = "trimtab/install/balancer/manifests.py"
_NOTE = "kubectl apply --server-side -k k8s/balancer"
_FILES = ("crd.yaml", "rbac.yaml", "policy.yaml", "balancer.yaml")
_HEAD = """\
# RebalancePlan

<!-- Written by `make generate` from trimtab/install/balancer/manifests.py; change it there. -->

API version `trimtab.dev/v1alpha1`, cluster-scoped, short `rbp`.
The balancer writes plans and their status; people write `approvedPlan` and `cancelled`.
How to use it: [the balancer](../guide/balance.md).
"""
_PHASES = {
    "Proposed": "nobody carries it out yet; in mode observe nobody ever does",
    "Approved": "approved, but the balancer runs in mode observe",
    "Running": "its moves are begun one after the other",
    "Paused": "nothing begins for now; `reason` and `message` say why and how it goes on",
    "Completed": "all moves are over, and at least one succeeded or none failed",
    "Failed": "all moves are over, and none succeeded",
    "Cancelled": "somebody cancelled it",
    "Expired": "nobody approved it in time, or the cluster became level without it",
}
_NAMES = {
    PLAN_LABEL: "label of a migration: the plan that it belongs to",
    ACKNOWLEDGED: "annotation of a plan: its failures are known and pause the balancer no more",
}


def generate() -> dict[str, str]:
    """The files by path."""
    return {
        "k8s/balancer/crd.yaml": head(_SOURCE) + documents(crds()),
        "k8s/balancer/rbac.yaml": head(_SOURCE) + documents(account_with_rights(SERVICE)),
        "k8s/balancer/policy.yaml": head(_SOURCE) + documents(SERVICE.admission()),
        **service_file(SERVICE),
        "k8s/balancer/kustomization.yaml": head(_SOURCE, _NOTE)
        + documents([kustomization(*_FILES)]),
        "docs/reference/rebalanceplan.md": _reference(),
    }


def _reference() -> str:
    schema = crds()[0]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    return "\n".join(
        [
            _HEAD,
            field_table("spec", schema["spec"]),
            refusals(schema["spec"]),
            field_table("status", schema["status"]),
            name_table("Phases", ("phase", "meaning"), _PHASES),
            name_table("Labels and annotations", ("name", "meaning"), _NAMES),
        ]
    )
