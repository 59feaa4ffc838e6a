"""What a stack puts on top: services with accounts, tokens, objects and components of their own."""

import subprocess

import pytest

from builders.labs.lab import RunningLab
from builders.waiting import wait_until
from trimtab.engines import locate
from trimtab.lab.api import Api, LabApiError
from trimtab.lab.components.identity import kubeconfig_file, token_file

pytestmark = pytest.mark.engines

READER = "descheduler"


def test_the_objects_of_a_stack_are_there(lab: RunningLab) -> None:
    assert lab.status().stacks == ("reading",)
    assert lab.get("thing", "first")["kind"] == "Thing"


def test_a_service_acts_under_its_own_account(lab: RunningLab) -> None:
    config = str(lab.dir / kubeconfig_file(READER))
    who = lab.kubectl("auth", "whoami", "--kubeconfig", config, "-o", "json")
    assert f"system:serviceaccount:trimtab-system:{READER}" in who


def test_its_token_is_private_and_renewed_while_it_runs(lab: RunningLab) -> None:
    token, process = lab.dir / token_file(READER), lab.processes()[READER]
    first = token.read_text()
    assert token.stat().st_mode & 0o777 == 0o600
    wait_until(lambda: token.read_text() != first, "the token is still the first one")
    assert lab.processes()[READER] == process


async def test_kwok_has_no_more_rights_than_it_needs(lab: RunningLab) -> None:
    kwok = Api(lab.status().server, lab.dir / "pki", "kwok")
    try:
        await kwok.get("/api/v1/nodes")
        for forbidden in ("/api/v1/secrets", "/api/v1/namespaces/default/configmaps"):
            with pytest.raises(LabApiError) as caught:
                await kwok.get(forbidden)
            assert caught.value.status == 403
    finally:
        await kwok.close()


def test_managed_fields_tell_who_acted(lab: RunningLab) -> None:
    node = lab.get("node", "kwok-node-1", "--show-managed-fields")
    assert "kwok" in {entry["manager"] for entry in node["metadata"]["managedFields"]}


def test_down_is_orderly_with_a_watch_open(lab: RunningLab) -> None:
    command = [str(locate("kubectl")), "--kubeconfig", str(lab.kubeconfig), "get", "pods", "-w"]
    lab.kubectl("run", "first", "--image=none")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watch:
        assert watch.stdout is not None
        lab.kubectl("run", "second", "--image=none")
        while not watch.stdout.readline().startswith("second"):
            pass  # until the watch itself, and not the list before it, has spoken
        lab.down()
        watch.kill()
    assert lab.left_over() == []
    assert '"state": "stopped"' in lab.lab.log("supervisor").read_text()
