"""The exporter in a real control plane: what pods do shows on its page, what it writes happens."""

from pathlib import Path

import msgspec
import pytest

from builders.labs.exporter_http import Endpoint, running_exporter
from builders.labs.lab import RunningLab
from builders.values.exporter import LAB_NODES, WISHES, check_answered, hot, samples
from builders.waiting import wait_until
from trimtab.kube.virtual_machines import INITIAL_NODE
from trimtab.lab.components.kwok import NOT_READY_LABEL

pytestmark = pytest.mark.engines

VM = """
apiVersion: trimtab.dev/v1alpha1
kind: VirtualMachine
metadata: {name: %s, annotations: {trimtab.dev/initial-node: kwok-node-2}}
spec: {resources: {cpu: "8", memory: 32Gi}, utilization: {cpu: %s, memory: 0.5}}
"""


def uids(lab: RunningLab) -> dict[str, str]:
    return {vm["metadata"]["name"]: vm["metadata"]["uid"] for vm in lab.get("vm")["items"]}


def test_health_says_that_there_is_a_kubernetes(exporter: Endpoint) -> None:
    assert exporter.get("/health").json() == {
        "status": "healthy",
        "nodes": 3,
        "pod_manager_enabled": True,
        "source": "pods",
    }
    assert "trimtab_time_scale 15.0\n" in exporter.page()


def test_every_change_of_a_pod_is_on_the_page_soon(lab: RunningLab, exporter: Endpoint) -> None:
    lab.kubectl("apply", "-f", "-", stdin=VM % ("own", 0.5))
    lab.kubectl("wait", "vm/own", "--for=jsonpath={.status.phase}=Running", "--timeout=300s")
    _soon(exporter, "node_cpu_usage_ratio", "kwok-node-2", 0.125)
    assert exporter.metric("node_memory_usage_ratio")["kwok-node-2"] == 0.125
    lab.kubectl("apply", "-f", "-", stdin=VM % ("own", 1))
    _soon(exporter, "node_cpu_usage_ratio", "kwok-node-2", 0.25)
    lab.kubectl("delete", "vm/own", "--timeout=300s")
    _soon(exporter, "node_vm_count", "kwok-node-2", 0)


def _soon(exporter: Endpoint, name: str, node: str, value: float) -> None:
    wait_until(lambda: exporter.metric(name)[node] == value, f"{name} of {node} is not {value}")


def test_a_scrape_asks_nothing_of_the_api_server(exporter: Endpoint) -> None:
    """An earlier exporter made a list call for each node and scrape."""

    def asked() -> float:
        page = samples(exporter.page())
        return sum(each.value for each in page if each.name == "trimtab_kube_requests_total")

    before = asked()
    assert [asked() for _ in range(10)] == [before] * 10


def test_a_scenario_is_created_placed_and_shown(lab: RunningLab, exporter: Endpoint) -> None:
    wanted = hot(a="kwok-node-1", b="kwok-node-1", c="kwok-node-3")
    loaded = exporter.post("/scenario", wanted).json()
    assert loaded == {"status": "success", **wanted, "unplaced": [], "warnings": []}
    assert exporter.get("/scenario").json() == {**wanted, "unplaced": []}
    assert exporter.metric("node_cpu_usage_ratio") == {
        "kwok-node-1": 0.2,
        "kwok-node-2": 0.0,
        "kwok-node-3": 0.1,
    }
    annotations = lab.get("vm", "a")["metadata"]["annotations"]
    assert annotations[INITIAL_NODE] == "kwok-node-1"


def test_the_same_scenario_again_leaves_its_vms_alone(lab: RunningLab, exporter: Endpoint) -> None:
    exporter.post("/scenario", hot(a="kwok-node-1", b="kwok-node-2"))
    before = uids(lab)
    again = exporter.post("/scenario", hot(a="kwok-node-1", b="kwok-node-3")).json()
    after = uids(lab)
    assert again["status"] == "success"
    assert after["a"] == before["a"]
    assert after["b"] != before["b"]
    assert exporter.places() == {"a": "kwok-node-1", "b": "kwok-node-3"}


def test_curves_are_evaluated_at_the_labs_time(exporter: Endpoint) -> None:
    scenario = """
name: curve
nodes: [{name: kwok-node-1}]
vms:
- {name: late, cpu: 32, memory: 1Gi, node: kwok-node-1,
   load: {cpu: {type: steps, points: [[0, 0.25], [60, 0.5], [1000000000, 0.75]]}}}
"""
    assert exporter.post("/scenario", scenario).json()["status"] == "success"
    # a minute of curves is 4 s of this lab
    wait_until(lambda: exporter.metric("node_cpu_usage_ratio")["kwok-node-1"] == 0.5, "no step")


def test_vms_of_others_are_not_touched(lab: RunningLab, exporter: Endpoint) -> None:
    lab.kubectl("apply", "-f", "-", stdin=VM % ("own", 0.5))
    wait_until(lambda: "own" in exporter.get("/scenario").text, "own is not seen")
    before = uids(lab)
    refused = exporter.post("/scenario", hot(a="kwok-node-1", own="kwok-node-1"))
    assert refused.status_code == 409
    assert 'VM "default/own" exists and is not of a scenario' in refused.json()["detail"]
    assert uids(lab) == before
    lab.kubectl("delete", "vm/own", "--timeout=300s")


def test_what_is_shown_can_be_posted_back_although_a_vm_was_made_by_hand(
    lab: RunningLab, exporter: Endpoint
) -> None:
    assert exporter.post("/scenario", hot(a="kwok-node-1")).status_code == 200
    lab.kubectl("apply", "-f", "-", stdin=VM % ("own", 0.5))
    wait_until(lambda: "own" in exporter.places(), "own is not placed")
    shown, before = exporter.get("/scenario").json(), uids(lab)
    by_hand = [vm["id"] for node in shown["nodes"] for vm in node["vms"] if vm.get("by_hand")]
    assert by_hand == ["own"]
    again = exporter.post("/scenario", shown)
    assert (again.status_code, uids(lab)) == (200, before)
    assert 'VM "own" was made by hand: it is left as it is' in again.json()["warnings"]
    lab.kubectl("delete", "vm/own", "--timeout=300s")


def test_what_the_api_server_refuses_changes_nothing(lab: RunningLab, exporter: Endpoint) -> None:
    exporter.post("/scenario", hot(a="kwok-node-1"))
    before = uids(lab)
    values = ", ".join(["0.5"] * 2001)  # more than the CRD takes
    scenario = f"""
name: long
nodes: [{{name: kwok-node-1}}]
vms:
- {{name: fine, cpu: 1, memory: 1Gi}}
- {{name: long, cpu: 1, memory: 1Gi, load: {{cpu: {{type: trace, values: [{values}]}}}}}}
"""
    refused = exporter.post("/scenario", scenario)
    assert refused.status_code == 422, refused.text
    assert refused.json()["field"] == "spec.load.cpu.values"
    assert refused.json()["detail"].startswith('VM "long": ')
    assert uids(lab) == before


def test_a_node_that_is_not_here_is_left_to_the_scheduler(exporter: Endpoint) -> None:
    scenario = hot(a="kwok-node-1")
    scenario["nodes"][0]["name"] = "elsewhere"
    scenario["nodes"][0]["vms"] = [{"id": "a", "cpu_consumption": 0.1, "memory_consumption": 0.05}]
    loaded = exporter.post("/scenario", scenario).json()
    assert loaded["status"] == "success"
    assert '"elsewhere" is not in this cluster' in loaded["warnings"][0]
    assert exporter.places()["a"] in LAB_NODES


def test_feedback_tells_where_each_vm_really_goes(lab: RunningLab, exporter: Endpoint) -> None:
    exporter.post("/scenario", hot(a="kwok-node-1", b="kwok-node-1"))
    answer = exporter.post("/feedback", {"migrations": WISHES}).json()
    assert answer["status"] == "partial"
    check_answered(answer)
    wait_until(lambda: exporter.places()["a"] == "kwok-node-3", "a did not move")
    lab.kubectl("wait", "vm/a", "--for=jsonpath={.status.phase}=Running", "--timeout=300s")
    one_each = dict(zip(LAB_NODES, (1, 0, 1), strict=True))
    wait_until(lambda: exporter.metric("node_vm_count") == one_each, "its source still counts")
    (asked,) = lab.get("virtualmachinemigrations")["items"]
    (owner,) = asked["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"]) == ("VirtualMachine", "a")
    assert "controller" not in owner, "the controller takes only its own evacuations back"
    exporter.post("/scenario", hot(a="kwok-node-1", b="kwok-node-1"))
    assert exporter.places() == {"a": "kwok-node-1", "b": "kwok-node-1"}


def test_a_scenario_at_the_start_is_created_once_and_then_left_alone(
    lab: RunningLab, exporter: Endpoint, tmp_path: Path
) -> None:
    """An earlier exporter locked itself up here."""
    file = tmp_path / "hot.json"
    file.write_bytes(msgspec.json.encode(hot(a="kwok-node-1")))
    flags = (f"--kubeconfig={lab.kubeconfig}", f"--scenario={file}", "--allow-scenario")
    with running_exporter(tmp_path, *flags) as first:
        wait_until(lambda: first.places() == {"a": "kwok-node-1"}, "it did not load")
        assert first.stop() == 0
    before = uids(lab)
    wish = {"vm_id": "a", "from_node": "kwok-node-1", "to_node": "kwok-node-2"}
    exporter.post("/feedback", {"migrations": [wish]})
    wait_until(lambda: exporter.places() == {"a": "kwok-node-2"}, "it did not move")
    with running_exporter(tmp_path, *flags) as second:
        wait_until(lambda: "scenario loaded" in second.log, "it did not load")
        assert second.places() == {"a": "kwok-node-2"}
    assert uids(lab) == before


def test_a_lost_node_has_no_metrics_until_it_returns(lab: RunningLab, exporter: Endpoint) -> None:
    lab.kubectl("label", "node", "kwok-node-2", f"{NOT_READY_LABEL}=true")
    try:
        wait_until(lambda: '"kwok-node-2"' not in exporter.page(), "it is still on the page")
        assert exporter.post("/refresh").json() == {
            "status": "partial",
            "refreshed": ["kwok-node-1", "kwok-node-3"],
            "failed": ["kwok-node-2"],
            "total": 3,
        }
    finally:
        lab.kubectl("label", "node", "kwok-node-2", f"{NOT_READY_LABEL}-")
    wait_until(lambda: '"kwok-node-2"' in exporter.page(), "it did not return")


def test_a_restart_is_a_counter_reset_and_nothing_else(lab: RunningLab, exporter: Endpoint) -> None:
    exporter.post("/scenario", hot(a="kwok-node-1", b="kwok-node-2"))
    before, idle = exporter.metric("node_cpu_usage_ratio"), _idle(exporter)
    lab.kill("exporter")
    lab.await_ready()
    assert exporter.metric("node_cpu_usage_ratio") == before
    assert _idle(exporter)["kwok-node-1"] < idle["kwok-node-1"]


def _idle(exporter: Endpoint) -> dict[str, float]:
    return {
        each.labels["instance"]: each.value
        for each in samples(exporter.page())
        if each.labels.get("mode") == "idle"
    }
