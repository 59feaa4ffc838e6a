"""The soft tainter: where it steers pods, and how it gets in the descheduler's way."""

import numpy as np
import pytest

from builders.worlds.sim import a_scenario, a_vm, nodes, one_hot_node
from trimtab.sim import simulate_one
from trimtab.sim.batch import Batch
from trimtab.sim.descheduling.cycle import taint
from trimtab.sim.fleet import Fleet
from trimtab.sim.loads import Loads
from trimtab.sim.placement.cluster import ReplicaPlacement
from trimtab.sim.spec import RunSpec

OVER, LEVEL, UNDER = 1, 0, -1


def a_cluster(count: int) -> ReplicaPlacement:
    fleet = Fleet(a_scenario(nodes(count), []))
    sums = np.zeros(count + 1), np.zeros(count + 1)
    loads = Loads(fleet, np.array([0.0, 60.0]))
    return ReplicaPlacement(fleet, loads, np.zeros(0, dtype=np.intp), *sums)


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        pytest.param([OVER, LEVEL, UNDER], [2, 1, 0], id="two, one, none"),
        pytest.param([OVER, LEVEL, LEVEL], [2, 0, 0], id="nobody under: the level ones go without"),
        pytest.param([LEVEL, LEVEL, LEVEL], [0, 0, 0], id="all level"),
    ],
)
def test_nodes_wear_taints_by_their_class(classes: list[int], expected: list[int]) -> None:
    cluster = a_cluster(3)
    taint(cluster, np.array(classes, dtype=np.int8))
    assert cluster.soft_taints.tolist() == expected


def test_it_tells_whether_anything_changed() -> None:
    cluster, classes = a_cluster(3), np.array([OVER, LEVEL, UNDER], dtype=np.int8)
    assert taint(cluster, classes)
    assert not taint(cluster, classes)


def test_pods_go_to_under_utilised_nodes_even_where_requests_speak_against_it() -> None:
    # Many idle VMs request much on n2 and use nothing; n1 is busy and requests little.
    vms = [a_vm(f"hot{i}", node="n0", cpu=4, load=1.0) for i in range(8)]
    vms += [a_vm("busy", node="n1", cpu=24, load=1.0)]
    vms += [a_vm(f"idle{i}", node="n2", cpu=4, memory=4, load=0.0) for i in range(20)]
    scenario = a_scenario(nodes(3), vms, requests="overcommit", duration_s=600.0)

    def first_targets(placement: str) -> set[str | None]:
        spec = RunSpec(scenario, score="cpu_focused", placement=placement)  # type: ignore[arg-type]
        return {move.target for move in simulate_one(spec, 1).moves[:2]}

    assert first_targets("spread") == {"n1"}
    assert first_targets("soft-taints") == {"n2"}


def test_stale_taints_on_every_destination_stop_all_evictions() -> None:
    batch = Batch(RunSpec(one_hot_node(duration_s=60.0), placement="soft-taints"), [1])
    batch.clusters[0].soft_taints = np.array([0, 1, 1, 1])  # they were appropriate a minute ago
    assert batch.run()[0].moves == ()


def test_without_stale_taints_the_same_cluster_is_relieved() -> None:
    batch = Batch(RunSpec(one_hot_node(duration_s=60.0), placement="soft-taints"), [1])
    assert len(batch.run()[0].moves) == 2
