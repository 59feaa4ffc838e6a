"""The exporter's writing endpoints where the VMs are KubeVirt's: the same as with trimtab's own."""

from collections.abc import Iterator
from typing import Any

import pytest

from builders.labs.exporter_http import Endpoint
from builders.labs.kubevirt import KubevirtLab, needs_kubevirt
from builders.labs.loops import LoopLab, running_loop
from builders.values.exporter import WISHES, check_answered, hot
from builders.waiting import wait_until
from trimtab.kube.kubevirt import HOSTNAME
from trimtab.model.scenarios.expand import expand
from trimtab.model.scenarios.io import parse_file
from trimtab.model.scenarios.scenario import Scenario
from trimtab.stacks.kubevirt.settings import KubevirtSettings
from trimtab.stacks.kubevirt.stack import kubevirt_stack
from trimtab.stacks.loop.settings import EXPORTER_TOKEN_FILE

pytestmark = [pytest.mark.engines, pytest.mark.full, needs_kubevirt]


def empty() -> Scenario:
    return expand(parse_file("name: empty\nnodes: [{name: kwok-node, count: 3}]\nvms: []\n"))


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoopLab]:
    """The descheduler only looks on, so that nothing moves by itself."""
    with running_loop(
        tmp_path_factory,
        scenario=empty(),
        beside=(kubevirt_stack(KubevirtSettings()),),
        settings={"dry_run": True},
    ) as found:
        yield found


@pytest.fixture
def kubevirt(loop: LoopLab) -> KubevirtLab:
    kubevirt = KubevirtLab(loop.lab)
    kubevirt.delete_all()
    return kubevirt


@pytest.fixture
def exporter(loop: LoopLab) -> Iterator[Endpoint]:
    endpoint = Endpoint(loop.lab.urls["exporter"])
    token = (loop.lab.dir / EXPORTER_TOKEN_FILE).read_text().strip()
    endpoint.http.headers["Authorization"] = f"Bearer {token}"
    endpoint.http.timeout = 600.0
    with endpoint.http:
        yield endpoint


def load(exporter: Endpoint, wanted: dict[str, Any]) -> dict[str, Any]:
    """Load a scenario; again if KubeVirt was slower than an answer is kept back."""

    def loaded() -> dict[str, Any]:
        answer = exporter.post("/scenario", wanted)
        assert answer.status_code in (200, 503), answer.text
        done: dict[str, Any] = answer.json()
        return done if done["status"] == "success" else {}

    return wait_until(loaded, "the scenario is not placed")


def test_a_scenario_is_made_of_kubevirts_vms_and_shown(
    kubevirt: KubevirtLab, exporter: Endpoint
) -> None:
    wanted = hot(a="kwok-node-1", b="kwok-node-1", c="kwok-node-3")
    assert load(exporter, wanted) == {
        "status": "success",
        **wanted,
        "unplaced": [],
        "warnings": [],
    }
    assert exporter.get("/scenario").json() == {**wanted, "unplaced": []}
    for name in "abc":
        kubevirt.await_running(name)
    places = {vmi.metadata.name: vmi.status.node_name for vmi in kubevirt.vmis()}
    assert places == {"a": "kwok-node-1", "b": "kwok-node-1", "c": "kwok-node-3"}


def test_only_vms_that_differ_are_made_anew(kubevirt: KubevirtLab, exporter: Endpoint) -> None:
    load(exporter, hot(a="kwok-node-1", b="kwok-node-2"))
    before = {vmi.metadata.name: vmi.metadata.uid for vmi in kubevirt.vmis()}
    load(exporter, hot(a="kwok-node-1", b="kwok-node-3"))
    after = {vmi.metadata.name: vmi.metadata.uid for vmi in kubevirt.vmis()}
    assert after["a"] == before["a"]
    assert after["b"] != before["b"]
    assert exporter.places() == {"a": "kwok-node-1", "b": "kwok-node-3"}


def test_a_stopped_vm_of_somebody_else_is_in_the_way(
    kubevirt: KubevirtLab, exporter: Endpoint
) -> None:
    size = {"resources": {"cpu": "1", "memory": "1Gi"}, "running": False}
    kubevirt.request(lambda requests: requests.create("own", size))
    refused = exporter.post("/scenario", hot(a="kwok-node-1", own="kwok-node-1"))
    assert refused.status_code == 409, refused.text
    assert 'VM "default/own" exists and is not of a scenario' in refused.json()["detail"]
    assert kubevirt.vms() == ["own"]


def test_feedback_becomes_migrations_of_kubevirt(kubevirt: KubevirtLab, exporter: Endpoint) -> None:
    load(exporter, hot(a="kwok-node-1", b="kwok-node-1"))
    for name in "ab":  # KubeVirt refuses to migrate a VM that does not run yet
        kubevirt.await_running(name)
    answer = exporter.post("/feedback", {"migrations": WISHES}).json()
    check_answered(answer)
    kubevirt.await_all_over()
    (asked,) = kubevirt.migrations()
    assert asked.spec.added_node_selector == {HOSTNAME: "kwok-node-3"}
    assert asked.status.phase == "Succeeded"
    wait_until(lambda: exporter.places() == {"a": "kwok-node-3", "b": "kwok-node-1"})


def test_what_kubevirt_refuses_is_said(kubevirt: KubevirtLab, exporter: Endpoint) -> None:
    load(exporter, hot(a="kwok-node-1"))
    kubevirt.await_running("a")
    kubevirt.annotate("a", not_live_migratable="DisksNotLiveMigratable")
    wait_until(lambda: not kubevirt.vmi("a").migratable, "the condition does not come")
    wish = {"vm_id": "a", "from_node": "kwok-node-1"}
    answer = exporter.post("/feedback", {"migrations": [wish]}).json()
    assert answer["status"] == "failed"
    (moved,) = answer["migrations"]
    assert moved["actual_node"] == "kwok-node-1"
    assert "DisksNotLiveMigratable" in moved["error"]
