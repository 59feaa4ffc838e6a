"""k8s/advisor: the definition, rights, policies, Deployment and alerts, as files."""

from typing import Any

from trimtab import __version__
from trimtab.advisor.kinds import EXAMPLE, POLICY, RULES
from trimtab.advisor.settings import NAME, NAMESPACE
from trimtab.install.advisor.admission import policies
from trimtab.install.advisor.alerts import alert_groups
from trimtab.install.advisor.crd import config_crd
from trimtab.install.advisor.rbac import operator_rbac, target_rbac, user_rbac
from trimtab.scores.prometheus.files import as_yaml

Manifest = dict[str, Any]
_HEAD = "# Written by `make generate` from trimtab/install/advisor/manifests.py; change it there.\n"
_HOME = "k8s/advisor"
PORT = 8444


def generate() -> dict[str, str]:
    """The files by path."""
    files = {
        "namespace.yaml": [_namespace()],
        "crd.yaml": [config_crd()],
        "rbac.yaml": [_account(), *operator_rbac(), *user_rbac()],
        "policies.yaml": policies(),
        "deployment.yaml": [deployment(), _service()],
        "kustomization.yaml": [_kustomization()],
        "upstream/rbac.yaml": target_rbac(POLICY.namespace, RULES.namespace),
        "upstream/kustomization.yaml": [_kustomize("rbac.yaml")],
        "example/rbac.yaml": target_rbac(EXAMPLE.namespace),
        "example/kustomization.yaml": [_kustomize("rbac.yaml")],
        "alerts.yaml": [alert_groups()],
    }
    return {f"{_HOME}/{name}": _HEAD + _documents(each) for name, each in files.items()}


def deployment() -> Manifest:
    """Two replicas of which one acts; nothing in the container may be written but /tmp."""
    labels = {"app": NAME}
    container = {
        "name": NAME,
        "image": f"localhost/trimtab:{__version__}",
        "imagePullPolicy": "IfNotPresent",
        "args": ["run", NAME, "--host=0.0.0.0", f"--port={PORT}", "--self-signed"],
        "ports": [{"name": "https", "containerPort": PORT}],
        "readinessProbe": {"httpGet": _probe("/readyz")},
        "livenessProbe": {
            "httpGet": _probe("/healthz"),
            "initialDelaySeconds": 10,
            "failureThreshold": 6,
        },
        "resources": {
            "requests": {"cpu": "50m", "memory": "96Mi"},
            "limits": {"memory": "256Mi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
    }
    pod = {
        "serviceAccountName": NAME,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 10001,
            "runAsGroup": 10001,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
        "volumes": [{"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": NAME, "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def _probe(path: str) -> Manifest:
    return {"path": path, "port": "https", "scheme": "HTTPS"}


def _service() -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": NAME, "namespace": NAMESPACE, "labels": {"app": NAME}},
        "spec": {
            "clusterIP": "None",
            "selector": {"app": NAME},
            "ports": [{"name": "https", "port": PORT, "targetPort": "https"}],
        },
    }


def _namespace() -> Manifest:
    """As in k8s/namespaces.yaml, so that either may be applied first."""
    level = "pod-security.kubernetes.io/enforce"
    labels = {
        "app.kubernetes.io/part-of": "trimtab",
        level: "restricted",
        f"{level}-version": "latest",
    }
    metadata = {"name": NAMESPACE, "labels": labels}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def _account() -> Manifest:
    metadata = {"name": NAME, "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}


def _kustomization() -> Manifest:
    return _kustomize("namespace.yaml", "crd.yaml", "rbac.yaml", "policies.yaml", "deployment.yaml")


def _kustomize(*resources: str) -> Manifest:
    head = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
    return head | {"resources": list(resources)}


def _documents(manifests: list[Manifest]) -> str:
    return "---\n".join(as_yaml(manifest) for manifest in manifests)
