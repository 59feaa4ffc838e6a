"""A new lab and what may be done to it while it runs, on the real programs."""

import json
import stat

import pytest

from builders.labs.lab import RunningLab
from builders.waiting import wait_until
from trimtab.errors import ConfigError

pytestmark = pytest.mark.engines


def test_a_new_lab_is_ready_with_every_unit(lab: RunningLab) -> None:
    status = lab.status()
    assert status.phase == "ready"
    assert {unit.state for unit in status.units} == {"ready"}
    assert [node["metadata"]["name"] for node in lab.get("nodes")["items"]] == [
        "kwok-node-1",
        "kwok-node-2",
        "kwok-node-3",
    ]


def test_the_api_server_says_which_kubernetes_it_is(lab: RunningLab) -> None:
    version = json.loads(lab.kubectl("version", "-o", "json"))["serverVersion"]
    assert (version["gitVersion"], version["major"], version["minor"]) == ("v1.36.3", "1", "36")
    assert version["gitTreeState"] == "clean"


def test_the_probe_pod_is_gone(lab: RunningLab) -> None:
    assert lab.get("pods", "-A")["items"] == []


def test_up_on_a_running_lab_changes_nothing(lab: RunningLab) -> None:
    before = lab.processes()
    assert lab.up() == "unchanged"
    assert lab.processes() == before


def test_files_are_closed_to_others(lab: RunningLab) -> None:
    for path in (lab.dir, *lab.dir.rglob("*")):
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:  # a token was renewed, and this was its file until then
            continue
        allowed = 0o600 if stat.S_ISREG(mode) else 0o700
        assert stat.S_IMODE(mode) & ~allowed == 0, path


def test_a_pod_is_placed_runs_and_goes_after_its_grace(lab: RunningLab) -> None:
    lab.kubectl("run", "short", "--image=none", "--overrides", '{"spec":{"restartPolicy":"Never"}}')
    lab.kubectl("wait", "pod/short", "--for=condition=Ready", "--timeout=300s")
    assert lab.get("pod", "short")["spec"]["nodeName"].startswith("kwok-node-")
    lab.kubectl("delete", "pod", "short", "--grace-period=2", "--wait=false")
    assert lab.get("pod", "short")["metadata"]["deletionGracePeriodSeconds"] == 2
    lab.kubectl("wait", "pod/short", "--for=delete", "--timeout=300s")


def test_a_label_makes_a_node_not_ready_until_it_is_removed(lab: RunningLab) -> None:
    def ready() -> str:
        conditions = lab.get("node", "kwok-node-2")["status"]["conditions"]
        return next(str(c["status"]) for c in conditions if c["type"] == "Ready")

    def taints() -> str:
        return str(lab.get("node", "kwok-node-2")["spec"].get("taints"))

    lab.kubectl("label", "node", "kwok-node-2", "trimtab.dev/not-ready=true")
    wait_until(lambda: ready() == "False", "the node is still Ready")
    wait_until(lambda: "not-ready" in taints(), "the node has no not-ready taint")
    assert ready() == "False"
    lab.kubectl("label", "node", "kwok-node-2", "trimtab.dev/not-ready-")
    wait_until(lambda: ready() == "True", "the node is still NotReady")
    wait_until(lambda: "not-ready" not in taints(), "the node is still tainted")
    assert ready() == "True"


def test_a_running_lab_grows_and_never_shrinks(lab: RunningLab) -> None:
    before = lab.processes()
    assert lab.up(nodes=5) == "grown"
    assert len(lab.get("nodes")["items"]) == 5
    assert lab.processes() == before
    with pytest.raises(ConfigError, match="only grows"):
        lab.up(nodes=2)


def test_other_changes_are_refused_while_it_runs(lab: RunningLab) -> None:
    with pytest.raises(ConfigError, match="running with scale 1, not 10; stop it first"):
        lab.up(scale=10)


def test_everybody_reads_the_clock_from_a_config_map(lab: RunningLab) -> None:
    clock = lab.get("configmap", "clock", "-n", "trimtab-system")["data"]
    assert clock["scale"] == "1"
    assert float(clock["epoch"]) > 1.7e9
