"""What one pod adds to its node."""

import pytest
from msgspec import convert

from builders.values.exporter import GIB, a_launcher, a_machine
from trimtab.exporter.nodes.consumption import (
    Amounts,
    BadAnnotation,
    PodRole,
    contribution,
    counts,
    role,
    without_use,
)
from trimtab.exporter.nodes.wire import InstanceObject, Launcher, MachineObject
from trimtab.kube.virtual_machines import Load, encode_load
from trimtab.model.load.curve import Constant, Steps

TENTH_AND_FIFTH = Amounts(100_000_000, 200_000_000)


def test_the_annotations_are_shares_of_the_reference_node() -> None:
    assert contribution(a_launcher(cpu="0.1", memory="0.2"), None).at(0.0) == TENTH_AND_FIFTH


def test_a_third_keeps_nine_digits() -> None:
    assert contribution(a_launcher(cpu="0.333333333333"), None).fixed.cpu == 333_333_333


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(a_launcher(), True, id="running"),
        pytest.param(a_launcher(phase="Pending"), True, id="placed and about to run"),
        pytest.param(a_launcher(node=""), False, id="waiting for a node"),
        pytest.param(a_launcher(phase="Succeeded"), False, id="finished"),
        pytest.param(a_launcher(phase="Failed"), False, id="failed"),
        pytest.param(a_launcher(deleted=True), False, id="being deleted"),
    ],
)
def test_a_pod_counts_from_its_placement_to_its_end(pod: Launcher, expected: bool) -> None:
    assert counts(pod) is expected


MOVING = a_machine(pod="web-1", phase="Migrating", migration="m1")


@pytest.mark.parametrize(
    ("pod", "vm", "expected"),
    [
        pytest.param(a_launcher(), None, PodRole.ACTIVE, id="its VM is not known"),
        pytest.param(a_launcher(), a_machine(pod=""), PodRole.ACTIVE, id="its VM names no pod yet"),
        pytest.param(a_launcher(), a_machine(), PodRole.ACTIVE, id="its VM names it"),
        pytest.param(
            a_launcher(),
            a_machine(mark="n1"),
            PodRole.LEAVING,
            id="its VM is marked for evacuation",
        ),
        pytest.param(
            a_launcher(), a_machine(mark="n0"), PodRole.ACTIVE, id="the mark is of another node"
        ),
        pytest.param(a_launcher(), MOVING, PodRole.LEAVING, id="source of a migration"),
        pytest.param(
            a_launcher("web-2", migration="m1"),
            MOVING,
            PodRole.ARRIVING,
            id="target of a migration",
        ),
        pytest.param(
            a_launcher("web-2", migration="m0"),
            MOVING,
            PodRole.DEPARTED,
            id="target of an earlier migration, leaked",
        ),
        pytest.param(
            a_launcher("web-1", migration=""),
            a_machine(pod="web-2"),
            PodRole.DEPARTED,
            id="source after the cut-over",
        ),
        pytest.param(
            a_launcher("web-2", migration="m1"),
            a_machine(pod="web-2"),
            PodRole.ACTIVE,
            id="target after the cut-over",
        ),
        pytest.param(
            a_launcher("web-2", migration="m" * 63),
            a_machine(phase="Migrating", migration="m" * 80),
            PodRole.ARRIVING,
            id="a migration with a name too long for a label",
        ),
    ],
)
def test_the_vm_says_what_each_of_its_pods_is(
    pod: Launcher, vm: MachineObject | None, expected: PodRole
) -> None:
    assert role(pod, vm) is expected


def test_during_a_migration_memory_is_on_both_nodes_and_cpu_on_the_source() -> None:
    source = contribution(a_launcher("web-1", node="n1"), MOVING)
    target = contribution(a_launcher("web-2", node="n2", migration="m1"), MOVING)
    assert (source.at(0.0), source.runs) == (TENTH_AND_FIFTH, True)
    assert (target.at(0.0), target.runs) == (Amounts(0, 200_000_000), False)


def test_a_pod_that_the_vm_has_left_adds_nothing() -> None:
    left = contribution(a_launcher("web-1"), a_machine(pod="web-2"))
    assert (left.at(0.0), left.runs) == (Amounts(), False)


def test_a_load_replaces_the_consumption() -> None:
    load = Load(16.0, 64 * GIB, cpu=Steps(((0.0, 0.5), (60.0, 1.0))), memory=Constant(0.25))
    share = contribution(a_launcher(cpu="0.9", load=encode_load(load)), None)
    assert share.at(30.0) == Amounts(250_000_000, 125_000_000)
    assert share.at(90.0) == Amounts(500_000_000, 125_000_000)


@pytest.mark.parametrize(
    ("pod", "named"),
    [
        pytest.param(a_launcher(cpu="a lot"), "vm-cpu-consumption: 'a lot'", id="words"),
        pytest.param(a_launcher(cpu="nan"), "vm-cpu-consumption: 'nan'", id="not a number"),
        pytest.param(a_launcher(memory="inf"), "vm-memory-consumption: 'inf'", id="infinite"),
        pytest.param(a_launcher(memory="-0.1"), "vm-memory-consumption: '-0.1'", id="negative"),
        pytest.param(a_launcher(cpu="1001"), "vm-cpu-consumption: '1001'", id="1001 nodes"),
        pytest.param(a_launcher(cpu=None), "vm-cpu-consumption: it is missing", id="missing"),
        pytest.param(a_launcher(load="{"), "trimtab.dev/load: ", id="a load that is not JSON"),
        pytest.param(a_launcher(load="{}"), "trimtab.dev/load: ", id="a load without curves"),
        pytest.param(
            a_launcher(load=encode_load(Load(-1.0, GIB, Constant(0.5), Constant(0.5)))),
            "trimtab.dev/load: ",
            id="a load of negative size",
        ),
        pytest.param(
            a_launcher(load=encode_load(Load(1.0, GIB, Constant(-0.5), Constant(0.5)))),
            "trimtab.dev/load: ",
            id="a load that gives CPU back",
        ),
    ],
)
def test_an_unusable_annotation_is_named(pod: Launcher, named: str) -> None:
    with pytest.raises(BadAnnotation) as caught:
        contribution(pod, None)
    assert named in str(caught.value)


def test_a_pod_without_a_readable_use_is_still_a_vm() -> None:
    idle = without_use(a_launcher(cpu="a lot"), a_machine())
    assert (idle.node, idle.runs, idle.at(0.0)) == ("n1", True, Amounts())


def a_launcher_of_kubevirt(node: str, *, vmi: str = "u", job: str = "") -> Launcher:
    labels = {"kubevirt.io/created-by": vmi, "kubevirt.io/migrationJobUID": job}
    made = {"metadata": {"name": node, "labels": labels}, "spec": {"nodeName": node}}
    return convert(made, Launcher)


def an_instance(**status: object) -> InstanceObject:
    return convert({"metadata": {"uid": "u"}, "status": status}, InstanceObject)


COPYING_VMI = {"nodeName": "n1", "migrationState": {"migrationUid": "m"}}
MOVED_VMI = {"nodeName": "n2", "migrationState": {"migrationUid": "m", "completed": True}}
FAILED_VMI = {"nodeName": "n1", "migrationState": {"migrationUid": "m", "failed": True}}


@pytest.mark.parametrize(
    ("vmi", "source", "target"),
    [
        pytest.param(an_instance(), PodRole.ACTIVE, PodRole.ACTIVE, id="not placed yet"),
        pytest.param(
            an_instance(nodeName="n1"),
            PodRole.ACTIVE,
            PodRole.ARRIVING,
            id="the target pod was made",
        ),
        pytest.param(
            an_instance(nodeName="n1", evacuationNodeName="n1"),
            PodRole.LEAVING,
            PodRole.ARRIVING,
            id="marked",
        ),
        pytest.param(an_instance(**COPYING_VMI), PodRole.LEAVING, PodRole.ARRIVING, id="copying"),
        pytest.param(an_instance(**MOVED_VMI), PodRole.DEPARTED, PodRole.ACTIVE, id="moved"),
        pytest.param(an_instance(**FAILED_VMI), PodRole.ACTIVE, PodRole.DEPARTED, id="failed"),
    ],
)
def test_of_two_pods_of_a_vmi_one_runs_the_guest(
    vmi: InstanceObject, source: PodRole, target: PodRole
) -> None:
    assert role(a_launcher_of_kubevirt("n1"), vmi) is source
    assert role(a_launcher_of_kubevirt("n2", job="m"), vmi) is target


def test_a_pod_of_the_vmi_before_counts_no_more() -> None:
    assert role(a_launcher_of_kubevirt("n1", vmi="old"), an_instance(nodeName="n1")) is (
        PodRole.DEPARTED
    )
