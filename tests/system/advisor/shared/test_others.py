"""Living with other writers, on a real API server: fields and managers that are left to them."""

import json
import os
import subprocess
import sys

import pytest

from builders.labs.advisor import (
    DESCHEDULER_HOME,
    LOAD_AWARE,
    Free,
    Kubectl,
    a_config,
    await_established,
    install_release,
    item,
)

pytestmark = pytest.mark.engines
LOAD = "enable-load-aware-descheduling"
CRD = "kubedeschedulers.operator.openshift.io"
DESCHEDULER = ("kubedescheduler", "cluster", DESCHEDULER_HOME)


@pytest.fixture
def applied(attended: Kubectl) -> Kubectl:
    """The descheduler as planned, without PSI: nothing reboots."""
    options = {"loadAware": {"enablePSIMetrics": False}}
    attended.put(a_config(LOAD_AWARE, options=options, ignore=[], accepted=[]))
    status = attended.await_phase(LOAD_AWARE, "ReviewRequired")
    attended.act(LOAD_AWARE, action="Apply", approvedPlan=status["planId"])
    attended.await_phase(LOAD_AWARE, "Completed")
    return attended


def trimtab(kubectl: Kubectl, *words: str, expect: int = 0) -> str:
    """What `kubectl trimtab` prints; it must end with `expect`."""
    done = subprocess.run(
        [sys.executable, "-m", "trimtab.cli.kubectl", *words],
        env={**os.environ, "KUBECONFIG": str(kubectl.server.kubeconfig)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == expect, f"{' '.join(words)}: {done.stdout}{done.stderr}"
    return done.stdout if "--json" in words else done.stdout + done.stderr


def set_by_hand(kubectl: Kubectl, **spec: object) -> None:
    kubectl.patch("kubedescheduler", "cluster", {"spec": spec}, DESCHEDULER_HOME)


def spec(kubectl: Kubectl) -> Free:
    found: Free = kubectl.get(*DESCHEDULER)["spec"]
    return found


def test_a_field_is_left_to_others_until_it_is_taken_back(applied: Kubectl) -> None:
    set_by_hand(applied, mode="Predictive")
    applied.await_phase(LOAD_AWARE, "Drifted")
    said = trimtab(applied, "ignore", "--field", "spec.modus", expect=1)
    assert "no item of its plan manages spec.modus" in said

    told = trimtab(applied, "ignore", "--field", "spec.mode")
    assert "Completed" in told
    assert f"ignored: {LOAD}: spec.mode" in told
    assert spec(applied)["mode"] == "Predictive"
    assert f"ignored: {LOAD}: spec.mode" in trimtab(applied, "plan")
    assert f"# ignored: {LOAD}: spec.mode" in trimtab(applied, "diff")

    set_by_hand(applied, mode="Automatic")
    set_by_hand(applied, deschedulingIntervalSeconds=1234)  # the rest is still watched
    status = applied.await_phase(LOAD_AWARE, "Drifted")
    assert "spec.mode" not in item(status, LOAD)["message"]
    assert "mode:" not in trimtab(applied, "diff", expect=2).replace("# ignored", "")
    set_by_hand(applied, deschedulingIntervalSeconds=60, mode="Predictive")
    applied.await_phase(LOAD_AWARE, "Completed")

    trimtab(applied, "ignore", "--field", "spec.mode", "--remove", expect=2)
    status = applied.await_phase(LOAD_AWARE, "ReviewRequired")
    assert "+  mode: Automatic" in item(status, LOAD)["diff"]


def test_what_an_ignored_manager_writes_stays(applied: Kubectl) -> None:
    trimtab(applied, "ignore", "--manager", "gitops")
    mine = {
        "apiVersion": "operator.openshift.io/v1",
        "kind": "KubeDescheduler",
        "metadata": {"name": "cluster", "namespace": DESCHEDULER_HOME},
        "spec": {"deschedulingIntervalSeconds": 900},
    }
    flags = ("--server-side", "--force-conflicts", "--field-manager=gitops")
    applied.apply(mine, flags=flags)
    set_by_hand(applied, mode="Predictive")  # by somebody else
    status = applied.await_phase(LOAD_AWARE, "Drifted")
    assert "deschedulingIntervalSeconds" not in item(status, LOAD)["message"]

    shown = json.loads(trimtab(applied, "apply", "--yes", "--json"))
    assert shown["phase"] == "Completed"
    ignored = {"field": "spec.deschedulingIntervalSeconds", "manager": "gitops"}
    assert ignored in shown["items"][0]["ignored"]
    assert spec(applied)["deschedulingIntervalSeconds"] == 900
    assert spec(applied)["mode"] == "Automatic"


def test_drift_that_is_accepted_stays_until_it_changes_again(applied: Kubectl) -> None:
    said = trimtab(applied, "accept", expect=1)
    assert "there is no drift to accept" in said
    set_by_hand(applied, mode="Predictive", deschedulingIntervalSeconds=600)
    applied.await_phase(LOAD_AWARE, "Drifted")
    told = trimtab(applied, "accept", "--field", "spec.mode", expect=2)
    assert "ReviewRequired" in told  # the rest is still to be decided
    set_by_hand(applied, deschedulingIntervalSeconds=60)
    shown = trimtab(applied, "plan")
    assert "no changes" in shown
    assert f"accepted: {LOAD}: spec.mode stays Predictive" in shown
    assert spec(applied)["mode"] == "Predictive"

    set_by_hand(applied, mode="Automatic")
    status = applied.await_phase(LOAD_AWARE, "Drifted")
    assert item(status, LOAD)["drift"][0]["field"] == "spec.mode"
    set_by_hand(applied, mode="Predictive")
    applied.await_phase(LOAD_AWARE, "Completed")
    trimtab(applied, "accept", "--remove", expect=2)
    status = applied.await_phase(LOAD_AWARE, "ReviewRequired")
    assert "+  mode: Automatic" in item(status, LOAD)["diff"]


def test_the_guides_order_works(applied: Kubectl) -> None:
    """`trimtab advisor apply`, drift, two patches, rollback, and `action: Apply` once more."""
    set_by_hand(applied, mode="Predictive")
    applied.await_phase(LOAD_AWARE, "Drifted")
    trimtab(applied, "apply", "--yes")  # leaves approvedPlan behind
    set_by_hand(applied, mode="Predictive")
    applied.await_phase(LOAD_AWARE, "Drifted")
    applied.act(LOAD_AWARE, action="DryRun")
    applied.await_phase(LOAD_AWARE, "ReviewRequired")
    applied.act(LOAD_AWARE, action="Apply")
    applied.await_phase(LOAD_AWARE, "Completed")
    trimtab(applied, "rollback", "--yes")
    applied.act(LOAD_AWARE, action="DryRun")
    applied.await_phase(LOAD_AWARE, "ReviewRequired")
    applied.act(LOAD_AWARE, action="Apply")
    applied.await_phase(LOAD_AWARE, "Completed")
    assert spec(applied)["mode"] == "Automatic"


def test_a_plan_is_shown_as_of_now(applied: Kubectl) -> None:
    applied.act(
        LOAD_AWARE, action="DryRun", options={"loadAware": {"deschedulingIntervalSeconds": 90}}
    )
    first = applied.await_phase(LOAD_AWARE, "ReviewRequired")
    assert "-  deschedulingIntervalSeconds: 60" in item(first, LOAD)["diff"]
    set_by_hand(applied, deschedulingIntervalSeconds=77)
    shown = trimtab(applied, "plan", expect=2)
    assert "-  deschedulingIntervalSeconds: 77" in shown
    assert "ReviewRequired, as of 20" in shown
    set_by_hand(applied, deschedulingIntervalSeconds=78)
    diff = trimtab(applied, "diff", expect=2)
    assert "-  deschedulingIntervalSeconds: 78" in diff
    assert "as of 20" in diff
    plan = json.loads(trimtab(applied, "plan", "--json", expect=2))
    history = [line["what"] for line in applied.status(LOAD_AWARE)["history"]]
    trimtab(applied, "plan", expect=2)  # nothing new: nothing is written down
    assert [line["what"] for line in applied.status(LOAD_AWARE)["history"]] == history
    done = trimtab(applied, "approve", "--plan", plan["planId"])
    assert "approved" in done
    applied.await_phase(LOAD_AWARE, "Completed")


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ({"field": "spec..mode"}, "spec.ignore[0].field"),
        ({"field": "status.phase"}, "spec.ignore[0].field"),
        ({"field": "spec"}, "spec.ignore[0].field"),
        ({}, "either a field or a manager"),
        ({"field": "spec.mode", "manager": "gitops"}, "either a field or a manager"),
    ],
)
def test_rules_that_say_nothing_are_refused(cluster: Kubectl, rule: Free, says: str) -> None:
    assert says in cluster.refused(a_config(LOAD_AWARE, ignore=[rule]))


def test_without_a_plan_the_reason_is_printed_and_not_the_last_plan(applied: Kubectl) -> None:
    applied.run("delete", "crd", CRD)
    try:
        applied.act(LOAD_AWARE, action="DryRun", waitTimeout="1h")
        applied.await_phase(LOAD_AWARE, "PrerequisiteFailed")
        shown = trimtab(applied, "plan", expect=1)
        assert "install the Kube Descheduler Operator" in shown
        assert "+++" not in shown
        assert "install the Kube Descheduler Operator" in trimtab(applied, "diff", expect=1)
    finally:
        await_established(applied, install_release(applied, "5.32"))
