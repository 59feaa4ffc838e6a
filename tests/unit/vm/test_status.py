"""The status says the same as long as nothing changes, and never grows."""

from datetime import timedelta

from msgspec import structs

from builders.values.virt import NOW, a_launcher, a_vm
from trimtab.kube.virtual_machines import VirtualMachine, VmStatus
from trimtab.vm.amounts import machine
from trimtab.vm.status import LOST, absence_ended, applied, find, following, next_incarnation

LATER = NOW + timedelta(minutes=5)


def with_status(vm: VirtualMachine, status: VmStatus) -> VirtualMachine:
    return structs.replace(vm, status=status)


def test_saying_it_again_changes_nothing_not_even_a_time() -> None:
    vm = a_vm()
    once = with_status(vm, following(vm, machine(vm), a_launcher(), "", NOW))
    assert following(once, machine(vm), a_launcher(), "", LATER) == once.status


def test_conditions_are_replaced_and_never_added_to() -> None:
    vm = a_vm()
    for minute in range(50):
        now = NOW + timedelta(minutes=minute)
        vm = with_status(vm, next_incarnation(vm, now, LOST, "gone"))
        vm = with_status(vm, following(vm, machine(vm), a_launcher(), "", now))
    assert sorted(each.type for each in vm.status.conditions) == ["LiveMigratable", "Ready"]


def test_the_time_without_a_pod_is_measured_from_the_first_loss() -> None:
    vm = a_vm()
    vm = with_status(vm, following(vm, machine(vm), a_launcher(), "", NOW))
    lost = with_status(vm, next_incarnation(vm, NOW, LOST, "gone"))
    again = with_status(lost, next_incarnation(lost, LATER, LOST, "gone again"))
    placed = following(again, machine(vm), a_launcher(phase="Pending"), "", LATER)
    assert absence_ended(again, placed) is None
    runs = following(with_status(again, placed), machine(vm), a_launcher(), "", LATER)
    assert absence_ended(with_status(again, placed), runs) == NOW


def test_a_first_start_is_no_absence() -> None:
    vm = a_vm()
    new = with_status(vm, next_incarnation(vm, NOW, "Starting", ""))
    assert absence_ended(new, following(new, machine(vm), a_launcher(), "", LATER)) is None
    ready = find(new, "Ready")
    assert ready is not None
    assert ready.status == "False"


def test_the_mark_is_never_among_what_is_applied() -> None:
    written = applied(a_vm(mark="n1").status)
    assert "evacuationNodeName" not in written
    assert written["cpuPercent"] == 0, "a zero is said, not left out"
