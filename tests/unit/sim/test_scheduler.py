"""Placement: the kube-scheduler's filters and scores, in its integers."""

from collections import Counter
from collections.abc import Sequence
from random import Random

import numpy as np
import pytest

from builders.worlds.sim import a_node, a_scenario, a_vm, nodes
from trimtab.model.nodes_and_vms import Node, RequestsModel, Taint, Vm
from trimtab.sim.fleet import Fleet
from trimtab.sim.loads import Loads
from trimtab.sim.placement.cluster import ReplicaPlacement
from trimtab.sim.placement.scheduler import Scheduler, nodes_to_find
from trimtab.sim.spec import Placement


def a_cluster(
    node_list: Sequence[Node], vms: Sequence[Vm], requests: RequestsModel = "consumption"
) -> ReplicaPlacement:
    """Nothing is placed yet."""
    fleet = Fleet(a_scenario(node_list, vms, requests=requests))
    loads = Loads(fleet, np.array([0.0, 60.0]))
    width = fleet.nodes + 1
    where = np.empty(fleet.vms, dtype=np.intp)
    return ReplicaPlacement(fleet, loads, where, np.zeros(width), np.zeros(width))


def bind(cluster: ReplicaPlacement, vm: int, node: int) -> None:
    cluster.reserve(vm, node)
    cluster.put(vm, node)


def a_scheduler(
    cluster: ReplicaPlacement, placement: Placement = "spread", seed: int = 0
) -> Scheduler:
    return Scheduler(cluster, placement, Random(seed))


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        pytest.param(5, 5, id="all of a small cluster"),
        pytest.param(100, 100, id="50 % of 100 would be too few"),
        pytest.param(1000, 420, id="50 minus 1000 / 125 percent"),
        pytest.param(10_000, 500, id="never below 5 percent"),
    ],
)
def test_only_part_of_a_large_cluster_is_looked_at(count: int, expected: int) -> None:
    assert nodes_to_find(count) == expected


def test_spread_prefers_free_nodes_and_even_use_of_cpu_and_memory() -> None:
    # Each VM requests 8 of 32 cores and 16 of 128 GiB.
    vms = [a_vm(f"v{i}", cpu=16, memory=32) for i in range(3)]
    cluster = a_cluster(nodes(3), vms)
    bind(cluster, 0, 0)
    # Empty node: ((32-8)*100/32 + (128-16)*100/128) / 2 = (75 + 87) / 2 = 81
    # Node with one VM: (50 + 75) / 2 = 62. All have no soft taints: 3 * 100.
    # Balance: |8/32 - 16/128| / 2 = 0.0625, so 93 with the pod against 100 without: 50 + 43 / 2;
    # with a VM there already 87 against 93: 50 + 44 / 2.
    scores = a_scheduler(cluster).scores(1)
    assert scores.tolist() == [300 + 62 + 72, 300 + 81 + 71, 300 + 81 + 71]


def test_binpack_prefers_full_nodes() -> None:
    vms = [a_vm(f"v{i}", cpu=16, memory=32) for i in range(3)]
    cluster = a_cluster(nodes(3), vms)
    bind(cluster, 0, 1)
    # Used after: 16 of 32 cores and 32 of 128 GiB: (50 + 25) / 2 = 37; empty: (25 + 12) / 2 = 18.
    scores = a_scheduler(cluster, "binpack").scores(1)
    assert scores.tolist() == [300 + 18 + 71, 300 + 37 + 72, 300 + 18 + 71]
    assert a_scheduler(cluster, "binpack").choose(1) == 1


def test_least_loaded_looks_at_use_not_at_requests() -> None:
    quiet = [a_vm(f"quiet{i}", cpu=8, load=0.01) for i in range(3)]
    busy = a_vm("busy", cpu=8, load=1.0)
    cluster = a_cluster(nodes(2), [*quiet, busy, a_vm("new")], requests="overcommit")
    for vm in range(3):
        bind(cluster, vm, 0)
    bind(cluster, 3, 1)
    assert a_scheduler(cluster, "least-loaded").choose(4) == 0
    assert a_scheduler(cluster, "spread").choose(4) == 1


def test_least_loaded_counts_vms_that_are_on_their_way() -> None:
    vms = [a_vm("moving", cpu=16, load=1.0), a_vm("here", cpu=2, load=1.0), a_vm("new")]
    cluster = a_cluster(nodes(3), vms)
    bind(cluster, 0, 0)
    bind(cluster, 1, 1)
    cluster.reserve(0, 2)
    cluster.land(0, 2)
    assert a_scheduler(cluster, "least-loaded").choose(2) == 1


def test_soft_taints_weigh_three_times() -> None:
    cluster = a_cluster(nodes(3), [a_vm("v0")])
    cluster.soft_taints = np.array([2, 1, 0])
    scores = a_scheduler(cluster).scores(0)
    assert (scores - scores[0]).tolist() == [0, 150, 300]


@pytest.mark.parametrize(
    ("full", "fits"),
    [
        pytest.param(a_node("n0", cpu=1), False, id="too little CPU"),
        pytest.param(a_node("n0", memory=3), False, id="too little memory"),
        pytest.param(a_node("n0", pods=0), False, id="no pod left"),
        pytest.param(a_node("n0", unschedulable=True), False, id="cordoned"),
        pytest.param(a_node("n0", taints=(Taint("gpu"),)), False, id="a taint it does not bear"),
        pytest.param(
            a_node("n0", taints=(Taint("kwok.x-k8s.io/node", "fake"),)), True, id="KWOK's own taint"
        ),
        pytest.param(
            a_node("n0", taints=(Taint("old", effect="PreferNoSchedule"),)), True, id="a soft taint"
        ),
        pytest.param(
            a_node("n0", labels={"kubevirt.io/schedulable": "false"}), False, id="not for VMs"
        ),
        pytest.param(a_node("n0", cpu=2, memory=4, pods=1), True, id="exactly enough"),
    ],
)
def test_a_pod_goes_only_where_it_fits(full: Node, fits: bool) -> None:
    cluster = a_cluster([full], [a_vm("v0")])  # requests 2 cores and 4 GiB
    assert a_scheduler(cluster).choose(0) == (0 if fits else None)


def test_a_migration_never_goes_back_to_its_source() -> None:
    cluster = a_cluster(nodes(2), [a_vm("v0")])
    bind(cluster, 0, 0)
    assert {a_scheduler(cluster, seed=seed).choose(0, avoid=0) for seed in range(5)} == {1}
    assert a_scheduler(a_cluster(nodes(1), [a_vm("v0")])).choose(0, avoid=0) is None


def test_requests_follow_the_model_of_the_scenario() -> None:
    vm = a_vm("v0", cpu=4, memory=8, load=0.3, memory_load=0.5)
    consumption = Fleet(a_scenario(nodes(1), [vm]))
    overcommit = Fleet(a_scenario(nodes(1), [vm], requests="overcommit"))
    assert (consumption.requested_cpu[0], consumption.requested_memory[0]) == (1200, 4 * 2**30)
    assert (overcommit.requested_cpu[0], overcommit.requested_memory[0]) == (400, 8 * 2**30)


def test_ties_are_broken_at_random() -> None:
    cluster = a_cluster(nodes(4), [a_vm("v0")])
    scheduler = a_scheduler(cluster)
    counts = Counter(scheduler.choose(0) for _ in range(400))
    assert set(counts) == {0, 1, 2, 3}
    assert min(counts.values()) > 60


def test_a_search_in_a_large_cluster_goes_on_where_the_last_one_stopped() -> None:
    cluster = a_cluster(nodes(500), [a_vm("v0")])  # 46 % of 500 nodes: 230 are enough
    scheduler = a_scheduler(cluster)
    chosen = [scheduler.choose(0) for _ in range(40)]
    thirds = [range(0, 230), range(230, 460), [*range(460, 500), *range(0, 190)]]
    assert all(node in thirds[turn] for turn, node in enumerate(chosen[:3]))


def test_a_search_goes_on_until_enough_nodes_fit_or_all_were_seen() -> None:
    cluster = a_cluster(nodes(500), [a_vm("v0")])
    cluster.open = np.zeros(500, dtype=np.bool_)
    cluster.open[499] = True
    assert a_scheduler(cluster).choose(0) == 499


@pytest.mark.parametrize("placement", ["spread", "binpack"])
def test_points_kept_node_by_node_equal_points_computed_anew(placement: Placement) -> None:
    """Whatever is promised and given back in between, for pods of several sizes, to the bit."""
    chance = np.random.default_rng(5)
    sizes = [(0, 0), (1, 3), (5, 2), (7, 31)]
    vms = [a_vm(f"v{i}", cpu=c, memory=m) for i, (c, m) in enumerate(sizes * 10)]
    cluster = a_cluster([a_node(f"n{i}", cpu=8 + i, memory=24 + 5 * i) for i in range(9)], vms)
    kept = a_scheduler(cluster, placement)
    placed: list[tuple[int, int]] = []
    for _ in range(150):
        for _ in range(int(chance.integers(1, 20))):
            if placed and chance.random() < 0.5:
                cluster.release(*placed.pop(int(chance.integers(len(placed)))))
            else:
                placed.append((int(chance.integers(len(vms))), int(chance.integers(9))))
                cluster.reserve(*placed[-1])
        vm, anew = int(chance.integers(len(vms))), a_scheduler(cluster, placement)
        assert np.array_equal(kept.scores(vm), anew.scores(vm))
        assert [kept.fits(vm, n) for n in range(9)] == [anew.fits(vm, n) for n in range(9)]
