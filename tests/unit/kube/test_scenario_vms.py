"""A scenario's VMs as objects of a cluster: made, recognised, written some at a time."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from trimtab.kube.kubevirt import KubevirtVm
from trimtab.kube.resources import Condition, ObjectMeta
from trimtab.kube.scenario.kinds import KubevirtVms, OwnVms
from trimtab.kube.scenario.objects import first_vms, vm_object
from trimtab.kube.scenario.writer import AT_ONCE, each, until
from trimtab.kube.virtual_machines import INITIAL_NODE, VirtualMachine, VmSpec, VmStatus
from trimtab.model.load.curve import Constant, Diurnal
from trimtab.model.nodes_and_vms import Vm
from trimtab.model.quantity import cores, gib
from trimtab.model.scenarios.io import load_scenario

EXAMPLES = Path(__file__).parents[3] / "examples" / "scenarios"
FIXED = Vm("fixed", cores(8), gib(16), Constant(1.0), Constant(0.5), node="n-1")
CURVED = structs.replace(FIXED, name="curved", cpu_load=Diurnal(0.2, 0.8), node=None)


def existing(spec: VmSpec, **annotations: str) -> VirtualMachine:
    return VirtualMachine(metadata=ObjectMeta(name="fixed", annotations=annotations), spec=spec)


def test_a_vm_becomes_an_object_that_starts_on_its_node() -> None:
    assert vm_object(FIXED, "default", ["n-1"]) == {
        "metadata": {
            "name": "fixed",
            "namespace": "default",
            "labels": {"app.kubernetes.io/managed-by": "trimtab-exporter"},
            "annotations": {INITIAL_NODE: "n-1"},
        },
        "spec": {
            "resources": {"cpu": "8", "memory": "16Gi"},
            "utilization": {"cpu": 1.0, "memory": 0.5},
            "evictionStrategy": "LiveMigrate",
            "liveMigratable": True,
        },
    }
    spec = vm_object(CURVED, "default", ["n-1"])["spec"]
    assert spec["load"]["cpu"]["type"] == "diurnal"
    assert spec["utilization"] == {"memory": 0.5}


def test_a_node_that_the_cluster_does_not_have_is_left_to_the_scheduler() -> None:
    assert "annotations" not in vm_object(FIXED, "default", ["other"])["metadata"]


def test_vms_that_arrive_later_are_not_among_the_first() -> None:
    scenario = load_scenario(EXAMPLES / "arrivals-and-failures.yaml")
    later = {e.name for e in scenario.events if e.what == "arrive" and e.at > 0}
    assert later
    assert {vm.name for vm in first_vms(scenario)} == {vm.name for vm in scenario.vms} - later


def test_a_vm_that_is_already_so_is_recognised() -> None:
    wanted = vm_object(FIXED, "default", ["n-1"])
    spec = msgspec.convert(wanted["spec"], VmSpec)
    assert OwnVms().is_same(existing(spec, **{INITIAL_NODE: "n-1"}), wanted)
    assert not OwnVms().is_same(existing(spec), wanted)
    stopped = structs.replace(spec, running=False)
    assert not OwnVms().is_same(existing(stopped, **{INITIAL_NODE: "n-1"}), wanted)


CHANGES: dict[str, dict[str, Any]] = {
    "its size": {"cpu": cores(4)},
    "its memory": {"memory": gib(8)},
    "its use": {"cpu_load": Constant(0.3)},
    "where it starts": {"node": "n-2"},
    "what an eviction does": {"eviction_strategy": "None"},
    "whether it migrates": {"live_migratable": False},
}


def as_stored(wanted: dict[str, Any]) -> KubevirtVm:
    """KubeVirt's VM as virt-api keeps it: with defaults of its own, and somebody's annotation.

    It writes quantities as Go does, with the largest unit that leaves no rest.
    """
    made = KubevirtVms().manifest(wanted)
    domain = made["spec"]["template"]["spec"]["domain"]
    assert domain["memory"]["guest"] == "16384Mi"
    domain["memory"]["guest"] = "16Gi"
    assert domain["resources"]["requests"] == {"cpu": "8000m", "memory": "8192Mi"}
    domain["resources"]["requests"] = {"cpu": "8", "memory": "8Gi"}
    template = made["spec"]["template"]
    template["metadata"]["annotations"]["kubevirt.io/latest-observed-api-version"] = "v1"
    template["spec"]["domain"]["machine"] = {"type": "q35"}
    template["spec"]["domain"]["features"] = {"acpi": {"enabled": True}}
    template["spec"]["architecture"] = "amd64"
    return msgspec.convert(made, KubevirtVm)


def test_a_vm_of_kubevirt_is_recognised_in_spite_of_virt_apis_defaults() -> None:
    wanted = vm_object(FIXED, "default", ["n-1", "n-2"])
    assert KubevirtVms().is_same(as_stored(wanted), wanted)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_vm_of_kubevirt_that_differs_is_another(change: dict[str, Any]) -> None:
    nodes = ["n-1", "n-2"]
    stored = as_stored(vm_object(FIXED, "default", nodes))
    other = vm_object(structs.replace(FIXED, **change), "default", nodes)
    assert not KubevirtVms().is_same(stored, other)


def test_a_stopped_vm_of_kubevirt_is_not_what_a_scenario_wants() -> None:
    wanted = vm_object(FIXED, "default", ["n-1"])
    stored = as_stored(wanted)
    halted = structs.replace(stored, spec=structs.replace(stored.spec, run_strategy="Halted"))
    assert not KubevirtVms().is_same(halted, wanted)


@pytest.mark.parametrize(
    ("status", "settled"),
    [
        ({}, False),
        ({"phase": "Pending"}, False),
        ({"phase": "Scheduling"}, False),
        ({"phase": "Running"}, True),
        ({"phase": "Migrating"}, True),
        ({"phase": "Stopped"}, True),
        ({"phase": "Failed"}, True),
    ],
)
def test_a_vm_is_settled_when_it_runs_or_cannot(status: dict[str, str], settled: bool) -> None:
    vm = VirtualMachine(status=msgspec.convert(status, VmStatus))
    assert OwnVms().is_settled(vm) is settled


def test_a_vm_for_which_there_is_no_room_is_settled() -> None:
    full = Condition(type="Ready", status="False", message="0/5 nodes are available")
    status = VmStatus(phase="Scheduling", conditions=(full,))
    assert OwnVms().is_settled(VirtualMachine(status=status))


@given(count=st.integers(0, 40), bad=st.sets(st.integers(0, 39)))
def test_each_does_all_or_stops_soon_after_the_first_error(count: int, bad: set[int]) -> None:
    started: list[int] = []
    running = most = 0

    async def do(item: int) -> None:
        nonlocal running, most
        started.append(item)
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        if item in bad:
            raise ValueError(item)

    first = min((item for item in bad if item < count), default=None)
    if first is None:
        asyncio.run(each(range(count), do))
        assert sorted(started) == list(range(count))
    else:
        with pytest.raises(ValueError, match=r"\d+"):
            asyncio.run(each(range(count), do))
        assert len(started) < first + 2 * AT_ONCE
    assert running == 0
    assert most <= AT_ONCE


async def test_waiting_ends_when_it_holds_or_when_the_time_is_up() -> None:
    looks = iter((False, False, True))
    assert await until(lambda: next(looks))
    assert not await until(lambda: False, limit_s=0.0)
