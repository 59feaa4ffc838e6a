"""Mistakes in a file's structure: all of them, each with its place and what to do."""

from typing import Any

import pytest

from builders.values.scenarios import scenario_data
from trimtab.model.scenarios.file import ScenarioFile
from trimtab.model.scenarios.structure import mistakes


def vm(**changed: Any) -> dict[str, Any]:
    return scenario_data(vms=[{"name": "web"} | changed])


@pytest.mark.parametrize(
    ("data", "mistake"),
    [
        pytest.param([], "file: must be fields with values, not a list", id="not an object"),
        pytest.param(
            scenario_data(name=5), "name: must be text, not a whole number", id="a wrong type"
        ),
        pytest.param(
            scenario_data(nodes={"name": "a"}),
            "nodes: must be a list, not fields with values",
            id="one instead of several",
        ),
        pytest.param(scenario_data(vms=None), "vms: must be a list, not nothing", id="nothing"),
        pytest.param(
            scenario_data(nodez=[]),
            "nodez: there is no such field; did you mean nodes?",
            id="a field with a slip",
        ),
        pytest.param(
            vm(load={"zzz": 1}),
            "vms[0].load.zzz: there is no such field; there are cpu, memory",
            id="a field that is like no other",
        ),
        pytest.param(
            {"name": "a", "vms": [], "nodes": [{"cpu": 4}]},
            "nodes[0].name: is missing; add it",
            id="a missing field",
        ),
        pytest.param(
            vm(evictionStrategy=None),
            "vms[0].evictionStrategy: null is not one of LiveMigrate, LiveMigrateIfPossible, None; "
            'write "None" in quotes',
            id="null is not None",
        ),
        pytest.param(
            vm(evictionStrategy="livemigrate"),
            "vms[0].evictionStrategy: 'livemigrate' is not one of LiveMigrate, "
            "LiveMigrateIfPossible, None; did you mean LiveMigrate?",
            id="a word with a slip",
        ),
        pytest.param(
            vm(load={"cpu": {"type": "wave"}}),
            "vms[0].load.cpu.type: 'wave' is not one of constant, steps, diurnal, spikes, trace",
            id="an unknown kind of curve",
        ),
        pytest.param(
            vm(load={"cpu": {"value": 0.5}}),
            "vms[0].load.cpu.type: must be one of constant, steps, diurnal, spikes, trace",
            id="a curve that does not say its kind",
        ),
        pytest.param(
            vm(load={"cpu": {"type": "steps", "points": [[0, 0.5], [1]]}}),
            "vms[0].load.cpu.points[1]: Expected `array` of length 2, got 1",
            id="half of a pair",
        ),
        pytest.param(
            vm(utilization={"cpu": "high"}),
            "vms[0].utilization.cpu: must be a number or fields with values, not text",
            id="one of two types",
        ),
        pytest.param(
            vm(utilization={"cpu": {"min": 0.1}}),
            "vms[0].utilization.cpu.max: is missing; add it",
            id="a missing field inside of one of two types",
        ),
        pytest.param(
            scenario_data(events=[{"type": "nodeFails", "at": "1h"}]),
            "events[0].node: is missing; add it",
            id="an event without a node",
        ),
        pytest.param(
            scenario_data(pressure={"knee": [0.9, 0.1], "high": [0.8, 0.2]}),
            "pressure: knee, high and fullPressure must rise and stay within 0..1",
            id="a struct's own check",
        ),
        pytest.param(
            scenario_data(nodes=[{"name": "a", "labels": {"size": 3}}]),
            "nodes[0].labels[...]: must be text, not a whole number",
            id="a label that is a number",
        ),
    ],
)
def test_a_mistake_is_told_with_its_place_and_what_to_do(data: Any, mistake: str) -> None:
    assert list(mistakes(data, ScenarioFile)) == [mistake]


def test_all_mistakes_are_told_at_once() -> None:
    data = scenario_data(
        nam="x",
        nodes=[{"cpu": 4}, {"name": "b", "count": "two"}],
        vms=[{"name": "a"}, {"name": "b", "evictionStrategy": None, "cpus": 2}, 7],
    )
    assert [mistake.partition(":")[0] for mistake in mistakes(data, ScenarioFile)] == [
        "nodes[0].name",
        "nodes[1].count",
        "vms[1].evictionStrategy",
        "vms[1].cpus",
        "vms[2]",
        "nam",
    ]


def test_what_is_right_has_no_mistakes() -> None:
    assert list(mistakes(scenario_data(), ScenarioFile)) == []
