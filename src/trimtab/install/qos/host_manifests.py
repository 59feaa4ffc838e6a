"""The files of k8s/qos for the host of a control plane: the scheduler and the page beside it.

The kubelet reads a static pod from a file, so nothing in it may come from the API: no service
account, no Secret. The service therefore has a kubeconfig and a certificate on the host;
k8s/qos/make-host-files.sh makes them.
"""

from pathlib import Path
from typing import Any

from trimtab import __version__
from trimtab.files.yaml import as_yaml
from trimtab.install.deployments import IMAGE
from trimtab.install.manifests import head
from trimtab.install.qos.scheduler import Order, in_a_cluster
from trimtab.kube.runtime.options import written
from trimtab.qos.settings import QosSettings

HEAD = head("trimtab/install/qos/host_manifests.py")
CONFIG = "/etc/kubernetes/scheduler-config.conf"
CREDENTIALS = "/etc/kubernetes/scheduler.conf"
QOS_KUBECONFIG = "/etc/kubernetes/trimtab-qos.conf"
QOS_CERTIFICATE = "/etc/kubernetes/trimtab-qos"
SCHEDULER_IMAGE = f"localhost/trimtab-scheduler:{__version__}"
Manifest = dict[str, Any]


def generate() -> dict[str, str]:
    """The files by path; under measure-only/ the queue keeps its stock order."""
    return {
        "k8s/qos/scheduler-config.conf": HEAD + in_a_cluster("qos"),
        "k8s/qos/kube-scheduler.yaml": HEAD + as_yaml(static_pod("qos")),
        "k8s/qos/measure-only/scheduler-config.conf": HEAD + in_a_cluster("stock"),
        "k8s/qos/measure-only/kube-scheduler.yaml": HEAD + as_yaml(static_pod("stock")),
    }


def static_pod(order: Order) -> Manifest:
    """For /etc/kubernetes/manifests/kube-scheduler.yaml; on host `m` it is kube-scheduler-m."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "kube-scheduler",
            "namespace": "kube-system",
            "labels": {"component": "kube-scheduler", "tier": "control-plane"},
        },
        "spec": {
            "hostNetwork": True,
            "priorityClassName": "system-node-critical",
            "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [_scheduler(), _page(order)],
            "volumes": [
                _from_host("credentials", CREDENTIALS, "File"),
                _from_host("configuration", CONFIG, "File"),
                _from_host("qos-kubeconfig", QOS_KUBECONFIG, "File"),
                _from_host("qos-certificate", QOS_CERTIFICATE, "Directory"),
            ],
        },
    }


def _scheduler() -> Manifest:
    """First, so that `kubectl exec` means this one: its image has curl."""
    return {
        "name": "kube-scheduler",
        "image": SCHEDULER_IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "command": [
            "kube-scheduler",
            f"--config={CONFIG}",
            f"--authentication-kubeconfig={CREDENTIALS}",
            f"--authorization-kubeconfig={CREDENTIALS}",
            "--bind-address=127.0.0.1",
            "--v=2",
        ],
        "livenessProbe": _probe("HTTPS", "/livez", 10259),
        "readinessProbe": _probe("HTTPS", "/readyz", 10259),
        "resources": {"requests": {"cpu": "100m"}},
        "securityContext": _careful(),
        "volumeMounts": [_mounted("credentials", CREDENTIALS), _mounted("configuration", CONFIG)],
    }


def _page(order: Order) -> Manifest:
    certificate = Path(QOS_CERTIFICATE)
    settings = QosSettings(certificate=certificate / "tls.crt", key=certificate / "tls.key")
    if order == "stock":
        settings = QosSettings(measure_only=True)
    options = written(settings, always=frozenset({"port"}))
    return {
        "name": "qos",
        "image": IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "args": ["run", "qos", f"--kubeconfig={QOS_KUBECONFIG}", *options],
        "livenessProbe": _probe("HTTP", "/healthz", settings.port),
        "readinessProbe": _probe("HTTP", "/readyz", settings.port),
        "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"memory": "1Gi"}},
        # the kubeconfig and the key are root's
        "securityContext": _careful() | {"runAsUser": 0, "runAsGroup": 0},
        "volumeMounts": [
            _mounted("qos-kubeconfig", QOS_KUBECONFIG),
            _mounted("qos-certificate", QOS_CERTIFICATE),
        ],
    }


def _careful() -> Manifest:
    return {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def _probe(scheme: str, path: str, port: int) -> Manifest:
    asked = {"host": "127.0.0.1", "path": path, "port": port, "scheme": scheme}
    return {"httpGet": asked, "initialDelaySeconds": 10, "timeoutSeconds": 15}


def _from_host(name: str, path: str, kind: str) -> Manifest:
    return {"name": name, "hostPath": {"path": path, "type": kind}}


def _mounted(name: str, path: str) -> Manifest:
    return {"name": name, "mountPath": path, "readOnly": True}
