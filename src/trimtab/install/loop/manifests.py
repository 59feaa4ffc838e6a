"""Manifests of k8s/ that follow from code: definitions, rights, the guard, what kwok plays.

In a cluster the services run in the namespaces that people look in (`default`, `monitoring`)
instead of trimtab-system, so their accounts live there too. That is the only difference to a
lab: the roles are the same objects, and a lab proves by use that they suffice.
"""

from typing import Any

import yaml

from trimtab.install.exporter.rbac import exporter_rbac
from trimtab.install.loop.rbac import HOME, descheduler_rbac
from trimtab.install.vm.admission import guard
from trimtab.install.vm.crd import crds
from trimtab.install.vm.fence import fence
from trimtab.install.vm.rbac import controller_rbac, webhook_rbac
from trimtab.lab.components.kwok import kwok_config
from trimtab.lab.components.kwok import rbac as kwok_rbac
from trimtab.scores.prometheus.files import as_yaml

Manifest = dict[str, Any]
HOMES = {"vm-controller": "default", "webhook": "default", "exporter": "monitoring"}
"""Where each service and its account live in a cluster."""
KWOK = {"kind": "ServiceAccount", "name": "kwok-controller", "namespace": "kube-system"}
_HEAD = "# Written by `make generate` from trimtab/install/loop/manifests.py; change it there.\n"
_NODES = 5


def generate() -> dict[str, str]:
    """The files by path."""
    return {
        "k8s/virtualmachine-crd.yaml": _HEAD + _documents(crds()),
        "k8s/rbac.yaml": _HEAD + _documents(cluster_rbac()),
        "k8s/guard.yaml": _HEAD + _documents(cluster_guard()),
        "k8s/kwok-stages.yaml": _HEAD + _documents([kwok_settings()]),
    }


def cluster_rbac() -> list[Manifest]:
    """An account for each service, and its roles."""
    roles = [
        *controller_rbac(),
        *webhook_rbac(),
        *exporter_rbac(allow_scenario=True),
        *descheduler_rbac(),
    ]
    kwok = [m | {"subjects": [KWOK]} if "subjects" in m else m for m in kwok_rbac()]
    accounts = [*HOMES.items(), ("descheduler", "kube-descheduler")]
    return [
        *(_account(name, namespace) for name, namespace in accounts),
        _account(KWOK["name"], KWOK["namespace"]),
        *map(_moved, roles),
        *kwok,
    ]


def cluster_guard() -> list[Manifest]:
    """The guard and the fence, which know the controller under its name in a cluster."""
    home = HOMES["vm-controller"]
    text = yaml.safe_dump([*guard(), *fence()], sort_keys=False, width=10_000)
    moved: list[Manifest] = yaml.safe_load(
        text.replace(f":{HOME}:vm-controller", f":{home}:vm-controller")
    )
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
        "data": {"kwok.yaml": _documents([head, *stages])},
    }


def _moved(manifest: Manifest) -> Manifest:
    """The same role or binding, with the account where it is in a cluster."""
    subjects = manifest.get("subjects")
    if subjects is None:
        return manifest
    moved = [s | {"namespace": HOMES.get(s["name"], s["namespace"])} for s in subjects]
    return manifest | {"subjects": moved}


def _account(name: str, namespace: str) -> Manifest:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}


def _documents(manifests: list[Manifest]) -> str:
    return "---\n".join(as_yaml(manifest) for manifest in manifests)
