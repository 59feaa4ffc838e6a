"""Single decisions: the moments that chance does not reach often enough."""

from datetime import timedelta

import pytest
from msgspec import structs

from builders.worlds.vm import World
from builders.worlds.vm_cluster import KEY, START
from trimtab.kube.clock import Clock
from trimtab.kube.resources import ObjectMeta, OwnerReference, Pod, PodSpec, PodStatus
from trimtab.kube.virtual_machines import (
    DOMAIN,
    EVACUATION_LABEL,
    GUARD_LABEL,
    MigrationStatus,
    VirtualMachineMigration,
    VmLoad,
)
from trimtab.model.load.curve import Steps
from trimtab.vm.amounts import machine
from trimtab.vm.decide.evacuation import clear_stale_mark, next_name
from trimtab.vm.decide.finished_migrations import attempt_number, backoff_left_s
from trimtab.vm.decide.lifecycle import name_taken, next_step, pod_refused, restart_delay_s
from trimtab.vm.decide.situation import Losses, VmSituation
from trimtab.vm.decide.steps import (
    ClearMark,
    CreatePod,
    DecideAgain,
    DeletePod,
    PatchPod,
    Rest,
    Start,
    Wait,
    WriteMigration,
    WriteVmStatus,
)
from trimtab.vm.launcher import pod_name
from trimtab.vm.settings import VmControllerSettings

SIZE = machine(World().vm)


def running() -> World:
    """A VM that runs, and nothing else to do."""
    world = World()
    world.settle()
    return world


def migrating(world: World, phase: str) -> VirtualMachineMigration:
    """A migration of that VM, until it is in `phase`."""
    world.ask_to_migrate("move")
    for _ in range(30):
        migration = world.truth.migrations["move"]
        if migration.status.phase == phase:
            return migration
        world.turn()
        world.schedule(lambda _: 0)
        world.kubelets()
    raise AssertionError(f"no migration ever {phase}")


def test_a_name_is_written_down_before_there_is_a_pod() -> None:
    world = World()
    first, second = world.turn(), world.turn()
    assert isinstance(first, WriteVmStatus)
    assert first.status.pod_name == pod_name(world.vm, 1)
    assert isinstance(second, CreatePod)
    assert second.pod["metadata"]["name"] == first.status.pod_name


def test_a_target_that_the_store_of_migrations_does_not_know_is_not_taken_for_nobodys() -> None:
    world = running()
    before = len(world.history) - 1
    migrating(world, "PreCopy")
    world.evict(world.active)  # type: ignore[arg-type]  # so that the VM is the younger one
    s = world.look()
    stale = structs.replace(s, migrations=tuple(world.history[before].migrations.values()))
    assert isinstance(next_step(stale), DecideAgain)


def test_a_mark_stays_while_we_do_not_see_where_the_pod_is() -> None:
    world = running()
    unplaced = next(s.pods for s in world.history if s.pods)
    world.evict(world.active)  # type: ignore[arg-type]
    s = world.look()
    assert s.status.evacuation_node_name
    assert clear_stale_mark(structs.replace(s, pods=tuple(unplaced.values())), SIZE) is None
    moved = structs.replace(s.status, evacuation_node_name="n9")
    left = structs.replace(s, vm=structs.replace(s.the_vm, status=moved))
    assert clear_stale_mark(left, SIZE) == ClearMark("n9")


def test_a_spec_that_makes_no_sense_is_told_and_not_acted_on() -> None:
    bad = VmLoad(cpu=Steps(points=((10.0, 0.5), (5.0, 0.5))))
    world = World(load=bad)
    step = world.turn()
    assert isinstance(step, WriteVmStatus)
    assert step.status.phase == "Failed"
    assert "spec.load.cpu" in step.status.conditions[0].message
    assert isinstance(world.turn(), Rest)
    assert world.truth.pods == {}


def test_a_running_vm_whose_spec_is_spoilt_keeps_its_pod() -> None:
    world = running()
    world.set_spec(load=VmLoad(cpu=Steps(points=())))
    world.turn()
    assert isinstance(world.turn(), Rest)
    assert len(world.alive()) == 1
    assert world.vm.status.phase == "Running"


@pytest.mark.parametrize(
    ("losses", "seconds"), [(0, 0), (1, 0), (2, 10), (3, 20), (4, 40), (7, 300), (50, 300)]
)
def test_a_vm_that_is_lost_again_and_again_is_restarted_ever_later(
    losses: int, seconds: float
) -> None:
    s = structs.replace(World().look(), losses=Losses(losses, START))
    assert restart_delay_s(s) == seconds
    fast = structs.replace(s, clock=Clock(scale=10))
    assert restart_delay_s(fast) == seconds / 10
    later = structs.replace(s, now=START + timedelta(seconds=1000))
    assert restart_delay_s(later) == 0


def test_the_next_pod_waits_until_the_last_one_has_left() -> None:
    world = running()
    world.delete_pod(world.active, grace_s=30)  # type: ignore[arg-type]
    world.turn()  # the loss is noted
    step = world.turn()
    assert isinstance(step, Wait)
    assert 30 <= step.seconds <= 40
    world.remove_pod(next(iter(world.truth.pods)))
    assert isinstance(world.turn(), CreatePod)


def owned_by_nobody(guarded: bool) -> Pod:
    labels = {GUARD_LABEL: "true"} if guarded else {}
    meta = ObjectMeta(name="p", namespace=KEY.namespace, uid="p", labels=labels)
    meta = structs.replace(meta, annotations={DOMAIN: KEY.name})
    return Pod(metadata=meta, spec=PodSpec(node_name="n1"), status=PodStatus(phase="Running"))


def owned(guarded: bool) -> Pod:
    pod = owned_by_nobody(guarded)
    owner = OwnerReference(
        api_version="trimtab.dev/v1alpha1",
        kind="VirtualMachine",
        name="web",
        uid="old",
        controller=True,
    )
    meta = structs.replace(pod.metadata, owner_references=(owner,))
    return structs.replace(pod, metadata=meta)


@pytest.mark.parametrize(
    ("pod", "checked", "expected"),
    [
        pytest.param(
            owned(True), False, DecideAgain, id="first it is made sure that the VM is gone"
        ),
        pytest.param(owned(True), True, PatchPod, id="then its pod loses the guard"),
        pytest.param(owned(False), True, DeletePod, id="and goes"),
        pytest.param(owned_by_nobody(True), True, PatchPod, id="an orphan loses the guard"),
        pytest.param(owned_by_nobody(False), True, Rest, id="and stays"),
    ],
)
def test_what_a_deleted_vm_leaves_behind(pod: Pod, checked: bool, expected: type) -> None:
    s = VmSituation(key=KEY, now=START, pods=(pod,), checked=checked)
    assert isinstance(next_step(s), expected)


def a_failure(attempts: int, seconds_ago: float = 0, phase: str = "Failed") -> VmSituation:
    migration = VirtualMachineMigration(
        metadata=ObjectMeta(name=f"evac-{attempts}", labels={EVACUATION_LABEL: "true"}),
        status=MigrationStatus(
            phase=phase,  # type: ignore[arg-type]
            attempts=attempts,
            completion_time=START - timedelta(seconds=seconds_ago),
        ),
    )
    return structs.replace(World().look(), migrations=(migration,))


@pytest.mark.parametrize(
    ("attempts", "seconds"), [(1, 20), (2, 40), (3, 80), (4, 160), (5, 320), (6, 320), (40, 320)]
)
def test_an_evacuation_that_failed_is_tried_again_ever_later(attempts: int, seconds: int) -> None:
    s = a_failure(attempts)
    assert backoff_left_s(s) == seconds
    assert backoff_left_s(structs.replace(s, clock=Clock(scale=10))) == seconds / 10
    assert backoff_left_s(a_failure(attempts, seconds_ago=seconds)) == 0
    (failed,) = s.migrations
    assert attempt_number(s, failed) == attempts + 1


@pytest.mark.parametrize("phase", ["Succeeded", "Cancelled"])
def test_what_did_not_fail_is_not_waited_for(phase: str) -> None:
    s = a_failure(3, phase=phase)
    assert backoff_left_s(s) == 0
    assert attempt_number(s, s.migrations[0]) == 1


def test_each_attempt_has_a_name_of_its_own_even_within_a_second_of_somebody_elses() -> None:
    """A name that is taken would be waited for: the VM would keep its mark and never move."""
    names = ["wish"]
    for _ in range(20):
        made = [
            VirtualMachineMigration(
                metadata=ObjectMeta(name=name, uid=f"uid-{name}", creation_timestamp=START),
                status=MigrationStatus(phase="Cancelled"),
            )
            for name in names
        ]
        names.append(next_name(structs.replace(World().look(), migrations=tuple(made))))
    assert len(set(names)) == len(names)


def test_of_one_vm_what_people_ask_for_goes_before_its_evacuation() -> None:
    world = running()
    world.evict(world.active)  # type: ignore[arg-type]
    while not world.unfinished():
        world.turn()
    world.ask_to_migrate("wish", target_node="n3")
    for _ in range(10):
        step = world.turn()
        if isinstance(step, Start):
            break
    assert isinstance(step, Start)
    assert step.migration.metadata.name == "wish"


@pytest.mark.parametrize(
    ("seconds", "over"),
    [
        pytest.param(290, False, id="not before five minutes have passed"),
        pytest.param(310, True, id="but then"),
    ],
)
def test_a_target_without_a_node_is_given_up(seconds: float, over: bool) -> None:
    world = running()
    world.nodes = {"n1"}
    migrating(world, "Scheduling")
    world.turn()
    world.schedule(lambda _: 0)
    world.pass_time(seconds)
    step = world.turn()
    assert isinstance(step, WriteMigration) is over
    if isinstance(step, WriteMigration):
        assert step.status.phase == "Failed"
        assert "no node for the target pod: none fit" in step.status.reason


def test_a_copy_that_takes_too_long_fails_and_the_vm_stays() -> None:
    world = running()
    node = world.vm.status.node_name
    migrating(world, "PreCopy")
    s = world.look()
    assert s.precopy is not None
    late = structs.replace(s, precopy=structs.replace(s.precopy, ends_in_s=0.0, in_time=False))
    step = next_step(late)
    assert isinstance(step, WriteMigration)
    assert "took too long" in step.status.reason
    assert world.vm.status.node_name == node


def test_a_mode_changed_between_two_controllers_does_not_confuse_the_second() -> None:
    for first, second in (("live", "recreate"), ("recreate", "live")):
        world = World(VmControllerSettings(mode=first))  # type: ignore[arg-type]
        world.settle()
        world.evict(world.active)  # type: ignore[arg-type]
        while not isinstance(world.turn(), Start):
            pass
        world.settings = VmControllerSettings(mode=second)  # type: ignore[arg-type]
        world.settle()
        assert [each.status.phase for each in world.truth.migrations.values()] == ["Succeeded"]
        assert len(world.alive()) == 1


def test_a_refused_target_ends_its_migration_and_a_refused_pod_is_said_once() -> None:
    world = running()
    migrating(world, "Scheduling")
    ended = pod_refused(world.look(), "quota", target=True)
    assert isinstance(ended, WriteMigration)
    assert (ended.status.phase, ended.status.reason) == (
        "Failed",
        "the target pod was refused: quota",
    )

    said = pod_refused(running().look(), "quota", target=False)
    assert isinstance(said, WriteVmStatus)
    ready = next(each for each in said.status.conditions if each.type == "Ready")
    assert (ready.status, ready.reason, ready.message) == ("False", "PodRefused", "quota")


def test_where_somebody_elses_pod_has_the_name_the_vm_takes_the_next_one() -> None:
    world = running()
    step = name_taken(world.look(), world.vm.status.pod_name, target=False)
    assert isinstance(step, WriteVmStatus)
    assert step.status.incarnation == world.vm.status.incarnation + 1
    migrating(world, "Scheduling")
    ended = name_taken(world.look(), "taken", target=True)
    assert isinstance(ended, WriteMigration)
    assert ended.status.reason == "another pod has the target's name"
