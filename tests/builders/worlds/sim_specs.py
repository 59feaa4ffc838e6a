"""Specs of all kinds for property tests of the simulator."""

from hypothesis import strategies as st

from builders.worlds.sim import a_node, a_scenario, a_vm
from trimtab.model.load.curve import Constant, Curve, Diurnal, Spikes, Steps, Trace
from trimtab.model.nodes_and_vms import RequestsModel
from trimtab.model.scenarios.scenario import Migration, Scenario, ScenarioEvent
from trimtab.sim.spec import Placement, Restraint, RunSpec, Timing, VictimChoice

SCORES = [
    "linear_amplified_ippd_k3",
    "cpu_focused",
    "pareto_front",
    "centroid_distance",
    "sustained",
    "in_flight_aware",
]
curves: st.SearchStrategy[Curve] = st.one_of(
    st.floats(0, 1.5).map(Constant),
    st.tuples(st.floats(0, 1), st.floats(0, 1)).map(
        lambda levels: Diurnal(min(levels), max(levels), period=1800.0)
    ),
    st.lists(st.floats(0, 1.2), min_size=1, max_size=5).map(lambda v: Trace(tuple(v), 200.0)),
    st.floats(0, 1).map(lambda level: Steps(((0.0, level), (450.0, 1.0 - level)), repeat=900.0)),
    st.integers(0, 5).map(lambda seed: Spikes(0.2, 1.0, every=600.0, lasts=90.0, seed=seed)),
)


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    count = draw(st.integers(1, 5))
    node_list = [a_node(f"n{i}", cpu=draw(st.sampled_from([16, 32]))) for i in range(count)]
    names = [node.name for node in node_list]
    vms = [
        a_vm(
            f"v{i}",
            node=draw(st.sampled_from([None, "n0", *names])),
            cpu=draw(st.sampled_from([1, 2, 8])),
            memory=draw(st.sampled_from([1, 8, 32])),
            load=draw(curves),
            memory_load=draw(st.floats(0, 1)),
            priority=draw(st.integers(0, 1)),
            strategy=draw(st.sampled_from(["LiveMigrate", "LiveMigrateIfPossible", "None"])),
            migratable=draw(st.integers(0, 4)) > 0,
            dirty_rate=draw(st.sampled_from([0.0, 5e8])),
        )
        for i in range(draw(st.integers(0, 25)))
    ]
    events = []
    for vm in vms[:3]:
        if draw(st.booleans()):
            events.append(ScenarioEvent(draw(st.floats(0, 1500)), "arrive", vm.name))
            events.append(ScenarioEvent(1550.0, "depart", vm.name))
    if draw(st.booleans()):
        failing = draw(st.booleans())
        events.append(ScenarioEvent(draw(st.floats(0, 1000)), "fail" if failing else "drain", "n0"))
        ends = draw(st.floats(1000, 1700))
        events.append(ScenarioEvent(ends, "recover" if failing else "undrain", "n0"))
    migration = Migration(
        mode=draw(st.sampled_from(["live", "recreate"])),
        bandwidth=draw(st.sampled_from([1e8, 1e9])),
        failure_rate=draw(st.sampled_from([0.0, 0.5])),
    )
    requests: RequestsModel = draw(st.sampled_from(["consumption", "overcommit"]))
    return a_scenario(
        node_list,
        vms,
        duration_s=1800.0,
        events=sorted(events, key=lambda event: event.at),
        migration=migration,
        requests=requests,
    )


@st.composite
def specs(draw: st.DrawFn) -> RunSpec:
    placements: list[Placement] = ["spread", "binpack", "least-loaded", "soft-taints"]
    victims: list[VictimChoice] = ["stock", "best-fit", "steepest-pair", "planned"]
    return RunSpec(
        scenario=draw(scenarios()),
        score=draw(st.sampled_from(SCORES)),
        thresholds=draw(st.sampled_from([None, (5.0, 5.0)])),
        placement=draw(st.sampled_from(placements)),
        victims=draw(st.sampled_from(victims)),
        restraint=draw(st.sampled_from([Restraint(), Restraint(cooldown_s=300.0, consecutive=2)])),
        timing=Timing(descheduling_s=draw(st.sampled_from([60.0, 300.0]))),
    )
