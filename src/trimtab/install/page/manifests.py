"""The files of k8s/page from the declaration: account, rights, Deployment, who may look."""

from trimtab.install.deployments import account_with_rights, service_file
from trimtab.install.manifests import documents, head, kustomization
from trimtab.install.rights import Manifest, role_manifest
from trimtab.install.services.page import SERVICE, sign_in_role
from trimtab.web.sign_in import LOOKING

_SOURCE = "trimtab/install/page/manifests.py"
_NOTE = "kubectl apply --server-side -k k8s/page"
_RBAC_NOTE = """\
The page's own account reads, and asks the API server who a viewer is; it can write nothing.
Who may look is yours to say:
  kubectl create clusterrolebinding lookers --clusterrole=trimtab:page-viewer --group=GROUP
"""
VIEWER = "trimtab:page-viewer"
_FILES = ("rbac.yaml", "page.yaml")


def viewer_role() -> Manifest:
    """Whoever has it may sign in and look; what they may change their other roles say."""
    rule = {"nonResourceURLs": [LOOKING], "verbs": ["get"]}
    return role_manifest("ClusterRole", {"name": VIEWER}, [rule])


def page_rbac() -> list[Manifest]:
    return [*account_with_rights(SERVICE, sign_in_role()), viewer_role()]


def generate() -> dict[str, str]:
    """The files by path."""
    return {
        "k8s/page/rbac.yaml": head(_SOURCE, _RBAC_NOTE) + documents(page_rbac()),
        **service_file(SERVICE),
        "k8s/page/kustomization.yaml": head(_SOURCE, _NOTE) + documents([kustomization(*_FILES)]),
    }
