"""The files of k8s/qos that follow from code: definition, rights, policies, webhook, alerts."""

from typing import Any

from trimtab.install.qos.admission import policies, stamping_webhook
from trimtab.install.qos.alerts import alert_group
from trimtab.install.qos.crd import crds
from trimtab.install.qos.grafana import board
from trimtab.install.qos.rbac import qos_rbac
from trimtab.qos.settings import NAME, NAMESPACE
from trimtab.scores.prometheus.files import as_yaml

Manifest = dict[str, Any]
HEAD = "# Written by `make generate` from trimtab/install/qos/manifests.py; change it there.\n"
_WEBHOOK = (
    "# The service runs beside the scheduler on the API server's own machine. Until the caBundle\n"
    "# of its certificate is in here, pods are created unstamped and stamped a moment later.\n"
)
PAGE_URL = "https://127.0.0.1:9444"


def generate() -> dict[str, str]:
    """The files by path."""
    return {
        "k8s/qos/qosaccount-crd.yaml": HEAD + documents(crds()),
        "k8s/qos/rbac.yaml": HEAD + documents([_namespace(), _account(), *qos_rbac()]),
        "k8s/qos/admission.yaml": HEAD + documents(policies()),
        "k8s/qos/webhook.yaml": HEAD + _WEBHOOK + documents([stamping_webhook({"url": PAGE_URL})]),
        "k8s/qos/alerts.yaml": HEAD + as_yaml({"groups": [alert_group()]}),
        "k8s/qos/prometheusrule.yaml": HEAD + documents([_operator_rule()]),
        "k8s/qos/grafana.json": board(),
    }


def _namespace() -> Manifest:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}


def _account() -> Manifest:
    metadata = {"name": NAME, "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}


def _operator_rule() -> Manifest:
    labels = {"app.kubernetes.io/name": "trimtab", "role": "alert-rules"}
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "trimtab-qos", "namespace": "monitoring", "labels": labels},
        "spec": {"groups": [alert_group()]},
    }


def documents(manifests: list[Manifest]) -> str:
    return "---\n".join(as_yaml(manifest) for manifest in manifests)
