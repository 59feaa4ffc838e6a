"""From a file to every node and VM by name."""

from typing import Any

import pytest

from builders.values.scenarios import a_file, a_group
from trimtab.errors import ConfigError
from trimtab.model.load.curve import Constant, Diurnal, Spikes, Steps, Trace, value_at
from trimtab.model.load.curve_means import mean
from trimtab.model.nodes_and_vms import requested
from trimtab.model.quantity import parse_quantity
from trimtab.model.scenarios.expand import expand
from trimtab.model.scenarios.file import TraceSource
from trimtab.model.scenarios.scenario import Migration, ScenarioEvent


def test_groups_are_numbered_and_single_ones_are_not() -> None:
    scenario = expand(a_file(nodes=[{"name": "n", "count": 2}, {"name": "x"}]))
    assert [node.name for node in scenario.nodes] == ["n-1", "n-2", "x"]
    assert [vm.name for vm in scenario.vms] == ["web"]


def test_an_empty_group_is_no_mistake() -> None:
    assert expand(a_group(count=0)).vms == ()


def test_everything_of_a_group_reaches_its_vms() -> None:
    (vm,) = expand(
        a_group(
            cpu="500m",
            memory="1.5Gi",
            node="node-2",
            priority=7,
            evictionStrategy="None",
            liveMigratable=False,
            dirtyRate="8Mi",
            utilization={"cpu": 1.5, "memory": 0.25},
        )
    ).vms
    assert (vm.cpu, vm.memory) == (parse_quantity("500m"), parse_quantity("1.5Gi"))
    assert (vm.cpu_load, vm.memory_load) == (Constant(1.5), Constant(0.25))
    assert (vm.node, vm.priority, vm.eviction_strategy) == ("node-2", 7, "None")
    assert (vm.live_migratable, vm.dirty_rate) == (False, parse_quantity("8Mi"))


def test_vms_alike_share_one_curve() -> None:
    first, second = expand(
        a_group(count=2, load={"cpu": {"type": "diurnal", "low": 0, "high": 1}})
    ).vms
    assert first.cpu_load is second.cpu_load
    assert first.memory_load is second.memory_load


def test_drawn_numbers_stay_between_their_limits_and_depend_on_the_seed_alone() -> None:
    group = {"name": "web", "count": 50, "utilization": {"cpu": {"min": 0.2, "max": 0.4}}}
    drawn = {
        seed: [vm.cpu_load for vm in expand(a_file(vms=[group], seed=seed)).vms]
        for seed in (1, 2, -1)
    }
    assert drawn[1] == [vm.cpu_load for vm in expand(a_file(vms=[group], seed=1)).vms]
    assert drawn[1] != drawn[2] != drawn[-1]
    values = [value_at(curve, 0) for curve in drawn[1]]
    assert 0.2 <= min(values) < 0.25
    assert 0.35 < max(values) <= 0.4


def staggered(curve: dict[str, Any], stagger: str = "10m") -> list[Any]:
    file = a_group(count=3, stagger=stagger, load={"cpu": curve})
    return [vm.cpu_load for vm in expand(file).vms]


@pytest.mark.parametrize(
    "curve",
    [
        pytest.param({"type": "diurnal", "low": 0.1, "high": 0.9, "period": 5000}, id="diurnal"),
        pytest.param({"type": "steps", "points": [[0, 0.1], [900, 0.9]]}, id="steps"),
        pytest.param(
            {"type": "steps", "points": [[0, 0.1], [900, 0.9]], "repeat": 1700},
            id="repeating steps",
        ),
        pytest.param(
            {"type": "spikes", "base": 0.1, "peak": 0.9, "every": 700, "lasts": 90}, id="spikes"
        ),
        pytest.param({"type": "trace", "values": [0.1, 0.5, 0.9], "interval": 250}, id="a trace"),
        pytest.param(
            {"type": "trace", "values": [0.1, 0.5, 0.9], "interval": 250, "repeat": False},
            id="a trace that ends",
        ),
    ],
)
def test_each_vm_follows_the_same_curve_later(curve: dict[str, Any]) -> None:
    first, second, third = staggered(curve)
    for time in range(0, 9000, 37):
        assert value_at(second, time + 600) == pytest.approx(value_at(first, time))
        assert value_at(third, time + 1200) == pytest.approx(value_at(first, time))
    assert mean(second, 700, 3600) == pytest.approx(mean(first, 100, 3000))
    assert [value_at(second, t) for t in range(0, 9000, 37)] != [
        value_at(first, t) for t in range(0, 9000, 37)
    ]


def test_spikes_come_at_moments_of_their_own_unless_staggered() -> None:
    curve = {"type": "spikes", "base": 0, "peak": 1, "every": 600, "lasts": 60, "seed": 5}
    assert [c.seed for c in staggered(curve, "0s")] == [5, 6, 7]
    assert [(c.seed, c.delay) for c in staggered(curve)] == [(5, 0), (5, 600), (5, 1200)]


def test_a_constant_has_no_later() -> None:
    assert staggered({"type": "constant", "value": 0.3}) == [Constant(0.3)] * 3


def test_events_happen_in_order_and_end() -> None:
    scenario = expand(
        a_file(
            events=[
                {"type": "nodeDrains", "at": "30m", "node": "node-2", "lasts": "10m"},
                {"type": "nodeFails", "at": "20m", "node": "node-1", "lasts": "15m"},
                {"type": "nodeFails", "at": "50m", "node": "node-1"},
                {"type": "vmsArrive", "at": "5m", "vms": {"name": "late", "count": 2}},
                {"type": "vmDeparts", "at": "10m", "vm": "late-2"},
            ]
        )
    )
    assert scenario.events == (
        ScenarioEvent(300, "arrive", "late-1"),
        ScenarioEvent(300, "arrive", "late-2"),
        ScenarioEvent(600, "depart", "late-2"),
        ScenarioEvent(1200, "fail", "node-1"),
        ScenarioEvent(1800, "drain", "node-2"),
        ScenarioEvent(2100, "recover", "node-1"),
        ScenarioEvent(2400, "undrain", "node-2"),
        ScenarioEvent(3000, "fail", "node-1"),
    )
    assert [vm.name for vm in scenario.vms] == ["web", "late-1", "late-2"]


def test_the_migration_model_is_in_seconds_and_bytes() -> None:
    file = a_file(migration={"bandwidth": "1k", "timeoutPerGib": "2m", "backoff": "1m"})
    assert expand(file).migration == Migration(bandwidth=1000, timeout_s_per_gib=120, backoff_s=60)


RECORDED = [
    (Trace((0.1,)), Trace((0.5,))),
    (Trace((0.2,)), None),
    (Trace((0.3,)), Trace((0.7,))),
]


def test_each_machine_of_a_trace_becomes_a_vm() -> None:
    source = TraceSource(file="t.csv")
    scenario = expand(a_group(trace={"file": "t.csv"}), {source: RECORDED})
    assert [vm.name for vm in scenario.vms] == ["web-1", "web-2", "web-3"]
    assert [vm.cpu_load for vm in scenario.vms] == [cpu for cpu, _ in RECORDED]
    assert [vm.memory_load for vm in scenario.vms] == [Trace((0.5,)), Constant(0.8), Trace((0.7,))]


def test_memory_that_is_given_beats_memory_that_was_recorded() -> None:
    source = TraceSource(file="t.csv")
    load = {"memory": {"type": "constant", "value": 0.1}}
    scenario = expand(a_group(trace={"file": "t.csv"}, load=load), {source: RECORDED})
    assert {vm.memory_load for vm in scenario.vms} == {Constant(0.1)}


@pytest.mark.parametrize(
    ("changed", "mistake"),
    [
        (
            {"nodes": [{"name": "n", "count": 2}, {"name": "n-1"}]},
            "node 'n-1' is defined 2 times; give the groups different names",
        ),
        (
            {"vms": [{"name": "web", "count": 2}, {"name": "web-2"}]},
            "vm 'web-2' is defined 2 times; give the groups different names",
        ),
        (
            {"vms": [{"name": "web", "count": 3, "node": "node-9"}]},
            "vm 'web-1' and 2 others: there is no node 'node-9'; name one of nodes",
        ),
        ({"vms": [{"name": "Web"}]}, "vm 'Web' cannot be a name in Kubernetes; use up to 63 lower"),
        ({"nodes": [{"name": "x" * 64}]}, f"node '{'x' * 64}' cannot be a name in Kubernetes"),
        (
            {"events": [{"type": "vmDeparts", "at": 1, "vm": "db"}]},
            "events: depart names the vm 'db', which does not exist",
        ),
        (
            {"events": [{"type": "nodeFails", "at": 1, "node": "web"}]},
            "events: fail names the node 'web', which does not exist",
        ),
        (
            {
                "events": [
                    {"type": "vmsArrive", "at": 60, "vms": {"name": "late"}},
                    {"type": "vmDeparts", "at": 30, "vm": "late"},
                ]
            },
            "events: the vm 'late' departs before it arrives",
        ),
        ({"vms": [{"name": "w", "trace": {"file": "x"}}]}, "vms[0].trace.file: 'x' was not read"),
        ({"duration": 0}, "duration: 0 must be above 0"),
    ],
    ids=lambda value: value.partition(";")[0] if isinstance(value, str) else "",
)
def test_what_cannot_be_expanded_is_refused(changed: dict[str, Any], mistake: str) -> None:
    with pytest.raises(ConfigError) as caught:
        expand(a_file(**changed))
    assert str(caught.value).startswith(mistake)


@pytest.mark.parametrize(
    ("requests", "cpu", "memory"),
    [
        pytest.param("consumption", "1300m", "3435973837", id="what it uses on average"),
        pytest.param("overcommit", "200m", "4Gi", id="a tenth of the cores, all of the memory"),
    ],
)
def test_a_pod_requests_what_the_scenario_says(requests: Any, cpu: str, memory: str) -> None:
    (vm,) = expand(a_group(cpu=2, memory="4Gi", utilization={"cpu": 0.65})).vms
    assert requested(vm, requests) == (parse_quantity(cpu), parse_quantity(memory))


def test_curves_of_every_kind_are_read() -> None:
    kinds = {
        type(expand(a_group(load={"cpu": curve})).vms[0].cpu_load)
        for curve in (
            {"type": "constant", "value": 1},
            {"type": "steps", "points": [[0, 1]]},
            {"type": "diurnal", "low": 0, "high": 1, "peakAt": 60},
            {"type": "spikes", "base": 0, "peak": 1, "every": 2, "lasts": 1},
            {"type": "trace", "values": [1]},
        )
    }
    assert kinds == {Constant, Steps, Diurnal, Spikes, Trace}
