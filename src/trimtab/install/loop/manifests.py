"""Manifests of k8s/ that follow from code: definitions, rights, the guard, what kwok plays.

In a cluster the services run in the namespaces that people look in (`default`, `monitoring`)
instead of trimtab-system, so their accounts live there too. That is the only difference to a
lab: the roles are the same objects, and a lab proves by use that they suffice.
"""

from typing import Any

import msgspec
import yaml

from trimtab.install.deployments import home, service_file
from trimtab.install.loop.rbac import DESCHEDULER, descheduler_rbac
from trimtab.install.manifests import account, documents, head, kustomization
from trimtab.install.rights import granted
from trimtab.install.service import ServiceSpec
from trimtab.install.services import exporter, vm_controller, webhook
from trimtab.lab.components.kwok import kwok_config
from trimtab.lab.components.kwok import rbac as kwok_rbac
from trimtab.model.names import SYSTEM_NAMESPACE

Manifest = dict[str, Any]
KWOK = {"kind": "ServiceAccount", "name": "kwok-controller", "namespace": "kube-system"}
_HEAD = head("trimtab/install/loop/manifests.py")
SERVICES: tuple[ServiceSpec, ...] = (
    vm_controller.SERVICE,
    webhook.SERVICE,
    exporter.SERVICE,
)
_NODES = 5
_NOTE = """\
kubectl apply --server-side -k k8s/        then, once:  k8s/make-secrets.sh
The VMs of example-vms.yaml are not part of it: their kind must exist first.
"""


def generate() -> dict[str, str]:
    """The files by path."""
    return {
        "k8s/virtualmachine-crd.yaml": _HEAD + documents(crds()),
        "k8s/rbac.yaml": _HEAD + documents(cluster_rbac()),
        "k8s/guard.yaml": _HEAD + documents(cluster_guard()),
        "k8s/kwok-stages.yaml": _HEAD + documents([kwok_settings()]),
        "k8s/kustomization.yaml": head("trimtab/install/loop/manifests.py", _NOTE)
        + documents([_base()]),
        **{path: text for each in SERVICES for path, text in service_file(each).items()},
    }


def _base() -> Manifest:
    """All files of a plain installation, in the order in which they can be applied."""
    services = [each.deployment.file for each in SERVICES if each.deployment]
    return kustomization(
        *("namespaces.yaml", "virtualmachine-crd.yaml", "rbac.yaml", "guard.yaml"),
        *("kwok-stages.yaml", "kwok.yaml", "kwok-nodes.yaml"),
        *services,
        *("prometheus-rules.yaml", "prometheus.yaml"),
        *("descheduler-policy.yaml", "descheduler.yaml", "network-policies.yaml"),
    )


def crds() -> list[Manifest]:
    return [kind for service in SERVICES for kind in service.kinds()]


def cluster_rbac() -> list[Manifest]:
    """An account for each service, and its roles."""
    kwok = [m | {"subjects": [KWOK]} if "subjects" in m else m for m in kwok_rbac()]
    return [
        *(account(each.name, home(each)) for each in SERVICES),
        account(DESCHEDULER[1], DESCHEDULER[0]),
        account(KWOK["name"], KWOK["namespace"]),
        *(m for each in SERVICES for m in granted(each.name, each.roles(), account_in=home(each))),
        *descheduler_rbac(),
        *kwok,
    ]


def cluster_guard() -> list[Manifest]:
    """The policies about launcher pods, which know the controller by its name in a cluster."""
    text = msgspec.json.encode([each for s in SERVICES for each in s.admission()]).decode()
    for service in SERVICES:
        text = text.replace(
            f":{SYSTEM_NAMESPACE}:{service.name}", f":{home(service)}:{service.name}"
        )
    moved: list[Manifest] = msgspec.json.decode(text)
    return moved


def kwok_settings() -> Manifest:
    """The lab's stages, for annotated nodes only: the cluster has real ones beside them."""
    head, *stages = yaml.safe_load_all(kwok_config(_NODES))
    del head["options"]["manageAllNodes"]
    head["options"]["manageNodesWithAnnotationSelector"] = "kwok.x-k8s.io/node=fake"
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "kwok-config", "namespace": KWOK["namespace"]},
        "data": {"kwok.yaml": documents([head, *stages])},
    }
