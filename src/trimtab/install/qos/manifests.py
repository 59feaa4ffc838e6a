"""The files of k8s/qos that follow from code: definition, rights, policies, webhook, alerts."""

from trimtab.install.manifests import account, documents, head, namespace
from trimtab.install.qos.admission import stamping_webhook
from trimtab.install.qos.grafana import dashboard
from trimtab.install.rights import Manifest, granted, role_manifest
from trimtab.install.services.qos import SERVICE

HEAD = head("trimtab/install/qos/manifests.py")
_WEBHOOK = (
    "# The service runs beside the scheduler on the API server's own machine. Until the caBundle\n"
    "# of its certificate is in here, pods are created unstamped and stamped a moment later.\n"
)
PAGE_URL = "https://127.0.0.1:9444"
PAGE_READER = "trimtab:qos-page"


def generate() -> dict[str, str]:
    """The files by path."""
    return {
        "k8s/qos/qosaccount-crd.yaml": HEAD + documents(SERVICE.kinds()),
        "k8s/qos/rbac.yaml": HEAD + documents([namespace(), account(SERVICE.name), *qos_rbac()]),
        "k8s/qos/admission.yaml": HEAD + documents(SERVICE.admission()),
        "k8s/qos/webhook.yaml": HEAD + _WEBHOOK + documents([stamping_webhook({"url": PAGE_URL})]),
        "k8s/qos/alerts.yaml": HEAD + documents([{"groups": SERVICE.alerts()}]),
        "k8s/qos/prometheusrule.yaml": HEAD + documents([_operator_rule()]),
        "k8s/qos/grafana.json": dashboard(),
    }


def qos_rbac() -> list[Manifest]:
    """The service's roles, and the one to bind readers of the page to."""
    return [*granted(SERVICE.name, SERVICE.roles()), page_reader()]


def page_reader() -> Manifest:
    """What somebody needs to read the page where it is exposed; bind it to them."""
    rule = {"nonResourceURLs": ["/", "/v1/*", "/metrics"], "verbs": ["get"]}
    return role_manifest("ClusterRole", {"name": PAGE_READER}, [rule])


def _operator_rule() -> Manifest:
    labels = {"app.kubernetes.io/name": "trimtab", "role": "alert-rules"}
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "trimtab-qos", "namespace": "monitoring", "labels": labels},
        "spec": {"groups": SERVICE.alerts()},
    }
