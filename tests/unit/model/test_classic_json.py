"""The JSON of node-classifier-sim in both forms: every number arrives as it was meant."""

import json
from pathlib import Path
from typing import Any

import pytest

from builders.logs import captured_logs
from trimtab.errors import ConfigError
from trimtab.model.load.curve import value_at
from trimtab.model.quantity import cores, gib
from trimtab.model.scenarios.classic_json import classic_notes
from trimtab.model.scenarios.expand import expand
from trimtab.model.scenarios.io import ScenarioFinding, findings, load_scenario, parse_file
from trimtab.model.scenarios.scenario import Scenario

VM = {"id": "vm_1", "cpu_consumption": 0.25, "memory_consumption": 0.1}
VMS = [{"name": "kwok-node-1", "vms": [VM]}, {"name": "kwok-node-2", "vms": []}]
TOTALS = [
    {
        "name": "kwok-node-1",
        "cpu_usage": 0.8,
        "cpu_pressure": 0.3,
        "memory_usage": 0.4,
        "memory_pressure": 0.1,
    }
]


def used(scenario: Scenario) -> tuple[float, float]:
    """Cores and GiB that all VMs use."""
    vms = scenario.vms
    return (
        sum(float(vm.cpu) * value_at(vm.cpu_load, 0) for vm in vms),
        sum(float(vm.memory) * value_at(vm.memory_load, 0) for vm in vms) / 2**30,
    )


@pytest.mark.parametrize(
    "data",
    [
        pytest.param({"mixed": VMS}, id="by the name of the scenario"),
        pytest.param({"nodes": VMS}, id="one scenario"),
        pytest.param({"name": "mixed", "nodes": VMS}, id="one scenario with its name"),
        pytest.param(VMS, id="a bare list of nodes"),
    ],
)
def test_vms_get_what_they_use_divided_by_the_default_utilisation(data: Any) -> None:
    scenario = expand(parse_file(json.dumps(data)))
    (vm,) = scenario.vms
    assert (vm.name, vm.node) == ("vm-1", "kwok-node-1")
    assert (vm.cpu, vm.memory) == (cores(16), gib(16))
    assert used(scenario) == pytest.approx((0.25 * 32, 0.1 * 128))
    assert [node.name for node in scenario.nodes] == ["kwok-node-1", "kwok-node-2"]
    assert {(node.cpu, node.memory) for node in scenario.nodes} == {(cores(32), gib(128))}


def test_totals_become_ten_equal_vms_and_pressures_are_ours() -> None:
    with captured_logs() as logs:
        scenario = expand(parse_file(json.dumps({"old": TOTALS})))
    assert len(scenario.vms) == 10
    assert len({(vm.cpu, vm.memory) for vm in scenario.vms}) == 1
    assert used(scenario) == pytest.approx((0.8 * 32, 0.4 * 128))
    assert [log["event"] for log in logs] == ["pressures of the file ignored"]


def test_an_idle_vm_is_small_and_uses_nothing() -> None:
    nodes = [{"name": "n", "vms": [{"id": 7, "cpu_consumption": 0, "memory_consumption": 0}]}]
    scenario = expand(parse_file(json.dumps(nodes)))
    assert scenario.vms[0].name == "7"
    assert used(scenario) == (0.0, 0.0)


def test_ids_that_two_nodes_share_get_the_name_of_the_node() -> None:
    vm = {"id": "1", "cpu_consumption": 0.1, "memory_consumption": 0.1}
    nodes = [{"name": "a", "vms": [vm]}, {"name": "b", "vms": [vm]}]
    assert [vm.name for vm in expand(parse_file(json.dumps(nodes))).vms] == ["a-1", "b-1"]


def test_a_name_selects_one_of_several(tmp_path: Path) -> None:
    path = tmp_path / "several.json"
    path.write_text(json.dumps({"first": VMS, "second": TOTALS}))
    assert len(load_scenario(f"{path}#second").vms) == 10
    with captured_logs() as logs:
        assert len(load_scenario(path).vms) == 1
    taken = [(log["taken"], log["all"]) for log in logs if "taken" in log]
    assert taken == [("first", ["first", "second"])]
    with pytest.raises(ConfigError, match="there is no scenario 'third'; there are first, second"):
        load_scenario(f"{path}#third")


def test_findings_look_at_every_scenario_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "several.json"
    path.write_text(json.dumps({"a": [{"name": "n"}], "b": VMS, "c": [{"vms": []}]}))
    renamed = "names were rewritten for Kubernetes: VM 'vm_1' of 'kwok-node-1' is called 'vm-1'"
    assert list(findings(path)) == [
        ScenarioFinding("error", "a[0]: needs vms, or cpu_usage and memory_usage"),
        ScenarioFinding("warning", renamed),
        ScenarioFinding("error", "c[0].name: is missing; add it"),
    ]
    assert list(findings(f"{path}#b")) == [ScenarioFinding("warning", renamed)]


@pytest.mark.parametrize(
    ("nodes", "problem"),
    [
        ([{"name": "n"}], r"scenario\[0\]: needs vms, or cpu_usage and memory_usage"),
        (
            [{"name": "n", "vms": [{"id": "a", "cpu_consumption": 1}]}],
            r"scenario\[0\]\.vms\[0\]\.memory_consumption: is missing",
        ),
        (
            [{"name": "n", "vms": [{"id": "a", "cpu_consumption": -1, "memory_consumption": 0}]}],
            r"scenario\[0\]\.vms\[0\]: consumption must not be negative",
        ),
        (
            [{"name": "n", "vms": [{"id": 1, "cpu_consumption": 1e4, "memory_consumption": 0}]}],
            r"scenario\[0\]\.vms\[0\]: consumption must .* at most 1000",
        ),
        ([{"name": "???", "vms": []}], "'\\?\\?\\?' cannot become a name"),
    ],
)
def test_mistakes_name_the_field(nodes: Any, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        parse_file(json.dumps(nodes))


def test_an_infinite_consumption_is_refused_by_its_field() -> None:
    text = (
        '[{"name": "n", "vms": [{"id": "a", "cpu_consumption": 1e999, "memory_consumption": 0}]}]'
    )
    with pytest.raises(ConfigError, match=r"scenario\[0\]\.vms\[0\]: consumption must"):
        parse_file(text)


def test_names_that_were_rewritten_are_told() -> None:
    vms = [{"id": f"../{n}", "cpu_consumption": 0.1, "memory_consumption": 0.1} for n in range(7)]
    notes, by_hand = classic_notes([{"name": "N Ö", "vms": vms}], "here")
    assert notes == [
        "names were rewritten for Kubernetes: node 'N Ö' is called 'n', "
        "VM '../0' of 'N Ö' is called '0', VM '../1' of 'N Ö' is called '1', "
        "VM '../2' of 'N Ö' is called '2', VM '../3' of 'N Ö' is called '3', and 3 more"
    ]
    assert by_hand == set()


def test_a_file_of_ours_with_a_slip_is_not_taken_for_the_seed() -> None:
    with pytest.raises(ConfigError, match="name: is missing"):
        parse_file("nodes: [{name: a}]\nvm: [{name: b}]\n")
