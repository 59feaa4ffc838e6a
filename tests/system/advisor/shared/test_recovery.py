"""What happens between approval and effect, on a real API server: pools that degrade and get
well, owners that turn up late, objects that vanish while nodes roll, an object made anew."""

import json

import pytest

from builders.labs.advisor import (
    DESCHEDULER_HOME,
    LOAD_AWARE,
    Free,
    Kubectl,
    a_config,
    condition,
    is_true,
    item,
)
from builders.waiting import wait_until

pytestmark = pytest.mark.engines
PSI, LOAD = "enable-psi-metrics", "enable-load-aware-descheduling"
MACHINE = ("machineconfig", "99-worker-psi-karg")
DESCHEDULER = ("kubedescheduler", "cluster", DESCHEDULER_HOME)


@pytest.fixture
def kubectl(attended: Kubectl) -> Kubectl:
    return attended


def reviewed(kubectl: Kubectl) -> Free:
    kubectl.put(a_config(LOAD_AWARE))
    return kubectl.await_phase(LOAD_AWARE, "ReviewRequired")


def approved(kubectl: Kubectl) -> Free:
    """The plan, started: the MachineConfig is there and its pool has not begun."""
    status = reviewed(kubectl)
    kubectl.act(LOAD_AWARE, action="Apply", approvedPlan=status["planId"])
    kubectl.await_phase(LOAD_AWARE, "InProgress")
    wait_until(lambda: kubectl.exists(*MACHINE), "the MachineConfig is not applied")
    return kubectl.status(LOAD_AWARE)


def set_pool(kubectl: Kubectl, *, updated: int, degraded: int = 0) -> None:
    """So many of three machines run the rendered config, and so many failed."""
    conditions = [
        {"type": "Updated", "status": str(updated == 3)},
        {"type": "Updating", "status": str(updated < 3)},
        {"type": "Degraded", "status": str(degraded > 0)},
    ]
    counts = {"updatedMachineCount": updated, "degradedMachineCount": degraded}
    kubectl.patch("machineconfigpool", "worker", {"status": {"conditions": conditions, **counts}})


def set_mode(kubectl: Kubectl, mode: str) -> None:
    kubectl.patch("kubedescheduler", "cluster", {"spec": {"mode": mode}}, DESCHEDULER_HOME)


def test_a_pool_that_degrades_and_is_well_again_ends_in_completed(kubectl: Kubectl) -> None:
    """Somebody else's MachineConfig makes the pool roll after all was completed (A-D3)."""
    approved(kubectl)
    kubectl.roll()
    kubectl.await_phase(LOAD_AWARE, "Completed")
    set_pool(kubectl, updated=1)
    kubectl.await_phase(LOAD_AWARE, "InProgress")
    set_pool(kubectl, updated=1, degraded=1)
    status = kubectl.await_phase(LOAD_AWARE, "Failed")
    assert "degraded" in item(status, PSI)["message"]
    before = kubectl.get(*MACHINE)["metadata"]["resourceVersion"]

    set_mode(kubectl, "Predictive")
    status = kubectl.await_phase(LOAD_AWARE, "Drifted")  # also while the pool is degraded
    assert "spec.mode changed by kubectl-patch" in item(status, LOAD)["message"]
    set_mode(kubectl, "Automatic")

    set_pool(kubectl, updated=3)
    kubectl.await_phase(LOAD_AWARE, "Completed")
    assert kubectl.get(*MACHINE)["metadata"]["resourceVersion"] == before, (
        "nothing was written again"
    )


def test_an_owner_of_a_later_item_is_noticed_before_a_node_restarts(kubectl: Kubectl) -> None:
    """Another manager takes a field with its value unchanged, after the review (A-D6)."""
    status = reviewed(kubectl)
    before = kubectl.get(*DESCHEDULER)["spec"]
    theirs = {
        "apiVersion": "operator.openshift.io/v1",
        "kind": "KubeDescheduler",
        "metadata": {"name": "cluster", "namespace": DESCHEDULER_HOME},
        "spec": before,  # kubectl takes over what client-side apply set, so all of it is said
    }
    flags = ("--server-side", "--force-conflicts", "--field-manager=gitops")
    kubectl.apply(theirs, flags=flags)
    assert kubectl.get(*DESCHEDULER)["spec"] == before, "nothing but the owner is another one"
    kubectl.act(LOAD_AWARE, action="Apply", approvedPlan=status["planId"])
    wait_until(
        lambda: is_true(kubectl.status(LOAD_AWARE), "ReviewAgain"),
        lambda: f"nothing said: {kubectl.status(LOAD_AWARE)}",
    )
    status = kubectl.await_phase(LOAD_AWARE, "ReviewRequired")
    assert (
        "spec.deschedulingIntervalSeconds from gitops"
        in (condition(status, "ReviewAgain")["message"])
    )
    assert not kubectl.exists(*MACHINE), "no node restarts for it"

    kubectl.act(LOAD_AWARE, approvedPlan=status["planId"])  # reviewed now, so it is taken
    wait_until(lambda: kubectl.exists(*MACHINE), "the MachineConfig is not applied")


def test_a_machine_config_deleted_while_its_pool_rolls_is_named_and_reviewed(
    kubectl: Kubectl,
) -> None:
    """It waited for the pool for ever before, and blamed it (A-D8)."""
    approved(kubectl)
    kubectl.delete(*MACHINE)
    wait_until(
        lambda: is_true(kubectl.status(LOAD_AWARE), "ReviewAgain"),
        lambda: f"nothing said: {kubectl.status(LOAD_AWARE)}",
    )
    status = kubectl.await_phase(LOAD_AWARE, "ReviewRequired")
    message = condition(status, "ReviewAgain")["message"]
    assert "MachineConfig 99-worker-psi-karg" in message
    assert "the object was deleted" in message
    assert not kubectl.exists(*MACHINE), "nodes restart again only if somebody says so"
    assert (
        "set spec.action: DryRun, then the action again"
        in (condition(status, "ReviewRequired")["message"])
    )
    kubectl.act(LOAD_AWARE, action="DryRun")  # the same plan once more, as the message says
    kubectl.await_phase(LOAD_AWARE, "ReviewRequired")
    kubectl.act(LOAD_AWARE, action="Apply")
    wait_until(lambda: kubectl.exists(*MACHINE), "it is not applied again")
    kubectl.roll()
    kubectl.await_phase(LOAD_AWARE, "Completed")


def test_an_object_made_anew_says_what_a_stopped_plan_left_and_takes_it_back(
    kubectl: Kubectl,
) -> None:
    """Deleted in the middle of a roll-out (A-D15)."""
    before = kubectl.get(*DESCHEDULER)["spec"]
    approved(kubectl)
    uid = kubectl.config(LOAD_AWARE)["metadata"]["uid"]
    kubectl.forget(LOAD_AWARE)

    def ignored() -> bool:
        if not kubectl.exists("virtplatformconfig", LOAD_AWARE):
            return False
        config = kubectl.config(LOAD_AWARE)
        return config["metadata"]["uid"] != uid and is_true(config.get("status") or {}, "Ignored")

    wait_until(ignored, "it is not advertised again")
    message = condition(kubectl.status(LOAD_AWARE), "Ignored")["message"]
    assert "stopped halfway and left its mark on MachineConfig 99-worker-psi-karg" in message
    assert "action: Rollback takes it back" in message

    kubectl.act(LOAD_AWARE, action="Rollback")
    status = kubectl.await_phase(LOAD_AWARE, "ReviewRequired")
    kubectl.act(LOAD_AWARE, approvedPlan=status["planId"])
    wait_until(lambda: not kubectl.exists(*MACHINE), "the MachineConfig is not taken back")
    kubectl.roll()
    kubectl.await_phase(LOAD_AWARE, "RolledBack")
    assert kubectl.get(*DESCHEDULER)["spec"] == before


def test_the_diff_of_a_plan_outlives_it(kubectl: Kubectl) -> None:
    plan = approved(kubectl)["planId"]
    kubectl.roll()
    status = kubectl.await_phase(LOAD_AWARE, "Completed")
    (line,) = [each for each in status["history"] if each.get("diff")]
    assert (line["what"], line["planId"]) == ("InProgress", plan)
    assert "+  - psi=1" in line["diff"]
    assert "+  mode: Automatic" in line["diff"]
    kubectl.act(LOAD_AWARE, action="Rollback")
    status = kubectl.await_phase(LOAD_AWARE, "ReviewRequired")
    assert line in status["history"], json.dumps(status["history"])
