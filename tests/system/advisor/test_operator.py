"""The operator beside others: advertising, prerequisites, conflicts, inputs, edit wars, metrics."""

import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from builders.labs.advisor import (
    DENSITY,
    DESCHEDULER_HOME,
    EXAMPLE,
    LOAD_AWARE,
    Free,
    Kubectl,
    OperatorProcess,
    a_config,
    advisor_cluster,
    await_established,
    condition,
    install,
    install_release,
    is_true,
    item,
    namespace,
    operator,
)
from builders.waiting import wait_until
from conformance.apiserver import free_port
from trimtab.advisor.api import MANAGER
from trimtab.advisor.profiles.registry import built_in
from trimtab.install.advisor.admission import policies

pytestmark = pytest.mark.engines
HOME = "openshift-cnv"
ITEM, LOAD = "configure-example-component", "enable-load-aware-descheduling"
CONFIG_MAP = ("configmap", "example-config")
NOTES = ("description", "impact-summary", "auto-created")


@pytest.fixture(scope="module")
def bare() -> Iterator[Kubectl]:
    """Nothing of OpenShift yet."""
    with advisor_cluster(None) as kubectl:
        kubectl.put(*policies())
        yield kubectl


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def running(bare: Kubectl, port: int) -> Iterator[OperatorProcess]:
    with operator(bare.server, f"--port={port}") as process:
        yield process


@pytest.fixture(scope="module")
def kubectl(bare: Kubectl, running: OperatorProcess) -> Kubectl:
    """With a release's definitions, installed while the operator runs."""
    install(bare, "5.32")
    return bare


@pytest.fixture
def example(bare: Kubectl, running: OperatorProcess) -> Iterator[Kubectl]:
    yield bare
    bare.forget(EXAMPLE)
    bare.delete(*CONFIG_MAP, HOME)
    bare.delete("secret", f"virtplatformconfig-{EXAMPLE}", "trimtab-system")


def test_profiles_are_advertised_ignored_and_come_back(
    bare: Kubectl, running: OperatorProcess
) -> None:
    for profile in (built_in().get(LOAD_AWARE), built_in().get(DENSITY)):
        wait_until(lambda p=profile: bare.exists("virtplatformconfig", p.name), "not advertised")  # type: ignore[misc]
        status = bare.await_phase(profile.name, "Ignored")
        meta = bare.config(profile.name)["metadata"]
        notes = {name: meta["annotations"][f"advisor.kubevirt.io/{name}"] for name in NOTES}
        assert notes == {
            "description": profile.description,
            "impact-summary": profile.impact_summary,
            "auto-created": "true",
        }
        assert meta["labels"]["advisor.kubevirt.io/category"] == profile.category
        assert status["impactSeverity"] == profile.impact
        assert "items" not in status
    assert not bare.exists("virtplatformconfig", EXAMPLE)
    bare.act(DENSITY, action="Apply")
    first = bare.config(DENSITY)["metadata"]["uid"]
    bare.forget(DENSITY)
    wait_until(
        lambda: (
            bare.exists("virtplatformconfig", DENSITY)
            and bare.config(DENSITY)["metadata"]["uid"] != first
        ),
        lambda: "it does not come back",
    )
    assert bare.config(DENSITY)["spec"]["action"] == "Ignore"


def test_missing_definitions_are_named_and_noticed_when_they_come(
    bare: Kubectl, running: OperatorProcess
) -> None:
    advertised = (LOAD_AWARE, DENSITY)
    wait_until(
        lambda: all(bare.exists("virtplatformconfig", name) for name in advertised),
        lambda: "they are not advertised",
    )
    bare.act(LOAD_AWARE, action="DryRun")
    bare.act(DENSITY, action="DryRun")
    aware = condition(bare.await_phase(LOAD_AWARE, "PrerequisiteFailed"), "PrerequisiteFailed")
    dense = condition(bare.await_phase(DENSITY, "PrerequisiteFailed"), "PrerequisiteFailed")
    assert aware["status"] == "True"
    assert "  - KubeDescheduler (operator.openshift.io.v1)" in aware["message"]
    assert "  - MachineConfig (" in aware["message"]
    assert "KubeDescheduler" not in dense["message"]
    assert "  - MachineConfig (" in dense["message"]
    bare.act(LOAD_AWARE, options={"loadAware": {"enablePSIMetrics": False}})
    status = bare.await_phase(LOAD_AWARE, "PrerequisiteFailed")
    told = condition(status, "PrerequisiteFailed")["message"]
    assert "KubeDescheduler" in told
    assert "MachineConfig" not in told, "only PSI needs it"
    bare.act(DENSITY, action="Ignore")
    install(bare, "5.32")
    bare.await_phase(LOAD_AWARE, "ReviewRequired")
    assert running.alive
    assert bare.await_phase(DENSITY, "Ignored")
    bare.act(LOAD_AWARE, action="Ignore", options=None)


def test_a_missing_namespace_is_a_prerequisite(example: Kubectl) -> None:
    example.run("delete", "namespace", HOME, "--wait=false")
    finalize(example)
    example.apply(a_config(EXAMPLE))
    status = example.await_phase(EXAMPLE, "PrerequisiteFailed")
    assert HOME in condition(status, "PrerequisiteFailed")["message"]
    example.apply(namespace(HOME))
    example.await_phase(EXAMPLE, "ReviewRequired")


def finalize(kubectl: Kubectl) -> None:
    """No controller does it here."""
    path = f"/api/v1/namespaces/{HOME}/finalize"
    body = kubectl.get("namespace", HOME)
    body["spec"]["finalizers"] = []
    body["metadata"].pop("managedFields", None)
    kubectl.run("replace", "--raw", path, "-f", "-", text=json.dumps(body))
    wait_until(lambda: not kubectl.exists("namespace", HOME), "the namespace stays")


def test_new_owners_send_a_plan_back_and_an_approval_takes_the_field(example: Kubectl) -> None:
    rival = example_config(enabled="false")
    example.apply(rival, flags=("--server-side", "--field-manager=gitops"))
    example.apply(a_config(EXAMPLE))
    status = example.await_phase(EXAMPLE, "ReviewRequired")
    assert item(status, ITEM)["takes"] == [{"field": "data.enabled", "manager": "gitops"}]
    second = ("--server-side", "--field-manager=second")
    example.apply(rival, flags=second)
    example.act(EXAMPLE, action="Apply")
    status = example.await_phase(EXAMPLE, "ReviewRequired")
    assert "second" in condition(status, "ReviewAgain")["message"], "nobody reviewed that"
    assert len(item(status, ITEM)["takes"]) == 2
    assert example.get(*CONFIG_MAP, HOME)["data"] == rival["data"]
    example.apply(example_config(), flags=second)
    rival["data"]["replicas"] = "1"
    example.apply(rival, flags=("--server-side", "--field-manager=gitops"))
    example.act(EXAMPLE, approvedPlan=status["planId"])
    status = example.await_phase(EXAMPLE, "Failed")
    assert "stale" in condition(status, "Failed")["message"]
    assert example.get(*CONFIG_MAP, HOME)["data"] == rival["data"]
    example.act(EXAMPLE, action="DryRun", approvedPlan="")
    status = example.await_phase(EXAMPLE, "ReviewRequired")
    assert len(item(status, ITEM)["takes"]) == 2
    example.act(EXAMPLE, action="Apply", approvedPlan=status["planId"])
    status = example.await_phase(EXAMPLE, "Completed")
    assert status["approval"]["by"] == "admin"
    assert status["approval"]["planId"] == status["planId"]
    assert example.get(*CONFIG_MAP, HOME)["data"]["enabled"] == "true"

    example.act(EXAMPLE, action="Rollback")
    status = example.await_phase(EXAMPLE, "ReviewRequired")
    example.act(EXAMPLE, approvedPlan=status["planId"])
    example.await_phase(EXAMPLE, "RolledBack")
    live = example.get(*CONFIG_MAP, HOME)
    assert live["data"] == rival["data"]
    managers = {entry["manager"] for entry in live["metadata"]["managedFields"]}
    assert "gitops" in managers
    assert MANAGER not in managers


def example_config(**data: str) -> Free:
    meta = {"name": "example-config", "namespace": HOME}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


def test_with_bypass_drift_is_put_right_until_it_is_a_war(example: Kubectl) -> None:
    example.apply(a_config(EXAMPLE, "Apply", bypassOptimisticLock=True))
    example.await_phase(EXAMPLE, "Completed")
    stop = threading.Event()

    def rival() -> None:
        while not stop.is_set():
            example.patch(*CONFIG_MAP, {"data": {"enabled": "no"}}, HOME, "rival")
            time.sleep(0.5)

    thread = threading.Thread(target=rival)
    thread.start()
    try:
        wait_until(
            lambda: is_true(example.status(EXAMPLE), "EditWar"),
            lambda: f"no end of the war: {example.status(EXAMPLE)['phase']}",
        )
    finally:
        stop.set()
        thread.join()
    status = example.status(EXAMPLE)
    assert "data.enabled changed by rival" in condition(status, "EditWar")["message"]
    assert len(status["remediation"]["at"]) == 3
    example.patch(*CONFIG_MAP, {"data": {"enabled": "no"}}, HOME)
    time.sleep(2)
    assert example.get(*CONFIG_MAP, HOME)["data"]["enabled"] == "no", "paused"
    example.act(EXAMPLE, waitTimeout="1h")
    status = example.await_phase(EXAMPLE, "Completed")
    assert not is_true(status, "EditWar")
    assert example.get(*CONFIG_MAP, HOME)["data"]["enabled"] == "true"


def test_a_foreign_key_in_a_managed_map_stays_drift_whatever_is_re_applied(
    example: Kubectl,
) -> None:
    example.apply(a_config(EXAMPLE, "Apply", bypassOptimisticLock=True))
    example.await_phase(EXAMPLE, "Completed")
    example.patch(*CONFIG_MAP, {"data": {"foreign": "x"}}, HOME)
    wait_until(
        lambda: is_true(example.status(EXAMPLE), "EditWar"),
        lambda: f"accepted: {example.status(EXAMPLE)['phase']}",
    )
    status = example.status(EXAMPLE)
    assert status["phase"] == "Drifted"
    assert "data.foreign added by kubectl-patch" in item(status, ITEM)["message"]
    example.patch(*CONFIG_MAP, {"data": {"foreign": None}}, HOME)
    example.await_phase(EXAMPLE, "Completed")


def test_a_changed_limit_of_hyperconverged_is_reviewed(kubectl: Kubectl) -> None:
    kubectl.apply(a_config(LOAD_AWARE, options={"loadAware": {"enablePSIMetrics": False}}))
    kubectl.await_phase(LOAD_AWARE, "ReviewRequired")  # the operator knows the new definitions
    kubectl.act(LOAD_AWARE, action="Apply")
    kubectl.await_phase(LOAD_AWARE, "Completed")
    set_limit(kubectl, 20)
    status = kubectl.await_phase(LOAD_AWARE, "ReviewRequired")
    assert is_true(status, "InputDependencyDrift")
    assert "parallelMigrationsPerCluster" in condition(status, "InputDependencyDrift")["message"]
    assert "+    total: 18" in item(status, LOAD)["diff"]
    set_limit(kubectl, 5)
    status = kubectl.await_phase(LOAD_AWARE, "Completed")
    assert not is_true(status, "InputDependencyDrift")
    limits = {"spec": {"evictionLimits": {"total": 7}}}
    kubectl.patch("kubedescheduler", "cluster", limits, DESCHEDULER_HOME)
    status = kubectl.await_phase(LOAD_AWARE, "Drifted")
    assert not is_true(status, "InputDependencyDrift")
    kubectl.act(LOAD_AWARE, action="Ignore", options=None)
    kubectl.await_phase(LOAD_AWARE, "Ignored")


def test_what_the_options_no_longer_ask_for_is_removed(kubectl: Kubectl) -> None:
    def shared() -> Free | None:
        hco = kubectl.get("hyperconverged", "kubevirt-hyperconverged", HOME)
        found: Free | None = hco["spec"].get("ksmConfiguration")
        return found

    some = {"nodeLabelSelector": {"matchLabels": {"ksm": "yes"}}}
    kubectl.act(DENSITY, action="DryRun", options=density(ksmConfiguration=some))
    approve(kubectl, DENSITY)
    assert shared() == some
    wider = {"nodeLabelSelector": {"matchLabels": None}}
    kubectl.act(DENSITY, action="DryRun", options=density(ksmConfiguration=wider))
    approve(kubectl, DENSITY)
    assert shared() == {"nodeLabelSelector": {}}, "all nodes, no longer some"
    kubectl.act(DENSITY, action="DryRun", options=density(ksmConfiguration={"enabled": False}))
    approve(kubectl, DENSITY)
    assert shared() is None
    kubectl.act(DENSITY, action="Ignore", options=None)
    kubectl.await_phase(DENSITY, "Ignored")


def test_a_definition_that_comes_back_in_another_release_is_reviewed(kubectl: Kubectl) -> None:
    target = ("kubedescheduler", "cluster", DESCHEDULER_HOME)
    await_established(kubectl, install_release(kubectl, "5.14"))
    kubectl.act(LOAD_AWARE, action="DryRun", options={"loadAware": {"enablePSIMetrics": False}})
    approve(kubectl, LOAD_AWARE)
    assert "DevKubeVirtRelieveAndMigrate" in kubectl.get(*target)["spec"]["profiles"]
    kubectl.run("delete", "crd", "kubedeschedulers.operator.openshift.io")
    await_established(kubectl, install_release(kubectl, "5.32"))
    status = kubectl.await_phase(LOAD_AWARE, "ReviewRequired")
    assert "+  - KubeVirtRelieveAndMigrate" in item(status, LOAD)["diff"]
    kubectl.act(LOAD_AWARE, failurePolicy="Continue")
    kubectl.await_phase(LOAD_AWARE, "ReviewRequired")
    kubectl.act(LOAD_AWARE, approvedPlan="")
    status = kubectl.await_phase(LOAD_AWARE, "ReviewRequired")
    assert not kubectl.exists(*target), "nobody approved it"
    kubectl.act(LOAD_AWARE, approvedPlan=status["planId"])
    status = kubectl.await_phase(LOAD_AWARE, "Completed")
    assert status["approval"]["planId"] == status["planId"]
    approved = [line for line in status["history"] if line["what"] == "Approved"]
    assert (approved[-1]["planId"], approved[-1]["by"]) == (status["planId"], "admin")

    interval = {"spec": {"deschedulingIntervalSeconds": 120}}
    kubectl.patch("kubedescheduler", "cluster", interval, target[2], "alice")
    kubectl.await_phase(LOAD_AWARE, "Drifted")
    kubectl.act(LOAD_AWARE, action="Rollback")
    status = kubectl.await_phase(LOAD_AWARE, "ReviewRequired")
    later = {"field": "spec.deschedulingIntervalSeconds", "manager": "alice"}
    assert later in status["items"][0]["takes"], "whose work goes is said before it goes"
    kubectl.act(LOAD_AWARE, approvedPlan=status["planId"])
    kubectl.await_phase(LOAD_AWARE, "RolledBack")
    kubectl.act(LOAD_AWARE, action="Ignore", options=None)
    kubectl.await_phase(LOAD_AWARE, "Ignored")


def density(**options: object) -> Free:
    return {"virtHigherDensity": {"enableSwap": False, **options}}


def approve(kubectl: Kubectl, name: str) -> None:
    plan = kubectl.await_phase(name, "ReviewRequired")["planId"]
    kubectl.act(name, action="Apply", approvedPlan=plan)
    kubectl.await_phase(name, "Completed")


def set_limit(kubectl: Kubectl, total: int) -> None:
    limits = {"parallelMigrationsPerCluster": total}
    patch = {"spec": {"liveMigrationConfig": limits}}
    kubectl.patch("hyperconverged", "kubevirt-hyperconverged", patch, HOME)


def test_metrics_are_for_those_who_may_read_them(
    bare: Kubectl, running: OperatorProcess, port: int
) -> None:
    for name in ("reader", "stranger"):
        bare.run("create", "serviceaccount", name, "-n", "trimtab-system")
    role = "--clusterrole=trimtab:advisor-metrics"
    bare.run(
        "create", "clusterrolebinding", "reads", role, "--serviceaccount=trimtab-system:reader"
    )
    assert scrape(port, "")[0] == 401
    assert scrape(port, "nonsense")[0] == 401
    assert scrape(port, token(bare, "stranger"))[0] == 403
    status, text = scrape(port, token(bare, "reader"))
    assert status == 200
    assert 'trimtab_advisor_phase{config="load-aware-rebalancing"' in text
    assert "trimtab_reconcile_seconds_count" in text
    assert "trimtab_queue_depth" in text


def token(kubectl: Kubectl, account: str) -> str:
    return kubectl.run("create", "token", account, "-n", "trimtab-system").strip()


def scrape(port: int, bearer: str) -> tuple[int, str]:
    headers = {"Authorization": f"Bearer {bearer}"} if bearer else {}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/metrics", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, ""


def test_quick_creations_and_deletions_leave_it_running(
    example: Kubectl, running: OperatorProcess
) -> None:
    for _ in range(5):
        example.apply(a_config(EXAMPLE))
        example.forget(EXAMPLE)
    example.apply(a_config(EXAMPLE))
    example.await_phase(EXAMPLE, "ReviewRequired")
    assert running.alive
    assert not running.said("reconcile crashed")
    reasons = example.run("get", "events", "-o", "jsonpath={.items[*].reason}")
    assert "ReviewRequired" in reasons
