"""`lab up --with advisor`: the whole way with `trimtab advisor`, nodes that roll, and upgrades."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders.labs.lab import RunningLab, running_lab
from builders.waiting import LIMIT_S, wait_until
from trimtab.advisor.mocks.kube_descheduler import Release
from trimtab.stacks.advisor.machine_configs import CURRENT
from trimtab.stacks.advisor.stack import AdvisorStackSettings, advisor_stack

pytestmark = pytest.mark.engines
NODES = 3
SAMPLES = Path(__file__).parents[3] / "k8s" / "advisor" / "samples"
LOAD_AWARE = "load-aware-rebalancing"
HOME = ("-n", "openshift-kube-descheduler-operator")


class Platform:
    """A lab that plays OpenShift, with both command lines."""

    def __init__(self, lab: RunningLab) -> None:
        self.lab = lab

    def trimtab(self, *words: str, expect: int = 0) -> str:
        """What `kubectl trimtab` prints; it must end with `expect`."""
        done = subprocess.run(
            [sys.executable, "-m", "trimtab.cli.kubectl", *words],
            env={**os.environ, "KUBECONFIG": str(self.lab.kubeconfig)},
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        told = f"{' '.join(words)}: {done.stdout}{done.stderr}"
        assert done.returncode == expect, told
        return done.stdout

    def descheduler(self) -> dict[str, object]:
        spec: dict[str, object] = self.lab.get("kubedescheduler", "cluster", *HOME)["spec"]
        return spec

    def node_configs(self) -> set[str]:
        nodes = self.lab.get("nodes")["items"]
        return {node["metadata"]["annotations"].get(CURRENT, "") for node in nodes}

    def phase(self) -> str:
        status = self.lab.get("virtplatformconfig", LOAD_AWARE).get("status") or {}
        return str(status.get("phase", ""))

    def await_phase(self, phase: str) -> None:
        wait_until(lambda: self.phase() == phase, f"{LOAD_AWARE} is not {phase}")

    def reads(self, user: str) -> bool:
        return not self.refusal("get", "virtplatformconfig", LOAD_AWARE, f"--as={user}")

    def refusal(self, *words: str) -> str:
        """What kubectl ends with; nothing if all went well."""
        try:
            self.lab.kubectl(*words)
        except AssertionError as error:
            return str(error)
        return ""

    def patch_as(self, user: str, *, flags: tuple[str, ...] = (), **spec: object) -> str:
        patch = json.dumps({"spec": spec})
        words = ("patch", "virtplatformconfig", LOAD_AWARE, "--type=merge", "-p", patch)
        return self.refusal(*words, f"--as={user}", *flags)

    def pause(self, paused: bool) -> None:
        patch = json.dumps({"spec": {"paused": paused}})
        self.lab.kubectl("patch", "machineconfigpool", "worker", "--type=merge", "-p", patch)


def a_platform(tmp_path_factory: pytest.TempPathFactory, release: Release) -> Iterator[Platform]:
    stack = advisor_stack(AdvisorStackSettings(release=release))
    with running_lab(tmp_path_factory, stacks=(stack,), nodes=NODES, scale=15) as lab:
        yield Platform(lab)


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    yield from a_platform(tmp_path_factory, "5.32")


def test_from_plan_to_rollback_with_the_command_line(platform: Platform) -> None:
    before, configs = platform.descheduler(), platform.node_configs()
    plan = json.loads(platform.trimtab("plan", "--json", expect=2))
    assert plan["summary"]["text"] == (
        "1 to add, 1 to change, 0 to remove; 3 fields are taken from other managers; "
        "machines of pool worker reboot; impact High"
    )
    assert platform.descheduler() == before
    platform.trimtab("approve", "--plan", "000000000000", expect=1)
    assert platform.phase() == "ReviewRequired"

    done = platform.trimtab("apply", "--yes")
    assert "Completed" in done
    assert f"MachineConfigPool 'worker' is ready (Updated: {NODES}/{NODES}" in done
    assert platform.descheduler()["profiles"] == [
        "AffinityAndTaints",
        "SoftTopologyAndDuplicates",
        "KubeVirtRelieveAndMigrate",
    ]
    (after,) = platform.node_configs()
    assert {after} != configs
    assert "no changes" in platform.trimtab("plan")

    patch = '{"spec":{"mode":"Predictive"}}'
    platform.lab.kubectl("patch", "kubedescheduler", "cluster", *HOME, "--type=merge", "-p", patch)
    platform.await_phase("Drifted")
    assert "changed by kubectl-patch" in platform.trimtab("status", LOAD_AWARE, expect=2)
    assert "+  mode: Automatic" in platform.trimtab("diff", expect=2)
    platform.trimtab("apply", "--yes")
    assert platform.descheduler()["mode"] == "Automatic"

    assert "1 to remove" in platform.trimtab("rollback", expect=2)
    assert "RolledBack" in platform.trimtab("rollback", "--yes")
    assert platform.descheduler() == before
    assert platform.node_configs() == configs
    told = json.loads(platform.trimtab("history", "--json"))
    assert [event["what"] for event in told][-2:] == ["RollingBack", "RolledBack"]
    approved = [event for event in told if event["what"] == "Approved"]
    assert len(approved) == 3, "applied, put right, and taken back"
    assert all(event["by"] and event["planId"] for event in approved)


def test_the_sample_of_a_cluster_fits_the_lab(platform: Platform) -> None:
    """The manual test begins with it: afterwards there must still be nodes to roll."""
    kubectl = platform.lab.kubectl
    kubectl("apply", "-f", str(SAMPLES / "mock_baseline_resources.yaml"))

    def is_settled() -> bool:
        pool = platform.lab.get("mcp", "worker")
        rendered = pool["spec"]["configuration"]["name"]
        return pool["status"]["machineCount"] == NODES and not rendered.endswith("0000000")

    wait_until(is_settled, "the pool of workers has lost its machines")
    assert "machines of pool worker reboot" in platform.trimtab("plan", expect=2)


def test_who_may_edit_everything_still_may_not_reboot_nodes(platform: Platform) -> None:
    """Kubernetes' own roles: `edit` prepares a plan, `view` reads it, neither approves."""
    bind, patch = platform.lab.kubectl, platform.patch_as
    everywhere = ("create", "clusterrolebinding")
    for user in ("edit", "view"):
        bind(*everywhere, f"all-{user}", f"--clusterrole={user}", f"--user={user}")
    bind("create", "rolebinding", "home", "--clusterrole=admin", "--user=home", "-n", "default")
    wait_until(
        lambda: platform.reads("view") and platform.reads("edit"),
        "the roles of Kubernetes do not include ours",
        60.0,
    )
    assert not platform.reads("home")  # a namespace's role says nothing of cluster-wide objects
    bind(*everywhere, "reader", "--clusterrole=virtplatformconfig-viewer", "--user=home")
    wait_until(lambda: platform.reads("home"), "the viewer's role does not let one look")

    assert patch("edit", action="DryRun") == ""
    for spec in ({"action": "Apply"}, {"action": "Rollback"}, {"bypassOptimisticLock": True}):
        assert "user edit may not approve load-aware-rebalancing" in patch("edit", **spec)
    bind(*everywhere, "ok", "--clusterrole=virtplatformconfig-approver", "--user=edit")
    wait_until(
        lambda: patch("edit", action="Apply", flags=("--dry-run=server",)) == "",
        "who may approve cannot",
        60.0,
    )


@pytest.mark.full
def test_a_paused_pool_holds_the_descheduler_back(platform: Platform) -> None:
    platform.pause(True)
    try:
        assert "is paused" in platform.trimtab("plan", expect=2)
        platform.trimtab("approve")
        said = f"{LOAD_AWARE} does not say that the pool is paused"
        wait_until(
            lambda: "unpause it" in platform.trimtab("status", LOAD_AWARE, expect=2), said, 60.0
        )
        assert "KubeVirtRelieveAndMigrate" not in str(platform.descheduler())
    finally:
        platform.pause(False)
    platform.await_phase("Completed")
    assert "KubeVirtRelieveAndMigrate" in str(platform.descheduler())
    platform.trimtab("rollback", "--yes")


@pytest.mark.full
def test_an_upgraded_cluster_is_planned_anew(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A stopped lab takes on a newer release: Dev becomes GA, after a review."""
    newer = advisor_stack(AdvisorStackSettings(release="5.32"))
    for platform in a_platform(tmp_path_factory, "5.14"):
        assert "DevKubeVirtRelieveAndMigrate" in platform.trimtab("apply", "--yes")
        platform.lab.down()
        upgraded = RunningLab(platform.lab.home, platform.lab.lab.name, (newer,))
        upgraded.up()
        platform.await_phase("ReviewRequired")
        diff = platform.trimtab("diff", expect=2)
        assert "-  - DevKubeVirtRelieveAndMigrate" in diff
        assert "+    node: 2" in diff
        platform.trimtab("apply", "--yes")
        assert platform.descheduler()["evictionLimits"] == {"total": 5, "node": 2}


@pytest.mark.full
def test_a_lab_without_the_operator_is_for_running_it_by_hand(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    """`make dev-setup` and `make run`."""
    stack = advisor_stack(AdvisorStackSettings(operator=False))
    with running_lab(tmp_path_factory, stacks=(stack,), nodes=1, scale=15) as lab:
        assert "advisor" not in lab.urls
        log = (tmp_path / "advisor.log").open("wb")
        command = [sys.executable, "-m", "trimtab.cli", "run", "advisor", "--port=0"]
        process = subprocess.Popen(
            [*command, f"--kubeconfig={lab.kubeconfig}"], stdout=log, stderr=log
        )
        try:
            assert "1 to add" in Platform(lab).trimtab("plan", expect=2)
        finally:
            process.terminate()
            assert process.wait(timeout=LIMIT_S) == 0
            log.close()
