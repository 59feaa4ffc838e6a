"""A look at a real API server, with the rights that we ship and no others."""

import asyncio
import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from builders.waiting import LIMIT_S
from conformance.apiserver import ApiServer, running_apiserver
from trimtab.cli.main import app
from trimtab.install.observe.rbac import NAME, snapshot_rbac
from trimtab.kube.client import Client
from trimtab.kube.errors import Forbidden, NotFound
from trimtab.kube.resources import CONFIG_MAPS, CRDS, NAMESPACES, NODES, PODS, SECRETS, free_kind
from trimtab.model.snapshot import EVICTION_IN_PROGRESS, REQUEST_EVICT_ONLY, Volume, encode, load
from trimtab.observe.look import Look, look
from trimtab.observe.policy_source import read_config_map
from trimtab.observe.wire import INSTANCES
from trimtab.policy.snapshot_view import policy_of
from trimtab.truth.explain.outcome_texts import EVICTION_ANSWER
from trimtab.truth.explain.remarks import in_flight_report

pytestmark = pytest.mark.engines

ACCOUNT = "system:serviceaccount:kube-descheduler:snapshot"
EXAMPLE = Path(__file__).parents[3] / "examples/policies/requests.yaml"
DEPLOYMENTS = free_kind("apps", "v1", "deployments", "Deployment")
_RBAC = "rbac.authorization.k8s.io"
KINDS = {
    "ServiceAccount": free_kind("", "v1", "serviceaccounts", "ServiceAccount"),
    "ClusterRole": free_kind(_RBAC, "v1", "clusterroles", "ClusterRole", namespaced=False),
    "ClusterRoleBinding": free_kind(
        _RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False
    ),
    "Role": free_kind(_RBAC, "v1", "roles", "Role"),
    "RoleBinding": free_kind(_RBAC, "v1", "rolebindings", "RoleBinding"),
}


def kubevirt_crd() -> dict[str, Any]:
    """As much of KubeVirt's definition as makes the kind exist."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "virtualmachineinstances.kubevirt.io"},
        "spec": {
            "group": "kubevirt.io",
            "scope": "Namespaced",
            "names": {"plural": "virtualmachineinstances", "kind": "VirtualMachineInstance"},
            "versions": [version],
        },
    }


def a_launcher(vm: str, **annotations: str) -> dict[str, Any]:
    known = {"kubevirt.io/domain": vm, "secret": "hidden", REQUEST_EVICT_ONLY: "", **annotations}
    owner = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "name": vm}
    container = {"name": "compute", "image": "x", "env": [{"name": "TOKEN", "value": "hidden"}]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"virt-launcher-{vm}",
            "namespace": "default",
            "labels": {"kubevirt.io": "virt-launcher"},
            "annotations": known,
            "ownerReferences": [{**owner, "uid": f"uid-{vm}"}],
        },
        "spec": {
            "nodeName": "n1",
            "containers": [container],
            "volumes": [{"name": "v", "emptyDir": {}}],
        },
    }


async def furnish(server: ApiServer) -> None:
    """Two nodes, two VMs of KubeVirt's, a policy, a descheduler, a secret, and the rights."""
    async with Client.from_kubeconfig(server.kubeconfig) as client:
        await client.create(NAMESPACES, {"metadata": {"name": "kube-descheduler"}})
        for manifest in snapshot_rbac():
            await client.create(KINDS[manifest["kind"]], manifest)
        for name in ("n1", "n2"):
            await client.create(NODES, {"metadata": {"name": name, "labels": {"zone": name}}})
        data = {"policy.yaml": EXAMPLE.read_text()}
        place = {"name": "descheduler-policy", "namespace": "kube-descheduler"}
        await client.create(CONFIG_MAPS, {"metadata": place, "data": data})
        token = base64.b64encode(b"hidden").decode()
        await client.create(
            SECRETS, {"metadata": {**place, "name": "token"}, "data": {"token": token}}
        )
        await client.create(DEPLOYMENTS, a_descheduler())
        await client.create(CRDS, kubevirt_crd())
        await instances(client)
        await client.create(PODS, a_launcher("stuck"))
        await client.create(PODS, a_launcher("moving", **{EVICTION_IN_PROGRESS: "true"}))


async def instances(client: Client) -> None:
    """As soon as the kind is served."""
    for name, migratable in (("stuck", "False"), ("moving", "True")):
        condition = {"type": "LiveMigratable", "status": migratable}
        manifest = {
            "apiVersion": "kubevirt.io/v1",
            "kind": "VirtualMachineInstance",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"evictionStrategy": "LiveMigrate"},
            "status": {"nodeName": "n1", "conditions": [condition]},
        }
        path = INSTANCES.path("default")
        async with asyncio.timeout(LIMIT_S):
            while True:
                try:
                    await client.request("POST", path, body=msgspec.json.encode(manifest))
                    break
                except NotFound:
                    await asyncio.sleep(0.1)


def a_descheduler() -> dict[str, Any]:
    container = {
        "name": "descheduler",
        "image": "registry.k8s.io/descheduler/descheduler:v0.36.0",
        "args": ["--feature-gates=EvictionsInBackground=true"],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "descheduler", "namespace": "kube-descheduler"},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [container]},
            },
        },
    }


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with running_apiserver() as server:
        asyncio.run(furnish(server))
        yield server


@pytest.fixture(scope="module")
def seen(server: ApiServer) -> Look:
    async def take() -> Look:
        async with Client.from_kubeconfig(server.kubeconfig_for(server.url, ACCOUNT)) as client:
            return await look(client, await read_config_map(client), None)

    return asyncio.run(take())


def test_the_least_rights_see_everything(seen: Look) -> None:
    assert seen.notes == ()
    assert [node.name for node in seen.snapshot.nodes] == ["n1", "n2"]
    assert policy_of(seen.snapshot).max_per_namespace == 10
    assert seen.snapshot.versions["descheduler"] == "v0.36.0"
    assert seen.snapshot.versions["kubernetes"].startswith("v1.")
    assert seen.snapshot.evictions_in_background


def test_vms_of_kubevirt_tell_their_pods(seen: Look) -> None:
    pods = {pod.name: pod for pod in seen.snapshot.pods}
    assert pods["virt-launcher-stuck"].annotations == {
        REQUEST_EVICT_ONLY: "",
        EVICTION_ANSWER: "refused: the VM is not live-migratable",
    }
    assert pods["virt-launcher-stuck"].volumes[0] == Volume("emptyDir")
    report = in_flight_report(seen.snapshot, policy_of(seen.snapshot))
    assert (report.known, report.further_at_most) == (1, 1)


def test_nothing_secret_is_in_the_file(seen: Look) -> None:
    assert b"hidden" not in encode(seen.snapshot)


def test_the_account_can_neither_read_secrets_nor_write(server: ApiServer) -> None:
    async def attempt() -> None:
        async with Client.from_kubeconfig(server.kubeconfig_for(server.url, ACCOUNT)) as client:
            with pytest.raises(Forbidden):
                await client.list(SECRETS, "kube-descheduler")
            with pytest.raises(Forbidden):
                await client.create(NODES, {"metadata": {"name": "mine"}})
            with pytest.raises(Forbidden):
                await client.evict("virt-launcher-stuck", "default")

    asyncio.run(attempt())


def test_what_may_not_be_read_is_said(server: ApiServer) -> None:
    """The account of a team that may list pods and nodes only."""
    stranger = "stranger"

    async def take() -> Look:
        async with Client.from_kubeconfig(server.kubeconfig) as admin:
            policy = await read_config_map(admin)
            role = {"metadata": {"name": f"{NAME}:some"}} | {
                "rules": [{"apiGroups": [""], "resources": ["pods", "nodes"], "verbs": ["list"]}]
            }
            await admin.create(KINDS["ClusterRole"], role)
            binding = {
                "metadata": {"name": f"{NAME}:some"},
                "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": f"{NAME}:some"},
                "subjects": [{"kind": "User", "name": stranger, "apiGroup": _RBAC}],
            }
            await admin.create(KINDS["ClusterRoleBinding"], binding)
        async with Client.from_kubeconfig(server.kubeconfig_for(server.url, stranger)) as client:
            return await look(client, policy, None)

    notes = asyncio.run(take()).notes
    for what in ("namespaces", "persistentvolumeclaims", "virtualmachineinstances"):
        assert any(note.startswith(what) for note in notes), notes
    assert any("no descheduler's workload was found" in note for note in notes)


def test_a_snapshot_without_a_sample_is_written_and_no_success(
    server: ApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def snapshot(policy: str) -> int:
        where = ["--kubeconfig", str(server.kubeconfig), "--prometheus", "http://127.0.0.1:1"]
        file = EXAMPLE.with_name(policy)
        command = ["snapshot", *where, "--policy", str(file), "-o", str(tmp_path / "now.yaml")]
        return int(app(command, result_action="return_value", exit_on_error=False))

    assert snapshot("default.yaml") == 1
    assert "no samples: the query failed" in capsys.readouterr().err
    assert load(tmp_path / "now.yaml").query is not None
    assert snapshot("requests.yaml") == 0  # it has no query
