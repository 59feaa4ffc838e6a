"""Every manifest of k8s/ in front of the real API server, as kubectl sends it.

Namespaces and definitions are created, because other objects need them; everything else is a
server-side dry run with strict field validation: defaults, schemas, CEL and admission all run.
"""

import base64
import json
import os
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from builders.labs.kubectl import kubectl
from builders.values.manifests import K8S, documents, of_kind
from builders.waiting import LIMIT_S
from conformance.apiserver import ApiServer
from trimtab.engines import locate

pytestmark = pytest.mark.engines
FIRST = ("namespaces.yaml", "virtualmachine-crd.yaml")
FILES = sorted({p.name for p in K8S.glob("*.yaml")} - {"kustomization.yaml", *FIRST})


class Cluster:
    def __init__(self, server: ApiServer) -> None:
        self.server = server

    def kubectl(self, *arguments: str, stdin: str = "") -> str:
        return kubectl(self.server, *arguments, stdin=stdin, may_warn=False)

    @property
    def env(self) -> dict[str, str]:
        return {
            "PATH": f"{locate('kubectl').parent}:{os.environ['PATH']}",
            "HOME": str(self.server.directory),
            "KUBECONFIG": str(self.server.kubeconfig),
        }

    def read(self, path: str) -> Any:
        """An object, without a start of kubectl."""
        url, tls = f"{self.server.url}{path}", self.server.tls()
        with urllib.request.urlopen(url, context=tls, timeout=LIMIT_S) as answer:
            return json.load(answer)

    def accepts(self, *arguments: str, stdin: str = "") -> str:
        """A server-side dry run; what kubectl says about each object."""
        how = ("apply", "--server-side", "--dry-run=server", "--validate=strict")
        return self.kubectl(*how, *arguments, stdin=stdin)


@pytest.fixture(scope="module")
def cluster(server: ApiServer) -> Cluster:
    return Cluster(server)


@pytest.fixture(scope="module")
def with_secrets(cluster: Cluster) -> Cluster:
    cluster.kubectl("apply", "--server-side", "-f", str(K8S / "eviction-webhook.yaml"))
    make_secrets(cluster)
    return cluster


def test_the_base_is_accepted_whole(cluster: Cluster) -> None:
    said = cluster.accepts("-k", str(K8S)).splitlines()
    built = list(yaml.safe_load_all(cluster.kubectl("kustomize", str(K8S))))
    assert len(said) == len(built) > 50


def test_each_other_file_can_be_applied_by_itself(cluster: Cluster) -> None:
    """As people do it: client-side, whose annotation must hold the whole object.

    One call for all, because a dry run leaves nothing behind that another file could lean on;
    kubectl goes on after a refusal and names the file.
    """
    assert all(documents(name) for name in FILES)
    files = [option for name in FILES for option in ("-f", str(K8S / name))]
    said = cluster.kubectl("apply", "--dry-run=server", "--validate=strict", *files)
    assert len(said.splitlines()) == sum(len(documents(name)) for name in FILES)


@pytest.mark.parametrize("overlay", ["overlays/kind", "grafana", "page"])
def test_what_goes_beside_the_base_is_accepted(cluster: Cluster, overlay: str) -> None:
    assert cluster.accepts("-k", str(K8S / overlay))


def test_objects_of_the_prometheus_operator_fit_its_fields(cluster: Cluster) -> None:
    definitions = [_crd(kind, spec) for kind, spec in OPERATOR.items()]
    cluster.kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump_all(definitions))
    names = [f"crd/{each['metadata']['name']}" for each in definitions]
    cluster.kubectl("wait", "--for=condition=Established", "--timeout=300s", *names)
    assert len(cluster.accepts("-k", str(K8S / "overlays/prometheus-operator")).splitlines()) == 4


def test_every_pod_meets_the_restricted_profile(cluster: Cluster) -> None:
    pods = [pod_of(deployment) for deployment in of_kind("Deployment")]
    said = cluster.accepts("-f", "-", stdin=yaml.safe_dump_all(pods))
    assert len(said.splitlines()) == len(pods) > 0
    for pod in pods:
        for container in pod["spec"]["containers"]:
            assert container["securityContext"]["readOnlyRootFilesystem"] is True, pod["metadata"]


def pod_of(deployment: dict[str, Any]) -> dict[str, Any]:
    template = deployment["spec"]["template"]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": deployment["metadata"]["name"],
            "namespace": "trimtab-system",
            "labels": template["metadata"]["labels"],
        },
        "spec": template["spec"],
    }


def test_the_namespace_of_that_test_would_refuse_a_careless_pod(cluster: Cluster) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "careless", "namespace": "trimtab-system"},
        "spec": {"containers": [{"name": "c", "image": "none"}]},
    }
    with pytest.raises(AssertionError, match="violates PodSecurity"):
        cluster.accepts("-f", "-", stdin=yaml.safe_dump(pod))


def test_secrets_are_made_once_and_the_webhook_is_trusted(with_secrets: Cluster) -> None:
    cluster = with_secrets
    first = {name: secret(cluster, *name) for name in SECRETS}
    bundle = ca_bundle(cluster)
    issued = x509.load_pem_x509_certificate(first["default", "eviction-webhook-tls"]["tls.crt"])
    issued.verify_directly_issued_by(x509.load_pem_x509_certificate(bundle))
    names = issued.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "eviction-webhook.default.svc" in names.get_values_for_type(x509.DNSName)
    assert len(first["monitoring", "metrics-exporter-token"]["token"]) == 48

    make_secrets(cluster)
    assert {name: secret(cluster, *name) for name in SECRETS} == first
    assert ca_bundle(cluster) == bundle

    # applying the manifest again must not take the bundle away
    cluster.kubectl("apply", "--server-side", "-f", str(K8S / "eviction-webhook.yaml"))
    assert ca_bundle(cluster) == bundle


def test_a_lost_certificate_is_issued_again_by_the_same_ca(with_secrets: Cluster) -> None:
    cluster = with_secrets
    bundle, old = ca_bundle(cluster), secret(cluster, "default", "eviction-webhook-tls")
    cluster.kubectl("delete", "secret", "-n", "default", "eviction-webhook-tls")
    make_secrets(cluster)
    new = secret(cluster, "default", "eviction-webhook-tls")
    assert new["tls.crt"] != old["tls.crt"]
    assert ca_bundle(cluster) == bundle
    key = serialization.load_pem_private_key(new["tls.key"], None)
    public = x509.load_pem_x509_certificate(new["tls.crt"]).public_key()
    assert key.public_key() == public


SECRETS = [
    ("trimtab-system", "eviction-webhook-ca"),
    ("default", "eviction-webhook-tls"),
    ("monitoring", "metrics-exporter-token"),
]
TEXT, MAP = {"type": "string"}, {"type": "object", "additionalProperties": {"type": "string"}}
OPERATOR: dict[str, dict[str, Any]] = {
    # the operator's fields that we use; strict validation refuses any other
    "ServiceMonitor": {
        "selector": {"type": "object", "properties": {"matchLabels": MAP}},
        "namespaceSelector": {
            "type": "object",
            "properties": {"matchNames": {"type": "array", "items": TEXT}},
        },
        "endpoints": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    **dict.fromkeys(("port", "path", "interval", "scrapeTimeout"), TEXT),
                    "honorLabels": {"type": "boolean"},
                },
            },
        },
    },
    "PrometheusRule": {
        "groups": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": TEXT,
                    "interval": TEXT,
                    "rules": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["expr"],
                            "properties": {
                                **dict.fromkeys(("record", "alert", "expr", "for"), TEXT),
                                "keep_firing_for": TEXT,
                                "labels": MAP,
                                "annotations": MAP,
                            },
                        },
                    },
                },
            },
        }
    },
}


def _crd(kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.monitoring.coreos.com"},
        "spec": {
            "group": "monitoring.coreos.com",
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural},
            "versions": [version],
        },
    }


def make_secrets(cluster: Cluster) -> None:
    script: Path = K8S / "make-secrets.sh"
    done = subprocess.run(
        [str(script)], env=cluster.env, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert done.returncode == 0, done.stderr


def secret(cluster: Cluster, namespace: str, name: str) -> dict[str, bytes]:
    found = cluster.read(f"/api/v1/namespaces/{namespace}/secrets/{name}")
    return {key: base64.b64decode(value) for key, value in found["data"].items()}


def ca_bundle(cluster: Cluster) -> bytes:
    webhooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    found = cluster.read(f"{webhooks}/trimtab-eviction")
    return base64.b64decode(found["webhooks"][0]["clientConfig"]["caBundle"])
