"""What a VM tells about evicting its pod: as KubeVirt's webhook and ours answer."""

from typing import Any

import msgspec
import pytest

from trimtab.kube.resources import Node
from trimtab.kube.virtual_machines import VirtualMachine
from trimtab.model.snapshot import REQUEST_EVICT_ONLY, Volume
from trimtab.observe import wire
from trimtab.observe.eviction_answers import kubevirt_machines, observed_on, own_machines
from trimtab.observe.objects import node_of, pod_of
from trimtab.truth.explain.outcome_texts import EVACUATING, EVICTION_ANSWER


def a_pod(name: str = "virt-launcher-a-x", node: str = "n1", **spec: Any) -> wire.Pod:
    return msgspec.convert(
        {
            "metadata": {
                "name": name,
                "namespace": "default",
                "uid": "u1",
                "annotations": {
                    "kubevirt.io/domain": "a",
                    "secret": "hidden",
                    REQUEST_EVICT_ONLY: "",
                },
            },
            "spec": {"nodeName": node, **spec},
            "status": {"phase": "Running"},
        },
        wire.Pod,
    )


def an_instance(strategy: str | None, *, migratable: bool = True, **status: Any) -> wire.Instance:
    condition = {"type": "LiveMigratable", "status": str(migratable)}
    return msgspec.convert(
        {
            "metadata": {"name": "a", "namespace": "default"},
            "spec": {"evictionStrategy": strategy},
            "status": {"nodeName": "n1", "conditions": [condition], **status},
        },
        wire.Instance,
    )


@pytest.mark.parametrize(
    ("instance", "default", "answer"),
    [
        pytest.param(an_instance("LiveMigrate"), None, "", id="migrates"),
        pytest.param(an_instance(None), "LiveMigrate", "", id="migrates by the cluster's default"),
        pytest.param(an_instance(None), None, "evicted", id="no strategy anywhere"),
        pytest.param(an_instance("None"), "LiveMigrate", "evicted", id="its own None wins"),
        pytest.param(
            an_instance("LiveMigrate", migratable=False), None, "refused", id="cannot migrate"
        ),
        pytest.param(
            an_instance("LiveMigrateIfPossible", migratable=False),
            None,
            "evicted",
            id="cannot migrate and does not insist",
        ),
        pytest.param(an_instance("External"), None, "", id="external"),
        pytest.param(
            an_instance("LiveMigrate", nodeName="n2"), None, "refused", id="a migration's target"
        ),
    ],
)
def test_kubevirt_answers(instance: wire.Instance, default: str | None, answer: str) -> None:
    found = observed_on(a_pod(), kubevirt_machines([instance], default))
    assert found.get(EVICTION_ANSWER, "").partition(":")[0] == answer


def test_a_marked_vm_is_evacuating() -> None:
    instance = an_instance("LiveMigrate", evacuationNodeName="n1")
    assert observed_on(a_pod(), kubevirt_machines([instance], None)) == {EVACUATING: "n1"}


@pytest.mark.parametrize(
    ("spec", "active", "answer"),
    [
        pytest.param({}, "virt-launcher-a-x", "", id="migrates"),
        pytest.param({"liveMigratable": False}, "virt-launcher-a-x", "refused", id="cannot"),
        pytest.param(
            {"evictionStrategy": "None"}, "virt-launcher-a-x", "evicted", id="no strategy"
        ),
        pytest.param({"running": False}, "virt-launcher-a-x", "evicted", id="stopping"),
        pytest.param({}, "virt-launcher-a-y", "refused", id="the target"),
    ],
)
def test_our_answers(spec: dict[str, Any], active: str, answer: str) -> None:
    vm = msgspec.convert(
        {
            "metadata": {"name": "a", "namespace": "default"},
            "spec": spec,
            "status": {"podName": active},
        },
        VirtualMachine,
    )
    found = observed_on(a_pod(), own_machines([vm]))
    assert found.get(EVICTION_ANSWER, "").partition(":")[0] == answer


def test_other_pods_carry_nothing() -> None:
    assert observed_on(a_pod(), {}) == {}


def test_a_pod_keeps_only_what_a_rule_reads() -> None:
    pod = pod_of(
        a_pod(
            volumes=[
                {"name": "a", "emptyDir": {}},
                {"persistentVolumeClaim": {"claimName": "c"}, "name": "b"},
            ],
            containers=[{"name": "c", "env": [{"name": "PASSWORD", "value": "x"}]}],
        )
    )
    assert pod.annotations == {REQUEST_EVICT_ONLY: ""}
    assert pod.volumes == (Volume("emptyDir"), Volume("persistentVolumeClaim", "c"))
    assert b"PASSWORD" not in msgspec.json.encode(pod)


@pytest.mark.parametrize(
    ("conditions", "ready"),
    [
        pytest.param([{"type": "Ready", "status": "True"}], True, id="ready"),
        pytest.param([{"type": "Ready", "status": "Unknown"}], False, id="unknown is not ready"),
        pytest.param([], None, id="no condition"),
    ],
)
def test_readiness(conditions: list[dict[str, str]], ready: bool | None) -> None:
    node = {"metadata": {"name": "n"}, "status": {"conditions": conditions}}
    assert node_of(msgspec.convert(node, Node)).ready is ready
