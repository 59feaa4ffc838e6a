"""Migrations go with their VM, and numbers that no pod can be made from end in a reason."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs

from builders.worlds.vm import World
from builders.worlds.vm_cluster import KEY, START
from trimtab.errors import ConfigError
from trimtab.kube.resources import ObjectMeta, OwnerReference
from trimtab.kube.virtual_machines import (
    MigrationSpec,
    MigrationStatus,
    VirtualMachineMigration,
    VmLoad,
    VmResources,
    VmUtilization,
)
from trimtab.model.load.curve import Constant, Spikes
from trimtab.vm.amounts import machine
from trimtab.vm.decide.finished_migrations import ORPHAN_S
from trimtab.vm.decide.lifecycle import next_step
from trimtab.vm.decide.situation import VmSituation
from trimtab.vm.decide.steps import (
    AdoptMigration,
    DeleteMigration,
    Rest,
    Wait,
    WriteMigration,
    WriteVmStatus,
)


def a_migration(phase: str = "", **meta: Any) -> VirtualMachineMigration:
    status = MigrationStatus()
    if phase:
        status = MigrationStatus(phase=phase, completion_time=START)  # type: ignore[arg-type]
    return VirtualMachineMigration(
        metadata=ObjectMeta(name="move", namespace=KEY.namespace, uid="m", **meta),
        spec=MigrationSpec(vm_name=KEY.name),
        status=status,
    )


def without_vm(migration: VirtualMachineMigration, *, later_s: float = 0.0) -> VmSituation:
    now = START + timedelta(seconds=later_s)
    return VmSituation(key=KEY, now=now, migrations=(migration,), checked=True)


@pytest.mark.parametrize("running", [True, False])
def test_a_migration_written_without_an_owner_becomes_the_vms(running: bool) -> None:
    world = World(running=running)
    world.settle()
    world.ask_to_migrate("move")
    for _ in range(40):
        world.turn()
        world.schedule(lambda _: 0)
        world.kubelets()
        world.pass_time(1)
        world.copied.add("move")
    (owner,) = world.truth.migrations["move"].metadata.owner_references
    assert (owner.kind, owner.uid, owner.controller) == ("VirtualMachine", "vm-uid", False)
    assert world.truth.migrations["move"].finished


def test_an_owner_of_another_kind_is_kept_beside_the_vm() -> None:
    world = World()
    world.settle()
    theirs = OwnerReference(api_version="v1", kind="ConfigMap", name="plan", uid="p")
    world.put_migration(a_migration("Succeeded", owner_references=(theirs,)))
    step = world.turn()
    assert isinstance(step, AdoptMigration)
    assert [owner.kind for owner in step.owners] == ["ConfigMap", "VirtualMachine"]


def test_a_migration_that_has_its_vm_as_owner_is_left_alone() -> None:
    world = World()
    world.settle()
    mine = OwnerReference(api_version="trimtab.dev/v1alpha1", kind="VirtualMachine", uid="vm-uid")
    world.put_migration(a_migration("Succeeded", owner_references=(mine,)))
    assert isinstance(world.turn(), Rest)


def test_a_migration_asked_for_while_its_vm_is_deleted_goes_with_it() -> None:
    world = World()
    world.settle()
    world.put_vm(metadata=structs.replace(world.vm.metadata, deletion_timestamp=START))
    world.put_migration(a_migration("Failed"))
    step = world.turn()
    assert isinstance(step, AdoptMigration)
    assert [owner.uid for owner in step.owners] == ["vm-uid"]


def test_a_migration_without_its_vm_fails_with_a_reason_and_goes_later() -> None:
    step = next_step(without_vm(a_migration()))
    assert isinstance(step, WriteMigration)
    assert (step.status.phase, step.status.reason) == ("Failed", 'there is no VM "default/web"')
    over = a_migration("Failed")
    wait = next_step(without_vm(over, later_s=10))
    assert wait == Wait(ORPHAN_S - 10)
    assert next_step(without_vm(over, later_s=ORPHAN_S)) == DeleteMigration(over)


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"utilization": VmUtilization(cpu=1e308)}, "spec.utilization.cpu"),
        ({"utilization": VmUtilization(cpu=float("inf"))}, "spec.utilization.cpu"),
        ({"utilization": VmUtilization(memory=1.5)}, "spec.utilization.memory"),
        ({"load": VmLoad(cpu=Constant(1e200))}, "spec.load.cpu"),
        ({"load": VmLoad(memory=Constant(5))}, "spec.load.memory"),
        ({"load": VmLoad(cpu=Spikes(0.1, 0.2, 1e-320, 1e-320))}, "spec.load.cpu"),
        ({"resources": VmResources(cpu="1e300", memory="1Gi")}, "spec.resources.cpu"),
        ({"resources": VmResources(cpu=1, memory="9Ei")}, "spec.resources.memory"),
        ({"resources": VmResources(cpu=0, memory="1Gi")}, "spec.resources.cpu"),
    ],
)
def test_a_number_beyond_its_limit_makes_a_failed_vm_that_says_why(
    spec: dict[str, Any], field: str
) -> None:
    world = World(**spec)
    with pytest.raises(ConfigError, match=f"^{field}: "):
        machine(world.vm)
    step = world.turn()
    assert isinstance(step, WriteVmStatus)
    (ready,) = step.status.conditions
    assert (step.status.phase, ready.reason) == ("Failed", "InvalidSpec")
    assert ready.message.startswith(field)
    assert isinstance(world.turn(), Rest)


def test_a_vm_that_was_stored_before_there_were_limits_keeps_its_pod() -> None:
    world = World()
    world.settle()
    world.set_spec(load=VmLoad(cpu=Constant(1e200)))
    for _ in range(5):
        world.turn()
    assert world.vm.status.phase == "Running"
    assert world.vm.status.conditions[0].reason == "InvalidSpec"
    assert structs.replace(world.vm.status, conditions=()).node_name
