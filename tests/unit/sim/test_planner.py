"""What-ifs: which VM goes where when both can be chosen."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.worlds.sim import a_node, a_scenario, a_vm, nodes
from trimtab.model.machines import Node, Vm
from trimtab.model.scenarios.scenario import Scenario
from trimtab.sim import simulate_one
from trimtab.sim.descheduling.planner import Planner, PlannerInputs, tolerance
from trimtab.sim.descheduling.restraint import Restrained
from trimtab.sim.fleet import Fleet
from trimtab.sim.loads import Loads
from trimtab.sim.placement.cluster import Cluster, recount
from trimtab.sim.replica import Replica
from trimtab.sim.spec import Restraint, RunSpec

UNLIMITED = (None, None)
FREE = Restraint()


def a_planner(
    placement: dict[str, list[float]],
    *,
    over: str = "n0",
    tolerated: float = 0.0,
    limits: tuple[int | None, int | None] = UNLIMITED,
    restraint: Restraint = FREE,
    node_list: list[Node] | None = None,
) -> Planner:
    """Nodes of 10 cores with VMs of so many cores, all in use."""
    vms = [
        a_vm(f"{node}-{i}", node=node, cpu=cores, memory=1, load=1.0)
        for node, sizes in placement.items()
        for i, cores in enumerate(sizes)
    ]
    scenario = a_scenario(node_list or nodes(len(placement), cpu=10), vms, requests="overcommit")
    replica = a_replica(scenario)
    sources = np.array([node.name == over for node in scenario.nodes])
    loads = replica.cluster.loads
    inputs = PlannerInputs(
        sources, np.full(len(sources), tolerated), loads.cpu, loads.memory * 0.0, limits
    )
    restrained = Restrained(restraint, replica, len(sources))
    return Planner(replica.cluster, replica.migrations.marks, inputs, restrained)


def a_replica(scenario: Scenario) -> Replica:
    fleet = Fleet(scenario)
    loads = Loads(fleet, np.array([0.0, 60.0]))
    where = np.empty((1, fleet.vms), dtype=np.intp)
    cpu, memory = np.zeros((1, fleet.nodes + 1)), np.zeros((1, fleet.nodes + 1))
    cluster = Cluster(fleet, loads, where[0], cpu[0], memory[0])
    replica = Replica(RunSpec(scenario), 1, cluster, 0, lambda number, start, end: None)
    recount([cluster], where, cpu, memory)
    return replica


def test_best_fit_takes_the_smallest_vm_that_is_enough() -> None:
    # 0.9 against a mean of 0.5: 0.2 above what is tolerated, so 2 cores have to go.
    planner = a_planner({"n0": [1, 2, 3, 3], "n1": [3], "n2": [3]}, tolerated=0.2)
    assert planner.best_fit(0.0) == [(1, 1)]


def test_best_fit_takes_the_largest_vm_when_none_is_enough() -> None:
    planner = a_planner({"n0": [1, 1, 2, 1, 4], "n1": [0.1], "n2": [3]}, tolerated=0.0)
    vms = [vm for vm, _ in planner.best_fit(0.0)]
    assert vms[0] == 4


def test_best_fit_goes_to_the_least_loaded_node_and_stops_when_level() -> None:
    planner = a_planner({"n0": [2, 2, 2, 2], "n1": [3], "n2": [1]}, tolerated=0.1)
    # Mean 0.4, so 0.3 too much: two VMs. The first goes to n2 (0.1), then both stand at 0.3.
    assert planner.best_fit(0.0) == [(0, 2), (1, 1)]


def test_steepest_pair_takes_the_move_that_levels_most() -> None:
    # 2·v·(a - b - v): 4 cores to n2 give 2·0.4·(0.9 - 0 - 0.4) = 0.4, 5 cores as much, 3 less.
    planner = a_planner({"n0": [1, 4, 4], "n1": [3], "n2": [0.01]}, tolerated=0.3)
    assert planner.steepest_pair(0.0) == [(1, 2)]


def test_a_move_must_gain_the_minimum() -> None:
    cluster = {"n0": [1.0, 1.0, 1.0, 1.0], "n1": [2.0]}
    # One core from 0.4 to 0.2: 2·0.1·(0.4 - 0.2 - 0.1) = 0.02.
    assert len(a_planner(cluster, restraint=Restraint(minimum_gain=0.019)).steepest_pair(0.0)) == 1
    assert a_planner(cluster, restraint=Restraint(minimum_gain=0.021)).steepest_pair(0.0) == []
    assert a_planner(cluster, restraint=Restraint(minimum_gain=0.021)).best_fit(0.0) == []


@pytest.mark.parametrize("how", ["best_fit", "steepest_pair"])
def test_limits_hold_in_all_and_per_node(how: str) -> None:
    cluster = {"n0": [1.0] * 9, "n1": [0.1], "n2": [0.1]}
    assert len(getattr(a_planner(cluster, limits=(3, None)), how)(0.0)) == 3
    assert len(getattr(a_planner(cluster, limits=(5, 2)), how)(0.0)) == 2


@pytest.mark.parametrize("how", ["best_fit", "steepest_pair"])
def test_only_nodes_with_room_are_targets(how: str) -> None:
    small = [a_node("n0", cpu=10), a_node("n1", cpu=10, pods=1), a_node("n2", cpu=10)]
    cluster = {"n0": [2.0, 2.0, 2.0], "n1": [0.1], "n2": [1.0]}
    moves = getattr(a_planner(cluster, node_list=small), how)(0.0)
    assert {target for _, target in moves} == {2}


@pytest.mark.parametrize("how", ["best_fit", "steepest_pair"])
def test_a_level_node_is_left_alone_whatever_its_score_says(how: str) -> None:
    assert getattr(a_planner({"n0": [5], "n1": [3]}, tolerated=0.1), how)(0.0) == []


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.floats(0.1, 4), min_size=1, max_size=12),
    st.lists(st.floats(0.1, 2), min_size=1, max_size=6),
    st.sampled_from(["best_fit", "steepest_pair"]),
)
def test_every_plan_levels_the_cluster(hot: list[float], cool: list[float], how: str) -> None:
    planner = a_planner({"n0": hot, "n1": cool, "n2": []})
    loads = np.array([sum(hot), sum(cool), 0.0]) / 10
    before = float((loads**2).sum())
    sizes = [*hot, *cool]
    for vm, target in getattr(planner, how)(0.0):
        loads[0] -= sizes[vm] / 10
        loads[target] += sizes[vm] / 10
    assert float((loads**2).sum()) <= before


def test_the_tolerance_is_where_a_straight_score_meets_its_threshold() -> None:
    # Score = load: mean 50 points, threshold 10 above, so a deviation of 0.1 is tolerated.
    seen = np.array([[0.9, 0.1], [0, 0], [0.2, 0.2], [0, 0]])
    scores = np.array([0.9, 0.1])
    assert tolerance(seen, scores, 60.0)[0] == pytest.approx(0.1)
    # Three times as steep: a third of it.
    steep = np.array([0.8, 0.0])
    seen = np.array([[0.6, 0.2], [0, 0], [0, 0], [0, 0]])
    assert tolerance(seen, steep, 50.0)[0] == pytest.approx(0.2 * 10 / 40)


def test_a_node_at_the_mean_score_tolerates_what_it_has() -> None:
    seen = np.array([[0.5, 0.5], [0, 0], [0, 0], [0, 0]])
    assert tolerance(seen, np.array([0.5, 0.5]), 60.0).tolist() == [0.0, 0.0]


def vms_of(sizes: dict[str, list[float]]) -> list[Vm]:
    return [
        a_vm(f"{node}-{i}", node=node, cpu=cores, memory=4, load=1.0)
        for node, each in sizes.items()
        for i, cores in enumerate(each)
    ]


def test_in_the_loop_planners_need_fewer_migrations_than_the_stock_choice() -> None:
    sizes = {"n0": [0.5] * 20 + [4.0, 4.0, 4.0], "n1": [2.0, 2.0], "n2": [2.0], "n3": [1.0]}
    scenario = a_scenario(nodes(4), vms_of(sizes), requests="overcommit")

    def migrations(victims: str) -> int:
        spec = RunSpec(scenario, score="cpu_focused", victims=victims)  # type: ignore[arg-type]
        return simulate_one(spec, 1).card.migrations

    assert 0 < migrations("steepest-pair") <= migrations("best-fit") < migrations("stock")
