"""Hostile neighbours: callers who are not the API server, names, numbers, foreign pods."""

import ssl
from copy import deepcopy
from pathlib import Path
from typing import Any

import httpx2
import pytest
import trustme

from builders.labs.vmcluster import Cluster
from builders.waiting import wait_until
from trimtab.kube.client import Client
from trimtab.kube.errors import Forbidden, Invalid, TooManyRequests
from trimtab.kube.resources import PODS, Free
from trimtab.kube.virtual_machines import MIGRATIONS, VMS
from trimtab.lab.components.identity import kubeconfig_file
from trimtab.vm.decide.eviction import TRIGGERED
from trimtab.vm.launcher import IMAGE
from trimtab.vm.webhook import PATH

pytestmark = pytest.mark.engines


# Who calls the webhook


def caller(cluster: Cluster, certificate: tuple[Path, Path] | None = None) -> httpx2.Client:
    """A client of the webhook's port, with this certificate and key or none."""
    context = ssl.create_default_context(cafile=str(cluster.lab.dir / "pki/ca.crt"))
    if certificate is not None:
        context.load_cert_chain(*certificate)
    return httpx2.Client(
        base_url=cluster.lab.urls["webhook"], verify=context, trust_env=False, timeout=60
    )


def review(pod: str, namespace: str) -> Free:
    user = {"username": "system:admin"}
    return {"request": {"uid": "1", "name": pod, "namespace": namespace, "userInfo": user}}


def test_only_the_api_server_is_believed(cluster: Cluster, home: str, tmp_path: Path) -> None:
    vm = cluster.start_vm(home, "web")
    body, pki = review(vm.status.pod_name, home), cluster.lab.dir / "pki"
    with caller(cluster) as nobody:
        answer = nobody.post(PATH, json=body)
        assert (answer.status_code, "only the API server" in answer.text) == (403, True)
        assert nobody.get("/readyz").status_code == 200
    with caller(cluster, (pki / "kwok.crt", pki / "kwok.key")) as other_name:
        assert other_name.post(PATH, json=body).status_code == 403
    theirs = trustme.CA().issue_cert(common_name="kube-apiserver-webhook-client")
    pem = tmp_path / "theirs.pem"
    theirs.private_key_and_cert_chain_pem.write_to_path(str(pem))
    with caller(cluster, (pem, pem)) as other_ca, pytest.raises(httpx2.TransportError):
        other_ca.post(PATH, json=body)
    assert cluster.vm(home, "web").status.evacuation_node_name == ""
    with pytest.raises(TooManyRequests, match=TRIGGERED):
        cluster.evict(home, vm.status.pod_name)


def test_a_body_too_large_is_refused_without_being_held(cluster: Cluster) -> None:
    pki = cluster.lab.dir / "pki"
    name = "kube-apiserver-webhook-client"
    process = cluster.lab.processes()["webhook"]
    before = resident_kib(process.pid)
    with caller(cluster, (pki / f"{name}.crt", pki / f"{name}.key")) as server:
        try:
            answer = server.post(PATH, content=(b" " * 1024**2 for _ in range(300)))
            assert answer.status_code == 413
        except httpx2.TransportError:  # it hung up while we were still sending
            pass
        assert server.post(PATH, json={}).status_code == 400
    assert resident_kib(process.pid) - before < 50 * 1024
    assert cluster.lab.processes()["webhook"].pid == process.pid


def resident_kib(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


# Names and numbers


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"vmName": "../../default/virtualmachines/web"}, "spec.vmName"),
        ({"vmName": "../k5"}, "spec.vmName"),
        ({"vmName": "web\n"}, "spec.vmName"),
        ({"vmName": "web", "targetNode": "kwok-node-1\n"}, "spec.targetNode"),
        ({"vmName": "web", "targetNode": "a/b"}, "spec.targetNode"),
    ],
)
def test_a_migration_to_a_name_that_cannot_be_is_refused(
    cluster: Cluster, home: str, spec: Free, field: str
) -> None:
    body = {"metadata": {"name": "move", "namespace": home}, "spec": spec}
    with pytest.raises(Invalid) as caught:
        cluster.call(cluster.client.create(MIGRATIONS, body))
    assert [cause.field for cause in caught.value.causes] == [field]


@pytest.mark.parametrize(
    "spec",
    [
        {"utilization": {"cpu": 1e308}},
        {"utilization": {"memory": 1.01}},
        {"load": {"cpu": {"type": "constant", "value": 1e200}}},
        {"load": {"memory": {"type": "constant", "value": 5}}},
        {"load": {"memory": {"type": "steps", "points": [[0, 0.5], [60, 1.5]]}}},
        {"load": {"memory": {"type": "trace", "values": [0.5, 2]}}},
        {"load": {"cpu": {"type": "spikes", "base": 0, "peak": 1, "every": 1e-9, "lasts": 1e-9}}},
        {"load": {"cpu": {"type": "diurnal", "low": 0, "high": 1, "peakAt": 1e300}}},
        {"resources": {"cpu": "2M", "memory": "1Gi"}},
        {"resources": {"cpu": 2_000_000, "memory": "1Gi"}},
        {"resources": {"cpu": 1, "memory": "2Ei"}},
    ],
    ids=str,
)
def test_a_number_beyond_its_limit_is_refused_at_creation(
    cluster: Cluster, home: str, spec: Free
) -> None:
    body = {
        "metadata": {"name": "z", "namespace": home},
        "spec": {"resources": {"cpu": 1, "memory": "1Gi"}} | spec,
    }
    with pytest.raises(Invalid):
        cluster.call(cluster.client.create(VMS, body, dry_run=True))


def test_the_largest_that_are_allowed_run(cluster: Cluster, home: str) -> None:
    body = {
        "metadata": {"name": "z", "namespace": home},
        "spec": {
            "resources": {"cpu": "1M", "memory": 2**60},
            "load": {"memory": {"type": "steps", "points": [[0, 0.5], [1e9, 1]]}},
        },
    }
    cluster.call(cluster.client.create(VMS, body, dry_run=True))


def test_a_node_that_cannot_be_is_told_in_the_condition(cluster: Cluster, home: str) -> None:
    cluster.create_vm(home, "lost", node="kwok-node-1\n")

    def told() -> bool:
        ready = [c for c in cluster.vm(home, "lost").status.conditions if c.type == "Ready"]
        return any(c.reason == "PodRefused" and "kwok-node-1" in c.message for c in ready)

    wait_until(told, "the condition does not say why")


# Migrations go with their VM


def test_a_migration_written_by_hand_goes_with_its_vm(cluster: Cluster, home: str) -> None:
    cluster.start_vm(home, "web")
    cluster.migrate(home, "web", "by-hand")
    cluster.await_phase(home, "web", "Running")
    wait_until(
        lambda: [m.status.phase for m in cluster.migrations(home)] == ["Succeeded"], "not moved"
    )
    (migration,) = cluster.migrations(home)
    (owner,) = migration.metadata.owner_references
    assert (owner.kind, owner.name) == ("VirtualMachine", "web")
    cluster.call(cluster.client.delete(VMS, "web", home))
    wait_until(lambda: cluster.migrations(home) == [], "the migration outlives its VM")


def test_a_migration_of_no_vm_fails_and_is_cleaned_later(cluster: Cluster, home: str) -> None:
    cluster.migrate(home, "nobody", "stray")
    reasons: set[str] = set()

    def told() -> bool:
        reasons.update(each.status.reason for each in cluster.migrations(home))
        return any(reasons)

    wait_until(told, "no reason")
    assert reasons - {""} == {f'there is no VM "{home}/nobody"'}
    wait_until(lambda: cluster.migrations(home) == [], "it stays for ever")


# What the controller may do with pods


def launcher(cluster: Cluster, home: str) -> Free:
    """A pod as the controller makes it, for a VM that exists."""
    vm = cluster.start_vm(home, "web")
    owner = {
        "apiVersion": "trimtab.dev/v1alpha1",
        "kind": "VirtualMachine",
        "name": "web",
        "uid": vm.metadata.uid,
        "controller": True,
    }
    return {
        "metadata": {
            "name": "virt-launcher-web-extra",
            "namespace": home,
            "labels": {"app": "virt-launcher"},
            "ownerReferences": [owner],
        },
        "spec": {
            "containers": [{"name": "compute", "image": IMAGE}],
            "automountServiceAccountToken": False,
        },
    }


FORBIDDEN: dict[str, Any] = {
    "another name": lambda pod: pod["metadata"].update(name="web"),
    "no label": lambda pod: pod["metadata"].update(labels={}),
    "no owner": lambda pod: pod["metadata"].pop("ownerReferences"),
    "another owner": lambda pod: pod["metadata"]["ownerReferences"][0].update(
        kind="ConfigMap", apiVersion="v1"
    ),
    "not its controller": lambda pod: pod["metadata"]["ownerReferences"][0].pop("controller"),
    "another image": lambda pod: pod["spec"]["containers"][0].update(image="evil"),
    "a second container": lambda pod: pod["spec"]["containers"].append(
        {"name": "b", "image": IMAGE}
    ),
    "an init container": lambda pod: pod["spec"].update(
        initContainers=[{"name": "i", "image": IMAGE}]
    ),
    "a command": lambda pod: pod["spec"]["containers"][0].update(command=["sh"]),
    "the host's files": lambda pod: pod["spec"].update(
        volumes=[{"name": "h", "hostPath": {"path": "/"}}]
    ),
    "a secret": lambda pod: pod["spec"].update(
        volumes=[{"name": "s", "secret": {"secretName": "s"}}]
    ),
    "the host's network": lambda pod: pod["spec"].update(hostNetwork=True),
    "the host's processes": lambda pod: pod["spec"].update(hostPID=True),
    "a token": lambda pod: pod["spec"].update(automountServiceAccountToken=True),
    "no word about a token": lambda pod: pod["spec"].pop("automountServiceAccountToken"),
    "privileges": lambda pod: pod["spec"]["containers"][0].update(
        securityContext={"capabilities": {"add": ["SYS_ADMIN"]}}
    ),
    "a node of its choice": lambda pod: pod["spec"].update(nodeName="kwok-node-1"),
}


def as_controller(cluster: Cluster) -> Client:
    return Client.from_kubeconfig(cluster.lab.dir / kubeconfig_file("vm-controller"))


def test_the_controller_creates_launchers_of_vms_and_no_other_pod(
    cluster: Cluster, home: str
) -> None:
    pod = launcher(cluster, home)

    async def try_all() -> dict[str, str]:
        refused = {}
        async with as_controller(cluster) as client:
            await client.create(PODS, pod, dry_run=True)
            for what, change in FORBIDDEN.items():
                other = deepcopy(pod)
                change(other)
                try:
                    await client.create(PODS, other, dry_run=True)
                except Forbidden as error:
                    refused[what] = error.message
        return refused

    refused = cluster.call(try_all())
    assert refused.keys() == FORBIDDEN.keys()
    assert all("the vm-controller creates" in message for message in refused.values())


def test_the_controller_changes_and_deletes_launchers_only(cluster: Cluster, home: str) -> None:
    own = cluster.start_vm(home, "web").status.pod_name
    other = {
        "metadata": {"name": "database", "namespace": home},
        "spec": {"containers": [{"name": "c", "image": "none"}]},
    }
    cluster.call(cluster.client.create(PODS, other))

    async def try_all() -> list[str]:
        image = [{"op": "replace", "path": "/spec/containers/0/image", "value": "evil"}]
        refused = []
        async with as_controller(cluster) as client:
            for attempt in (
                client.patch(PODS, own, image, home, dry_run=True),
                client.patch(PODS, "database", {"metadata": {"labels": {"a": "b"}}}, home),
                client.delete(PODS, "database", home),
            ):
                with pytest.raises(Forbidden) as caught:
                    await attempt
                refused.append(caught.value.message)
            await client.patch(PODS, own, {"metadata": {"labels": {"a": "b"}}}, home)
        return refused

    assert all("virt-launcher pods only" in message for message in cluster.call(try_all()))
    cluster.delete_pod(home, "database", grace_s=0)
