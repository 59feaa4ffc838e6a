"""The whole way with kubectl alone: preview, review, apply, drift, repair, and back."""

import json
import shutil
import subprocess
import time
from collections.abc import Iterator

import pytest

from builders.labs.advisor import (
    DESCHEDULER_HOME,
    LOAD_AWARE,
    Free,
    Kubectl,
    OperatorProcess,
    a_config,
    advisor_cluster,
    is_true,
    item,
    operator,
)
from builders.waiting import wait_until
from trimtab.advisor.api import MANAGER
from trimtab.advisor.mocks.kube_descheduler import Release
from trimtab.advisor.plan.diff import NO_CHANGES, sanitised

pytestmark = pytest.mark.engines
PSI, LOAD = "enable-psi-metrics", "enable-load-aware-descheduling"
MACHINE = ("machineconfig", "99-worker-psi-karg")
DESCHEDULER = ("kubedescheduler", "cluster", DESCHEDULER_HOME)
PROFILES = {
    "5.10": "LongLifecycle",
    "5.14": "DevKubeVirtRelieveAndMigrate",
    "5.21": "DevKubeVirtRelieveAndMigrate",
    "5.32": "KubeVirtRelieveAndMigrate",
}
full = pytest.mark.full


@pytest.fixture(
    scope="module",
    params=["5.32", *(pytest.param(r, marks=full) for r in ("5.10", "5.14", "5.21"))],
)
def release(request: pytest.FixtureRequest) -> Release:
    chosen: Release = request.param
    return chosen


@pytest.fixture(scope="module")
def kubectl(release: Release) -> Iterator[Kubectl]:
    with advisor_cluster(release) as kubectl:
        yield kubectl


@pytest.fixture(scope="module")
def running(kubectl: Kubectl) -> Iterator[OperatorProcess]:
    with operator(kubectl.server) as process:
        yield process


def owners(obj: Free) -> dict[str, list[str]]:
    """Who owns which top-level field of the spec."""
    return {
        entry["manager"]: sorted(entry["fieldsV1"].get("f:spec", {}))
        for entry in obj["metadata"].get("managedFields", ())
        if entry["fieldsV1"].get("f:spec")
    }


def test_from_preview_to_drift_and_back(
    kubectl: Kubectl, running: OperatorProcess, release: Release
) -> None:
    before = kubectl.get(*DESCHEDULER)
    wait_until(lambda: kubectl.exists("virtplatformconfig", LOAD_AWARE), "it is not advertised")
    kubectl.apply(a_config(LOAD_AWARE, waitTimeout="10m"))
    status = kubectl.await_phase(LOAD_AWARE, "ReviewRequired")
    assert [each["name"] for each in status["items"]] == [PSI, LOAD]
    assert status["impactSeverity"] == "High"
    assert f"+  - {PROFILES[release]}\n" in item(status, LOAD)["diff"]
    assert (
        kubectl.get(*DESCHEDULER)["metadata"]["resourceVersion"]
        == (before["metadata"]["resourceVersion"])
    ), "a preview writes nothing"
    assert not kubectl.exists(*MACHINE)
    taken = {(take["field"], take["manager"]) for take in item(status, LOAD)["takes"]}
    assert ("spec.mode", "kubectl-client-side-apply") in taken

    kubectl.act(LOAD_AWARE, action="Apply")
    status = kubectl.await_phase(LOAD_AWARE, "InProgress")
    wait_until(lambda: kubectl.exists(*MACHINE), "the MachineConfig is not applied")
    status = kubectl.status(LOAD_AWARE)
    assert item(status, LOAD)["state"] == "Pending", "PSI comes first"
    assert PROFILES[release] not in str(kubectl.get(*DESCHEDULER)["spec"])
    kubectl.roll()
    status = kubectl.await_phase(LOAD_AWARE, "Completed")
    assert kubectl.get(*DESCHEDULER)["spec"]["profiles"][-1] == PROFILES[release]
    assert kubectl.config(LOAD_AWARE)["spec"]["action"] == "Apply", "the spec is the user's"
    assert all(NO_CHANGES in each["diff"] for each in status["items"])
    assert_quiet(kubectl)

    set_mode(kubectl, "Predictive")
    status = kubectl.await_phase(LOAD_AWARE, "Drifted")
    assert "spec.mode changed by kubectl-patch" in item(status, LOAD)["message"]
    assert "+  mode: Automatic" in item(status, LOAD)["diff"]
    assert drifted_configs(kubectl) == [LOAD_AWARE]
    set_mode(kubectl, "Automatic")
    kubectl.await_phase(LOAD_AWARE, "Completed")
    assert drifted_configs(kubectl) == []

    kubectl.act(LOAD_AWARE, action="Rollback")
    status = kubectl.await_phase(LOAD_AWARE, "ReviewRequired")
    assert [(i["verb"], i["targetRef"]["kind"]) for i in status["items"]] == [
        ("restore", "KubeDescheduler"),
        ("delete", "MachineConfig"),
    ]
    kubectl.act(LOAD_AWARE, approvedPlan=status["planId"])
    wait_until(lambda: not kubectl.exists(*MACHINE), "the MachineConfig is not deleted")
    assert kubectl.status(LOAD_AWARE)["phase"] == "RollingBack", "the nodes still run it"
    kubectl.roll()
    kubectl.await_phase(LOAD_AWARE, "RolledBack")
    after = kubectl.get(*DESCHEDULER)
    assert sanitised(after) == sanitised(before)
    assert MANAGER not in owners(after)
    assert owners(after)["kubectl-client-side-apply"] == owners(before)["kubectl-client-side-apply"]
    assert not kubectl.exists("secret", f"virtplatformconfig-{LOAD_AWARE}", "trimtab-system")
    assert_quiet(kubectl)


def set_mode(kubectl: Kubectl, mode: str) -> None:
    kubectl.patch("kubedescheduler", "cluster", {"spec": {"mode": mode}}, DESCHEDULER_HOME)


def assert_quiet(kubectl: Kubectl) -> None:
    """Once settled, nothing is written: no loop on any release.

    The events of the last writes may lead to one more look, and that to one more write.
    """

    def version() -> str:
        return str(kubectl.config(LOAD_AWARE)["metadata"]["resourceVersion"])

    def quiet() -> bool:
        before = version()
        time.sleep(2.5)
        return version() == before

    wait_until(quiet, "the status is written again and again")


def drifted_configs(kubectl: Kubectl) -> list[str]:
    """The query of the guide."""
    query = (
        ".items[] | select(.status.conditions[] | "
        'select(.type=="Drifted" and .status=="True")) | .metadata.name'
    )
    listed = kubectl.run("get", "virtplatformconfig", "-o", "json")
    if shutil.which("jq") is None:
        found = [i for i in json.loads(listed)["items"] if is_true(i.get("status", {}), "Drifted")]
        return [each["metadata"]["name"] for each in found]
    done = subprocess.run(
        ["jq", "-r", query], input=listed, text=True, capture_output=True, check=True
    )
    return done.stdout.split()
