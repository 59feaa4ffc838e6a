"""k8s/qos/make-host-files.sh on a real control plane: what the static pod reads on its host."""

import base64
import json
import os
import ssl
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509

from builders.labs.queues import QueueLab
from builders.values.manifests import K8S
from builders.waiting import LIMIT_S
from trimtab.engines import locate

pytestmark = pytest.mark.engines
BUNDLE = "/webhooks/0/clientConfig/caBundle"


@pytest.fixture
def bundle(queue: QueueLab) -> Iterator[None]:
    """The lab's own CA comes back afterwards: its webhook has a certificate of that one."""
    before = ca_bundle(queue)
    yield
    patch = [{"op": "replace", "path": BUNDLE, "value": before}]
    webhook = ("mutatingwebhookconfiguration", "trimtab-qos")
    queue.lab.kubectl("patch", *webhook, "--type=json", "-p", json.dumps(patch))


def ca_bundle(queue: QueueLab) -> str:
    found = queue.lab.get("mutatingwebhookconfiguration", "trimtab-qos")
    text: str = found["webhooks"][0]["clientConfig"]["caBundle"]
    return text


def make_host_files(queue: QueueLab, directory: Path) -> None:
    done = subprocess.run(
        [str(K8S / "qos" / "make-host-files.sh"), "--directory", str(directory)],
        env={
            "PATH": f"{locate('kubectl').parent}:{os.environ['PATH']}",
            "HOME": str(directory),
            "KUBECONFIG": str(queue.lab.kubeconfig),
        },
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_host_gets_credentials_of_the_service_and_a_certificate_that_is_trusted(
    queue: QueueLab, bundle: None, tmp_path: Path
) -> None:
    make_host_files(queue, tmp_path)
    kubeconfig, directory = tmp_path / "trimtab-qos.conf", tmp_path / "trimtab-qos"
    for file in (kubeconfig, directory / "tls.crt", directory / "tls.key"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    who = queue.lab.kubectl("--kubeconfig", str(kubeconfig), "auth", "whoami", "-o", "json")
    user = json.loads(who)["status"]["userInfo"]["username"]
    assert user == "system:serviceaccount:trimtab-system:qos"

    ca = x509.load_pem_x509_certificate(base64.b64decode(ca_bundle(queue)))
    ours = x509.load_pem_x509_certificate((directory / "tls.crt").read_bytes())
    ours.verify_directly_issued_by(ca)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(directory / "tls.crt", directory / "tls.key")

    make_host_files(queue, tmp_path)  # renewed on another day, or on the next host: the same CA
    assert x509.load_pem_x509_certificate(base64.b64decode(ca_bundle(queue))) == ca
