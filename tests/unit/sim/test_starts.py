"""Where VMs start: those that name a node are placed at once, as if one came after the other."""

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders.examples import examples
from builders.worlds.sim import a_node, a_scenario, a_vm
from trimtab.model.scenarios.scenario import Scenario
from trimtab.sim.fleet import Fleet
from trimtab.sim.loads import Loads
from trimtab.sim.measures.pieces import Sums
from trimtab.sim.placement.cluster import ReplicaPlacement
from trimtab.sim.placement.scheduler import Scheduler
from trimtab.sim.placement.starts import Starts
from trimtab.sim.streams import Purpose, stream


@st.composite
def crowded(draw: st.DrawFn) -> Scenario:
    nodes = [a_node(f"n{i}", cpu=4, memory=16, pods=draw(st.integers(1, 6))) for i in range(3)]
    where = st.sampled_from([None, "n0", "n1", "n2"])
    vms = [
        a_vm(f"v{i}", node=draw(where), cpu=draw(st.sampled_from([1, 2])), memory=4)
        for i in range(draw(st.integers(0, 14)))
    ]
    return a_scenario(nodes, vms)


def started(scenario: Scenario) -> tuple[ReplicaPlacement, Starts]:
    fleet = Fleet(scenario)
    loads = Loads(fleet, np.array([0.0, 60.0]))
    sums = Sums(fleet, 1, scenario.pressure)
    cluster = ReplicaPlacement(fleet, loads, sums.where[0], sums.cpu[0], sums.memory[0])
    scheduler = Scheduler(cluster, "spread", stream(1, Purpose.INITIAL_PLACEMENT))
    return cluster, Starts(cluster, scheduler)


@given(crowded())
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_many_at_once_start_where_they_would_one_after_the_other(scenario: Scenario) -> None:
    at_once, starts = started(scenario)
    waiting = starts.place_all()
    by_turns, others = started(scenario)
    for vm in range(len(scenario.vms)):
        others._place_first(vm)
    assert waiting == tuple(others._waiting)
    for name in ("where", "cpu", "memory", "requested_cpu", "requested_memory", "pods"):
        if name in ("cpu", "memory"):  # nowhere's own load is counted after the start
            assert np.array_equal(getattr(at_once, name)[:-1], getattr(by_turns, name)[:-1])
        else:
            assert np.array_equal(getattr(at_once, name), getattr(by_turns, name))
