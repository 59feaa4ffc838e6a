"""The rights of `trimtab snapshot`, `record`, `explain --live` and `lint`: look, never touch."""

from trimtab.install.manifests import account, documents, head
from trimtab.install.rights import Manifest, everywhere, granted, right, within
from trimtab.kube.virtual_machines import GROUP
from trimtab.observe.policy_source import PLACES

FILE = "k8s/snapshot-rbac.yaml"
ACCOUNT, NAMESPACE = "snapshot", "kube-descheduler"
NAME = f"trimtab:{ACCOUNT}"
_WEBHOOKS = "validatingwebhookconfigurations"
_NOTE = """\
Not part of the installation: apply it where somebody without other rights takes snapshots.
It reads no secrets, and of ConfigMaps only the policy.
"""


def snapshot_rbac() -> list[Manifest]:
    """An account, and the least that a full snapshot needs."""
    here = [name for where, name in PLACES if where == NAMESPACE]
    machines = ["virtualmachineinstances", "virtualmachineinstancemigrations", "kubevirts"]
    roles = (
        everywhere(
            right("", ["nodes", "pods", "namespaces", "persistentvolumeclaims"], ["list"]),
            right("", ["resourcequotas"], ["list"]),
            right("policy", ["poddisruptionbudgets"], ["list"]),
            right("scheduling.k8s.io", ["priorityclasses"], ["list"]),
            right("metrics.k8s.io", ["nodes", "pods"], ["list"]),
            right(GROUP, ["virtualmachines", "virtualmachinemigrations"], ["list"]),
            right(GROUP, ["rebalanceplans"], ["list"]),
            # By name and not in a namespace: trimtab-system need not exist.
            right("coordination.k8s.io", ["leases"], ["get"], only=["balancer"]),
            right("kubevirt.io", machines, ["list"]),
            right("migrations.kubevirt.io", ["migrationpolicies"], ["list"]),
            right("admissionregistration.k8s.io", [_WEBHOOKS], ["list"]),
        ),
        within(
            NAMESPACE,
            right("", ["configmaps"], ["get"], only=here),
            right("apps", ["deployments"], ["list"]),
            right("batch", ["cronjobs"], ["list"]),
        ),
    )
    return [account(ACCOUNT, NAMESPACE), *granted(ACCOUNT, roles, account_in=NAMESPACE)]


def generate() -> dict[str, str]:
    return {FILE: head("trimtab/install/observe/rbac.py", _NOTE) + documents(snapshot_rbac())}
