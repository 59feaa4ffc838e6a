"""Who may do what once `k8s/advisor` is applied to a new cluster, asked of a real API server."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
import yaml
from msgspec import json

from builders.labs.advisor import ACCOUNT, Kubectl
from builders.values.manifests import REPOSITORY
from conformance.apiserver import running_apiserver
from trimtab.kube.client import Client

pytestmark = pytest.mark.engines
K8S = REPOSITORY / "k8s" / "advisor"
OPENSHIFT, UPSTREAM = "openshift-cnv", ("kube-descheduler", "monitoring")
CONFIGS = ("advisor.kubevirt.io", "virtplatformconfigs")
CONFIG_MAPS, DEPLOYMENTS, SECRETS = ("", "configmaps"), ("apps", "deployments"), ("", "secrets")
HCO = ("hco.kubevirt.io", "hyperconvergeds")
MACHINES = ("machineconfiguration.openshift.io", "machineconfigs")
Kind = tuple[str, str]


@pytest.fixture(scope="module")
def kubectl() -> Iterator[Kubectl]:
    """A cluster on which nothing of ours was before."""
    with running_apiserver() as server, closing(Kubectl(server)) as kubectl:
        kubectl.run("apply", "-k", str(K8S))
        yield kubectl


@pytest.fixture(scope="module")
def with_targets(kubectl: Kubectl) -> Kubectl:
    """With the rights for the upstream descheduler and for the example."""
    for name in (*UPSTREAM, OPENSHIFT):
        kubectl.run("create", "namespace", name)
    for part in ("upstream", "example"):
        kubectl.run("apply", "-k", str(K8S / part))
    return kubectl


async def may(kubectl: Kubectl, verb: str, kind: Kind, where: str = "", name: str = "") -> bool:
    """Whether the operator's account may, as the API server decides it."""
    group, resource = kind
    asked = {"verb": verb, "group": group, "resource": resource, "namespace": where, "name": name}
    body = {"spec": {"user": ACCOUNT, "resourceAttributes": asked}}
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    async with Client.from_kubeconfig(kubectl.server.kubeconfig) as client:
        answer = await client.request("POST", path, body=json.encode(body))
    allowed: bool = json.decode(answer)["status"]["allowed"]
    return allowed


def test_one_command_installs_it_on_a_new_cluster(kubectl: Kubectl) -> None:
    again = kubectl.attempt("apply", "-k", str(K8S))
    assert again.returncode == 0, again.stderr
    assert kubectl.exists("deployment", "advisor", "trimtab-system")
    assert kubectl.exists("validatingadmissionpolicybinding", "trimtab-advisor-approval")


def test_the_namespace_is_the_one_of_the_other_services() -> None:
    ours = yaml.safe_load((K8S / "namespace.yaml").read_text())
    theirs = yaml.safe_load_all((REPOSITORY / "k8s" / "namespaces.yaml").read_text())
    assert ours in list(theirs)


ALLOWED = [
    ("patch", CONFIG_MAPS, "kube-descheduler", "descheduler-policy"),
    ("create", CONFIG_MAPS, "monitoring", "trimtab-rules"),
    ("patch", DEPLOYMENTS, "kube-descheduler", "descheduler"),
    ("delete", CONFIG_MAPS, OPENSHIFT, "example-config"),
    ("patch", HCO, OPENSHIFT, "kubevirt-hyperconverged"),
    ("delete", MACHINES, "", "99-worker-psi-karg"),
    ("get", MACHINES, "", "rendered-worker-0"),
]
FORBIDDEN = [
    ("patch", DEPLOYMENTS, "kube-system", "descheduler"),
    ("create", DEPLOYMENTS, "kube-descheduler", "descheduler"),
    ("delete", DEPLOYMENTS, "kube-descheduler", "descheduler"),
    ("patch", DEPLOYMENTS, "kube-descheduler", "other"),
    ("patch", CONFIG_MAPS, "kube-system", "descheduler-policy"),
    ("get", CONFIG_MAPS, "kube-system", "trimtab-rules"),
    ("patch", CONFIG_MAPS, "monitoring", "descheduler-policy"),
    ("delete", HCO, OPENSHIFT, "kubevirt-hyperconverged"),
    ("create", HCO, OPENSHIFT, "kubevirt-hyperconverged"),
    ("get", HCO, OPENSHIFT, "other"),
    ("patch", MACHINES, "", "00-worker"),
    ("list", ("", "namespaces"), "", ""),
    ("list", SECRETS, "trimtab-system", ""),
    ("get", SECRETS, "kube-system", "virtplatformconfig-load-aware-rebalancing"),
    ("patch", CONFIGS, "", "load-aware-rebalancing"),
    ("delete", CONFIGS, "", "load-aware-rebalancing"),
    ("approve", CONFIGS, "", "load-aware-rebalancing"),
    ("create", ("rbac.authorization.k8s.io", "rolebindings"), "trimtab-system", ""),
    ("create", ("", "pods"), "trimtab-system", ""),
]


@pytest.mark.parametrize(("verb", "kind", "where", "name"), ALLOWED)
async def test_the_operator_may(
    with_targets: Kubectl, verb: str, kind: Kind, where: str, name: str
) -> None:
    assert await may(with_targets, verb, kind, where, name)


@pytest.mark.parametrize(("verb", "kind", "where", "name"), FORBIDDEN)
async def test_the_operator_may_not(
    with_targets: Kubectl, verb: str, kind: Kind, where: str, name: str
) -> None:
    assert not await may(with_targets, verb, kind, where, name)


def test_it_cannot_start_a_pod_under_somebody_elses_account(with_targets: Kubectl) -> None:
    pod = {
        "serviceAccountName": "namespace-controller",
        "containers": [{"name": "c", "image": "i"}],
    }
    labels = {"app": "x"}
    manifest: dict[str, Any] = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "descheduler", "namespace": "kube-system"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }
    flags = ("--server-side", "--dry-run=server", f"--as={ACCOUNT}")
    done = with_targets.attempt("apply", *flags, "-f", "-", text=yaml.safe_dump(manifest))
    assert "cannot patch resource" in done.stderr
