"""k8s/advisor: the definition, rights, policies, Deployment and alerts, as files."""

from trimtab.advisor.kinds import EXAMPLE, POLICY, RULES
from trimtab.install.advisor.rbac import operator_rbac, target_rbac, user_rbac
from trimtab.install.deployments import deployed
from trimtab.install.manifests import account, documents, head, kustomization, namespace
from trimtab.install.services.advisor import SERVICE

_HEAD = head("trimtab/install/advisor/manifests.py")
_HOME = "k8s/advisor"
_BASE = ("namespace.yaml", "crd.yaml", "rbac.yaml", "policies.yaml", "deployment.yaml")


def generate() -> dict[str, str]:
    """The files by path."""
    files = {
        "namespace.yaml": [namespace()],
        "crd.yaml": SERVICE.kinds(),
        "rbac.yaml": [account(SERVICE.name), *operator_rbac(), *user_rbac()],
        "policies.yaml": SERVICE.admission(),
        "deployment.yaml": deployed(SERVICE),
        "kustomization.yaml": [kustomization(*_BASE)],
        "upstream/rbac.yaml": target_rbac(POLICY.namespace, RULES.namespace),
        "upstream/kustomization.yaml": [kustomization("rbac.yaml")],
        "example/rbac.yaml": target_rbac(EXAMPLE.namespace),
        "example/kustomization.yaml": [kustomization("rbac.yaml")],
        "alerts.yaml": [{"groups": SERVICE.alerts()}],
    }
    return {f"{_HOME}/{name}": _HEAD + documents(each) for name, each in files.items()}
