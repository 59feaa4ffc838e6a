"""What protects running VMs, and whom it must not hinder, with the webhook up and down."""

import base64
import os
import signal
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import pytest
import trustme

from builders.labs.vmcluster import Cluster
from trimtab.files.writing import write_private
from trimtab.install.vm.eviction_webhook import WEBHOOK
from trimtab.kube.errors import Forbidden, TooManyRequests, Unavailable
from trimtab.kube.resources import NAMESPACES, PODS, PRIORITY_CLASSES, free_kind
from trimtab.kube.virtual_machines import VMS
from trimtab.vm.decide.eviction import TRIGGERED

pytestmark = pytest.mark.engines
HOOKS = free_kind(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)


@contextmanager
def frozen_webhook(cluster: Cluster) -> Iterator[None]:
    """The webhook does not answer; the supervisor does not notice."""
    pid = cluster.lab.processes()["webhook"].pid
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_a_running_vm_is_not_deleted_by_deleting_its_pod(cluster: Cluster, home: str) -> None:
    vm = cluster.start_vm(home, "web")
    with pytest.raises(Forbidden, match="trimtab vm migrate web, or stop it with: trimtab vm stop"):
        cluster.delete_pod(home, vm.status.pod_name)
    with pytest.raises(Forbidden, match="is not deleted directly"):
        cluster.delete_pod(home, vm.status.pod_name, grace_s=0)
    listed = cluster.client.request("DELETE", PODS.path(home))
    with pytest.raises(Forbidden, match="is not deleted directly"):
        cluster.call(listed)
    assert cluster.vm(home, "web").status.pod_name == vm.status.pod_name


def test_other_pods_are_nobodys_business(cluster: Cluster, home: str) -> None:
    pod = {
        "metadata": {"name": "virt-launcher-by-name-only", "namespace": home},
        "spec": {
            "containers": [{"name": "c", "image": "none"}],
            "terminationGracePeriodSeconds": 0,
        },
    }
    for remove in (cluster.delete_pod, cluster.evict):
        cluster.call(cluster.client.create(PODS, pod))
        remove(home, "virt-launcher-by-name-only")
        assert cluster.lab.get("pods", "-n", home)["items"] == []


def test_without_the_webhook_evictions_fail_and_everything_else_works(
    cluster: Cluster, home: str
) -> None:
    evicted = cluster.start_vm(home, "evicted")
    for name in ("deleted", "stopped"):
        cluster.start_vm(home, name)
    tainted = cluster.start_vm(home, "tainted", node="kwok-node-2")
    doomed = cluster.new_namespace("doomed")
    cluster.start_vm(doomed, "web")
    with frozen_webhook(cluster):
        cluster.call(cluster.client.delete(VMS, "deleted", home))
        cluster.patch_vm(home, "stopped", {"spec": {"running": False}})
        cluster.call(cluster.client.delete(NAMESPACES, doomed))
        cluster.lab.kubectl("taint", "node", "kwok-node-2", "test=now:NoExecute")
        try:
            cluster.wait(
                lambda: (
                    cluster.vm(home, "tainted").status.node_name
                    not in ("", tainted.status.node_name)
                ),
                "taint eviction does not work",
            )
        finally:
            cluster.lab.kubectl("taint", "node", "kwok-node-2", "test-")
        cluster.await_phase(home, "stopped", "Stopped")
        cluster.wait(lambda: cluster.pods(doomed) == [], "namespace deletion does not work")
        cluster.wait(
            lambda: not any("-deleted-" in pod.metadata.name for pod in cluster.pods(home)),
            "garbage collection does not work",
        )
        with pytest.raises(Unavailable, match="failed calling webhook"):
            cluster.evict(home, evicted.status.pod_name)
        assert cluster.vm(home, "evicted").status.evacuation_node_name == ""
    cluster.wait(lambda: _judged(cluster, home, "evicted"), "the webhook does not recover")


def _judged(cluster: Cluster, home: str, vm: str) -> bool:
    try:
        cluster.evict(home, cluster.vm(home, vm).status.pod_name)
    except TooManyRequests as error:
        return TRIGGERED in error.message
    except Unavailable:
        return False
    raise AssertionError("the eviction was allowed")


def test_a_pod_of_higher_priority_may_take_the_place_of_a_vm(cluster: Cluster, home: str) -> None:
    vm = cluster.start_vm(home, "web", cpu="60", node="kwok-node-1")  # uses 30 of 32 cores
    urgent = {"metadata": {"name": "urgent"}, "value": 1000}
    cluster.call(cluster.client.create(PRIORITY_CLASSES, urgent))
    pod = {
        "metadata": {"name": "urgent", "namespace": home},
        "spec": {
            "priorityClassName": "urgent",
            "terminationGracePeriodSeconds": 0,
            "nodeSelector": {"kubernetes.io/hostname": "kwok-node-1"},
            "containers": [
                {"name": "c", "image": "none", "resources": {"requests": {"cpu": "20"}}}
            ],
        },
    }

    def is_admitted() -> bool:
        try:
            cluster.call(cluster.client.create(PODS, pod))
        except Forbidden:  # admission hears of a new PriorityClass a little later
            return False
        return True

    cluster.wait(is_admitted, "the pod was not admitted")
    cluster.wait(
        lambda: cluster.vm(home, "web").status.node_name not in ("", "kwok-node-1"),
        "the VM was not preempted",
    )
    assert cluster.await_phase(home, "web", "Running").status.pod_name != vm.status.pod_name
    cluster.delete_pod(home, "urgent")


def test_certificate_and_authority_are_changed_without_a_restart(
    cluster: Cluster, home: str
) -> None:
    names = ("both", "new", "old")
    for name in names:
        cluster.start_vm(home, name)
    process = cluster.lab.processes()["webhook"]
    pki = cluster.lab.dir / "pki"
    old_ca = (pki / "ca.crt").read_bytes()
    old = [(pki / f"webhook-server.{part}").read_bytes() for part in ("key", "crt")]
    authority = trustme.CA(key_type=trustme.KeyType.ECDSA)
    new_ca = authority.cert_pem.bytes()
    leaf = authority.issue_cert("127.0.0.1", "localhost")
    new = [leaf.private_key_pem.bytes(), leaf.cert_chain_pems[0].bytes()]

    trust(cluster, old_ca + new_ca)
    present(cluster, *new)
    cluster.wait(lambda: _judged(cluster, home, "both"), "not with both authorities")
    trust(cluster, new_ca)
    cluster.wait(lambda: _judged(cluster, home, "new"), "not with the new one alone")
    trust(cluster, old_ca)
    present(cluster, *old)
    cluster.wait(lambda: _judged(cluster, home, "old"), "not when it is changed back")
    assert cluster.lab.processes()["webhook"] == process


def present(cluster: Cluster, key: bytes, certificate: bytes) -> None:
    """Replace the webhook's files and wait until new connections get the new certificate."""
    pki = cluster.lab.dir / "pki"
    write_private(pki / "webhook-server.key", key)
    write_private(pki / "webhook-server.crt", certificate)
    wanted = ssl.PEM_cert_to_DER_cert(certificate.decode())
    port = cluster.lab.status().ports["webhook"]
    cluster.wait(lambda: _served(port) == wanted, "the new certificate is not served")


def trust(cluster: Cluster, bundle: bytes) -> None:
    patch = [
        {
            "op": "replace",
            "path": "/webhooks/0/clientConfig/caBundle",
            "value": base64.b64encode(bundle).decode(),
        }
    ]
    cluster.call(cluster.client.patch(HOOKS, WEBHOOK, patch))


def _served(port: int) -> bytes:
    return ssl.PEM_cert_to_DER_cert(ssl.get_server_certificate(("127.0.0.1", port)))


@pytest.mark.parametrize(
    ("service", "verb", "group", "resource"),
    [
        ("webhook", "delete", "", "pods"),
        ("webhook", "get", "", "secrets"),
        ("webhook", "patch", "trimtab.dev", "virtualmachines"),
        ("vm-controller", "get", "", "secrets"),
        ("vm-controller", "create", "", "pods/eviction"),
        ("vm-controller", "update", "trimtab.dev", "virtualmachines"),
        ("vm-controller", "patch", "", "nodes"),
    ],
)
def test_the_services_may_not_do_what_they_need_not(
    cluster: Cluster, service: str, verb: str, group: str, resource: str
) -> None:
    name, _, part = resource.partition("/")
    attributes = {"verb": verb, "group": group, "resource": name, "subresource": part}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": f"system:serviceaccount:trimtab-system:{service}",
            "resourceAttributes": attributes,
        },
    }
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    answer = cluster.call(cluster.client.request("POST", path, None, msgspec.json.encode(review)))
    assert msgspec.json.decode(answer)["status"]["allowed"] is False
