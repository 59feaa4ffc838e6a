"""The rights of `trimtab snapshot`, `explain --live` and `lint --kubeconfig`: look, never touch."""

from typing import Any

from trimtab.kube.machines import GROUP
from trimtab.observe.policy_source import PLACES
from trimtab.scores.prometheus.files import as_yaml

Manifest = dict[str, Any]
FILE = "k8s/snapshot-rbac.yaml"
NAME = "trimtab:snapshot"
_RBAC = "rbac.authorization.k8s.io"
_ACCOUNT = {"kind": "ServiceAccount", "name": "snapshot", "namespace": "kube-descheduler"}
_HEAD = """\
# Written by `make generate` from trimtab/install/observe/rbac.py; change it there.
# Not part of the installation: apply it where somebody without other rights takes snapshots.
# It reads no secrets, and of ConfigMaps only the policy.
"""


def snapshot_rbac() -> list[Manifest]:
    """An account, and the least that a full snapshot needs."""
    namespace = _ACCOUNT["namespace"]
    account = {"name": _ACCOUNT["name"], "namespace": namespace}
    here = [name for where, name in PLACES if where == namespace]
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account},
        *_bound("ClusterRole", {"name": NAME}, _everywhere()),
        *_bound(
            "Role",
            {"name": NAME, "namespace": namespace},
            [
                _rule("", ["configmaps"], ["get"]) | {"resourceNames": here},
                _rule("apps", ["deployments"], ["list"]),
                _rule("batch", ["cronjobs"], ["list"]),
            ],
        ),
    ]


def _everywhere() -> list[Manifest]:
    look = ["list"]
    return [
        _rule("", ["nodes", "pods", "namespaces", "persistentvolumeclaims"], look),
        _rule("scheduling.k8s.io", ["priorityclasses"], look),
        _rule("metrics.k8s.io", ["nodes", "pods"], look),
        _rule(GROUP, ["virtualmachines"], look),
        _rule(
            "kubevirt.io",
            ["virtualmachineinstances", "virtualmachineinstancemigrations", "kubevirts"],
            look,
        ),
    ]


def _rule(group: str, resources: list[str], verbs: list[str]) -> Manifest:
    return {"apiGroups": [group], "resources": resources, "verbs": verbs}


def _bound(kind: str, metadata: Manifest, rules: list[Manifest]) -> list[Manifest]:
    return [
        {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": metadata, "rules": rules},
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": f"{kind}Binding",
            "metadata": metadata,
            "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": NAME},
            "subjects": [_ACCOUNT],
        },
    ]


def generate() -> dict[str, str]:
    return {FILE: _HEAD + "---\n".join(as_yaml(manifest) for manifest in snapshot_rbac())}
