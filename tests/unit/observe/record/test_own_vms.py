"""The past of a lab's own VMs: what is kept of it is told, and where it ends too."""

from datetime import UTC, datetime

import numpy as np
import pytest
from msgspec.structs import replace

from trimtab.kube.clock import Clock
from trimtab.kube.resources import Key, ObjectMeta
from trimtab.kube.virtual_machines import (
    CPU_CONSUMPTION,
    DOMAIN,
    LAUNCHER_LABEL,
    MEMORY_CONSUMPTION,
    MigrationSpec,
    MigrationStatus,
    VirtualMachineMigration,
)
from trimtab.model.load.curve_kinds import Steps
from trimtab.observe import wire
from trimtab.observe.record.chunks import Grid
from trimtab.observe.record.own_vms import (
    known_from,
    own_loads,
    own_placement,
    own_vms,
    past_moves,
)
from trimtab.observe.record.recorder import moments_after
from trimtab.virt.migration_backoff import FINISHED_KEPT


def at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def a_migration(vm: str, begun: float, source: str, target: str) -> VirtualMachineMigration:
    return VirtualMachineMigration(
        metadata=ObjectMeta(name=f"m-{begun:g}", namespace="shop", creation_timestamp=at(begun)),
        spec=MigrationSpec(vm_name=vm),
        status=MigrationStatus(
            phase="Succeeded", source_node=source, target_node=target, completion_time=at(begun + 5)
        ),
    )


def a_pod(uid: str, node: str, created: float) -> wire.Pod:
    label, value = LAUNCHER_LABEL
    return wire.Pod(
        metadata=ObjectMeta(
            name=uid,
            namespace="shop",
            uid=uid,
            labels={label: value},
            annotations={DOMAIN: "web", CPU_CONSUMPTION: "0.1", MEMORY_CONSUMPTION: "0.1"},
            creation_timestamp=at(created),
        ),
        spec=wire.PodSpec(node_name=node),
    )


def test_before_the_epoch_of_the_clock_every_load_stands_at_its_beginning() -> None:
    (vm,) = own_vms([a_pod("p", "c", 95)], {}, frozenset({"p"}))
    rising = replace(vm, cpu=Steps(((0.0, 0.25), (100.0, 0.75))))
    cpu, _ = own_loads([rising], Grid(100.0, 50.0, 4), Clock(epoch=200.0, scale=2.0))
    assert (cpu[:, 0] / vm.cores).tolist() == [0.25, 0.25, 0.25, 0.25]
    cpu, _ = own_loads([rising], Grid(300.0, 50.0, 1), Clock(epoch=200.0, scale=2.0))
    assert (cpu[:, 0] / vm.cores).tolist() == [0.75]


def test_a_vm_uses_nothing_that_is_known_before_it_was_created() -> None:
    (vm,) = own_vms([a_pod("p", "c", 195)], {}, frozenset({"p"}))
    tables = own_loads([vm], Grid(100.0, 50.0, 4), Clock(epoch=0.0, scale=1.0))
    for table in tables:
        assert np.isnan(table[:, 0]).tolist() == [True, True, False, False]


def test_the_past_is_told_backwards_from_where_a_vm_is() -> None:
    moves = past_moves([a_migration("web", 100, "a", "b"), a_migration("web", 200, "b", "c")])
    (vm,) = own_vms([a_pod("p", "c", 195)], {Key("shop", "web"): at(10)}, frozenset({"p"}))
    placement = own_placement([vm], moves, ["a", "b", "c"], Grid(0.0, 50.0, 6))
    assert placement[:, 0].tolist() == [-1, 0, 0, 1, 1, 2]


@pytest.mark.parametrize(
    ("kept", "since"),
    [
        pytest.param(FINISHED_KEPT - 1, 0.0, id="fewer than are kept: all is known"),
        pytest.param(FINISHED_KEPT, 100.0, id="older ones may have been forgotten"),
    ],
)
def test_before_the_oldest_migration_that_is_kept_nobody_knows(kept: int, since: float) -> None:
    migrations = [a_migration("web", 100 + 10 * n, "a", "b") for n in range(kept)]
    assert known_from([*migrations, a_migration("db", 500, "a", "b")]) == since


def test_moments_of_which_nobody_knows_are_left_out_and_that_is_said() -> None:
    grid = Grid(0.0, 30.0, 10)
    assert moments_after(grid, 0.0) == (grid, ())
    later, (note,) = moments_after(grid, 100.0)
    assert later == Grid(120.0, 30.0, 6)
    assert "begins 4 moments later" in note
    last, _ = moments_after(grid, 9999.0)
    assert last.moments == 1


def test_a_vm_that_moved_while_it_was_looked_at_counts_by_its_newest_pod() -> None:
    created = {Key("shop", "web"): at(10)}
    both = [a_pod("old", "a", 10), a_pod("new", "b", 90)]
    assert own_vms(both, created, frozenset({"old"}))[0].node == "a"
    assert own_vms(both[1:], created, frozenset({"old"}))[0].node == "b"
