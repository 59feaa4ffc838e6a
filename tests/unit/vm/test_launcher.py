"""The pod that a VM gets: its name, what it asks for, where it may go, what it says."""

from typing import Any

import pytest
from msgspec import convert, structs

from builders.values.virt import a_vm
from trimtab.kube.clock import Clock
from trimtab.kube.resources import ObjectMeta, Pod, PodSpec
from trimtab.kube.virtual_machines import (
    CPU_CONSUMPTION,
    EVICTION_IN_PROGRESS,
    LOAD,
    MEMORY_CONSUMPTION,
    VirtualMachine,
    VmLoad,
    VmResources,
    VmSpec,
    VmUtilization,
    decode_load,
)
from trimtab.model.load.curve import Constant, Diurnal
from trimtab.model.quantity import parse_quantity
from trimtab.vm.amounts import machine, used_amounts
from trimtab.vm.launcher import LETTERS, Placement, desired_pod, metadata_change, pod_name
from trimtab.vm.settings import VmControllerSettings


def sized(cpu: str, memory: str, **spec: Any) -> VirtualMachine:
    resources = VmResources(cpu=cpu, memory=memory)
    return structs.replace(a_vm(), spec=VmSpec(resources=resources, **spec))


def pod_of(vm: VirtualMachine, **options: Any) -> dict[str, Any]:
    settings = options.pop("settings", VmControllerSettings())
    clock = options.pop("clock", Clock())
    return desired_pod(vm, machine(vm), "virt-launcher-web-abcde", settings, clock, **options)


def test_a_name_follows_from_the_vm_and_its_incarnation_alone() -> None:
    vm = a_vm()
    names = [pod_name(vm, incarnation) for incarnation in range(1, 200)]
    assert len(set(names)) == len(names)
    assert names == [pod_name(vm, incarnation) for incarnation in range(1, 200)]
    assert all(name.startswith("virt-launcher-web-") for name in names)
    assert set("".join(name.rpartition("-")[2] for name in names)) <= set(LETTERS)
    reborn = structs.replace(vm, metadata=structs.replace(vm.metadata, uid="another"))
    assert pod_name(reborn, 1) not in names


def test_the_name_of_a_vm_with_a_very_long_name_is_still_a_name() -> None:
    vm = VirtualMachine(metadata=ObjectMeta(name="a" * 253, uid="u"))
    assert len(pod_name(vm, 1)) == 253


@pytest.mark.parametrize(
    ("cpu", "memory", "use", "expected"),
    [
        pytest.param("4", "16Gi", (0.5, 0.8), ("0.0625", "0.1"), id="binary fractions that are"),
        pytest.param("3.2", "12.8Gi", (0.5, 0.8), ("0.05", "0.08"), id="exact fifths"),
        pytest.param("1", "1Gi", (0.1, 0.1), ("0.003125", "0.00078125"), id="small"),
        pytest.param("40", "64Gi", (1.5, 1.0), ("1.875", "0.5"), id="more than it has"),
        pytest.param(
            "500m",
            "1",
            (1.0, 1.0),
            ("0.015625", "0.0000000000072759576141834259033203125"),
            id="one byte, exactly",
        ),
        pytest.param("2", "1Gi", (0.0, 0.0), ("0", "0"), id="idle"),
    ],
)
def test_consumption_is_an_exact_decimal(
    cpu: str, memory: str, use: tuple[float, float], expected: tuple[str, str]
) -> None:
    vm = sized(cpu, memory, utilization=VmUtilization(cpu=use[0], memory=use[1]))
    notes = pod_of(vm)["metadata"]["annotations"]
    assert (notes[CPU_CONSUMPTION], notes[MEMORY_CONSUMPTION]) == expected


def test_another_reference_node_changes_the_fractions() -> None:
    settings = VmControllerSettings(
        reference_cpu=parse_quantity("64"), reference_memory=parse_quantity("512Gi")
    )
    notes = pod_of(sized("4", "16Gi"), settings=settings)["metadata"]["annotations"]
    assert (notes[CPU_CONSUMPTION], notes[MEMORY_CONSUMPTION]) == ("0.03125", "0.025")


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("consumption", {"cpu": "2", "memory": "13743895348"}),
        ("overcommit", {"cpu": "400m", "memory": "16Gi"}),
    ],
)
def test_requests_follow_the_model(model: Any, expected: dict[str, str]) -> None:
    pod = pod_of(sized("4", "16Gi"), settings=VmControllerSettings(requests=model))
    assert pod["spec"]["containers"][0]["resources"]["requests"] == expected


def test_a_curve_is_told_beside_its_mean() -> None:
    curve = Diurnal(low=0.1, high=0.9)
    notes = pod_of(sized("4", "16Gi", load=VmLoad(cpu=curve)))["metadata"]["annotations"]
    load = decode_load(notes[LOAD])
    assert (load.cores, load.bytes) == (4.0, 16.0 * 2**30)
    assert (load.cpu, load.memory) == (curve, Constant(0.8))
    assert notes[CPU_CONSUMPTION] == "0.0625"
    assert LOAD not in pod_of(sized("4", "16Gi"))["metadata"]["annotations"]


@pytest.mark.parametrize(
    ("placement", "required", "preferred"),
    [
        pytest.param(Placement(), [], [], id="anywhere"),
        pytest.param(Placement(avoid="n1"), [("NotIn", "n1")], [], id="not here"),
        pytest.param(
            Placement(avoid="n1", only="n2"), [("NotIn", "n1"), ("In", "n2")], [], id="only there"
        ),
        pytest.param(Placement(avoid="n1", rather="n2"), [("NotIn", "n1")], ["n2"], id="a wish"),
    ],
)
def test_where_a_pod_may_go(
    placement: Placement, required: list[tuple[str, str]], preferred: list[str]
) -> None:
    spec = pod_of(a_vm(), placement=placement)["spec"]
    affinity = spec.get("affinity", {}).get("nodeAffinity", {})
    terms = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {})
    fields = [f for term in terms.get("nodeSelectorTerms", []) for f in term["matchFields"]]
    assert [(field["operator"], *field["values"]) for field in fields] == required
    wishes = affinity.get("preferredDuringSchedulingIgnoredDuringExecution", [])
    assert [wish["preference"]["matchFields"][0]["values"][0] for wish in wishes] == preferred
    assert "nodeName" not in spec


@pytest.mark.parametrize(("scale", "seconds"), [(1, 300), (10, 30), (15, 20)])
def test_a_lost_node_is_tolerated_for_a_scaled_time(scale: int, seconds: int) -> None:
    tolerations = pod_of(a_vm(), clock=Clock(scale=scale))["spec"]["tolerations"]
    lasting = {t["key"]: t["tolerationSeconds"] for t in tolerations if "tolerationSeconds" in t}
    assert lasting == {
        "node.kubernetes.io/not-ready": seconds,
        "node.kubernetes.io/unreachable": seconds,
    }
    assert tolerations[0]["key"] == "kwok.x-k8s.io/node"


def test_a_pod_that_says_what_it_should_is_left_alone() -> None:
    vm = a_vm()
    pod = structs.replace(convert(pod_of(vm), Pod), spec=PodSpec(node_name="n1"))
    assert metadata_change(pod, vm, machine(vm), VmControllerSettings()) == {}
    marked = a_vm(mark="n1")
    change = metadata_change(pod, marked, machine(marked), VmControllerSettings())
    assert change == {"annotations": {EVICTION_IN_PROGRESS: "true"}}
    elsewhere = a_vm(mark="n2")
    assert metadata_change(pod, elsewhere, machine(elsewhere), VmControllerSettings()) == {}


def test_what_is_used_is_told_in_milli_cores_and_whole_bytes() -> None:
    amounts = used_amounts(machine(sized("1", "1Gi", utilization=VmUtilization(cpu=1 / 3))))
    assert (amounts.cpu, amounts.memory) == ("334m", "858993460")
