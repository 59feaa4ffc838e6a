"""Every situation in which a pod can be evicted has its own answer."""

import pytest
from msgspec import structs

from builders.values.virt import a_launcher, a_vm
from trimtab.kube.resources import Key, ObjectMeta, OwnerReference, Pod
from trimtab.kube.virtual_machines import VirtualMachine
from trimtab.vm.decide.eviction import TRIGGERED, Allow, Deny, MarkForEvacuation, decide, mark_patch

FOREIGN = Pod(metadata=ObjectMeta(name="virt-launcher-not-really", namespace="default", uid="u"))

VMI = OwnerReference(
    api_version="kubevirt.io/v1", kind="VirtualMachineInstance", name="web", controller=True
)
THEIRS = structs.replace(
    a_launcher(), metadata=structs.replace(a_launcher().metadata, owner_references=(VMI,))
)


@pytest.mark.parametrize(
    ("pod", "vm"),
    [
        pytest.param(None, a_vm(), id="a pod that does not exist"),
        pytest.param(FOREIGN, None, id="a pod that only has the name of one of ours"),
        pytest.param(THEIRS, None, id="a launcher of KubeVirt with our label"),
        pytest.param(a_launcher(phase="Succeeded"), a_vm(), id="a finished pod"),
        pytest.param(a_launcher(phase="Failed"), None, id="a failed pod whose VM is gone"),
        pytest.param(a_launcher(deleted=True), a_vm(), id="a pod that is going already"),
        pytest.param(a_launcher(), a_vm(deleted=True), id="a VM that is being deleted"),
        pytest.param(a_launcher(), a_vm(running=False), id="a VM that is being stopped"),
        pytest.param(a_launcher(), a_vm(eviction_strategy="None"), id="strategy None"),
        pytest.param(
            a_launcher(),
            a_vm(eviction_strategy="LiveMigrateIfPossible", live_migratable=False),
            id="a VM that cannot move and does not insist",
        ),
        pytest.param(a_launcher(node=""), a_vm(node=""), id="a pod that is not placed yet"),
    ],
)
def test_these_evictions_may_go_on(pod: Pod | None, vm: VirtualMachine | None) -> None:
    assert isinstance(decide(pod, vm), Allow)


@pytest.mark.parametrize(
    ("pod", "vm", "words"),
    [
        pytest.param(a_launcher(), None, "was not found", id="a VM nobody knows"),
        pytest.param(
            a_launcher(),
            a_vm(live_migratable=False),
            "not live-migratable",
            id="a VM that cannot move",
        ),
        pytest.param(
            a_launcher(name="virt-launcher-web-bbbbb", node="n2"),
            a_vm(),
            "target Pod",
            id="the target",
        ),
        pytest.param(
            a_launcher(name="virt-launcher-web-bbbbb", node="n2"),
            a_vm(mark="n1"),
            "target Pod",
            id="the target of a VM that is marked",
        ),
    ],
)
def test_these_evictions_are_refused_without_a_claim(
    pod: Pod, vm: VirtualMachine | None, words: str
) -> None:
    verdict = decide(pod, vm)
    assert isinstance(verdict, Deny)
    assert words in verdict.message
    assert TRIGGERED not in verdict.message


def test_the_active_pod_of_a_vm_that_can_move_is_marked() -> None:
    verdict = decide(a_launcher(), a_vm())
    assert verdict == MarkForEvacuation(Key("default", "web"), "virt-launcher-web-aaaaa", "n1")
    assert verdict.message == 'Eviction triggered evacuation of VM "default/web"'


def test_a_second_eviction_says_that_the_first_is_under_way() -> None:
    verdict = decide(a_launcher(), a_vm(mark="n1"))
    assert isinstance(verdict, MarkForEvacuation)
    assert verdict.again
    assert verdict.message.startswith(f"Evacuation in progress: {TRIGGERED}")


def test_a_mark_of_a_node_that_the_vm_has_left_is_replaced() -> None:
    verdict = decide(a_launcher(), a_vm(mark="n0"))
    assert isinstance(verdict, MarkForEvacuation)
    assert not verdict.again


def test_a_precondition_on_another_pod_is_left_to_the_api_server() -> None:
    assert isinstance(decide(a_launcher(), a_vm(), uid="somebody-else"), Allow)


def test_the_patch_fails_unless_the_pod_is_still_the_active_one() -> None:
    mark = MarkForEvacuation(Key("default", "web"), "virt-launcher-web-aaaaa", "n1")
    assert mark_patch(mark)[0] == {
        "op": "test",
        "path": "/status/podName",
        "value": "virt-launcher-web-aaaaa",
    }
