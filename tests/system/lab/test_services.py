"""What a stack puts on top: services with accounts, tokens, objects and components of their own."""

import time
from pathlib import Path

import pytest

from builders.lab import a_script, running_lab, wait_until
from trimtab.lab import Contribution, Lab, Service, Stack
from trimtab.lab.api import Api, ApiError
from trimtab.lab.component import LogLine
from trimtab.lab.identity import kubeconfig_file, token_file

pytestmark = pytest.mark.engines

READER = "descheduler"
RBAC = (
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "reader"},
        "rules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}],
    },
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "reader"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "reader",
        },
        "subjects": [
            {"kind": "ServiceAccount", "name": READER, "namespace": "trimtab-system"},
        ],
    },
)
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.example.dev"},
    "spec": {
        "group": "example.dev",
        "scope": "Namespaced",
        "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "Things"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}
THING = {
    "apiVersion": "example.dev/v1",
    "kind": "Thing",
    "metadata": {"name": "first", "namespace": "default"},
}


def contribute(lab: Lab) -> Contribution:
    """A service that lists nodes with its token, over and over, as kubectl."""
    config = kubeconfig_file(READER)
    listing = f"{lab.program('kubectl')} --kubeconfig={config} get nodes --no-headers"
    return Contribution(
        components=(
            a_script(
                READER,
                f"while {listing}; do sleep 0.2; done; exit 1",
                needs=("tokens",),
                probes=(LogLine("kwok-node-1"),),
            ),
        ),
        services=(Service(READER, lifetime_s=600, renew_after_s=1.0),),
        objects=(*RBAC, CRD, THING),
    )


def test_a_service_acts_under_its_own_account_with_a_token_that_is_renewed(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    stack = Stack(name="reading", contribute=contribute)
    with running_lab(tmp_path_factory, stacks=(stack,), nodes=1) as lab:
        token = lab.dir / token_file(READER)
        first = token.read_text()
        assert token.stat().st_mode & 0o777 == 0o600
        wait_until(lambda: token.read_text() != first, "the token is still the first one")
        config = str(lab.dir / kubeconfig_file(READER))
        who = lab.kubectl("auth", "whoami", "--kubeconfig", config, "-o", "json")
        assert f"system:serviceaccount:trimtab-system:{READER}" in who
        assert lab.get("thing", "first")["kind"] == "Thing"
        assert lab.status().stacks == ("reading",)
        assert lab.await_ready().phase == "ready"


async def test_each_program_has_no_more_rights_than_it_needs(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with running_lab(tmp_path_factory, nodes=1) as lab:
        server, pki = lab.status().server, Path(lab.dir / "pki")
        kwok = Api(server, pki, "kwok")
        try:
            await kwok.get("/api/v1/nodes")
            for forbidden in ("/api/v1/secrets", "/api/v1/namespaces/default/configmaps"):
                with pytest.raises(ApiError) as caught:
                    await kwok.get(forbidden)
                assert caught.value.status == 403
        finally:
            await kwok.close()
        node = lab.get("node", "kwok-node-1", "--show-managed-fields")
        owners = {entry["manager"] for entry in node["metadata"]["managedFields"]}
        assert "kwok" in owners


def test_an_open_watch_does_not_delay_down(tmp_path_factory: pytest.TempPathFactory) -> None:
    import subprocess

    from trimtab.engines import locate

    with running_lab(tmp_path_factory, nodes=1) as lab:
        watch = subprocess.Popen(
            [
                str(locate("kubectl")),
                "--kubeconfig",
                str(lab.kubeconfig),
                "get",
                "pods",
                "-A",
                "-w",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            log = lab.lab.log("kube-apiserver")
            time.sleep(1.0)
            assert log.exists()
            lab.down()
            assert lab.left_over() == []
            assert "SIGKILL" not in lab.lab.log("supervisor").read_text()
        finally:
            watch.kill()
            watch.wait()
