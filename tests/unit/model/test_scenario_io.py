"""Scenario files in and out."""

import json
from pathlib import Path

import msgspec
import pytest

from builders.values.scenarios import a_file, scenario_data
from trimtab.errors import ConfigError
from trimtab.model.load.curve import Constant, Trace
from trimtab.model.scenarios.expand import expand
from trimtab.model.scenarios.io import (
    ScenarioFinding,
    dump,
    findings,
    load_file,
    load_scenario,
    parse_file,
)
from trimtab.model.scenarios.written import as_file

EXAMPLES = Path(__file__).parents[3] / "examples" / "scenarios"
RICH = a_file(
    description="Everything that can be written",
    duration="90m",
    seed=4,
    requests="overcommit",
    nodes=[
        {
            "name": "node",
            "count": 2,
            "labels": {"zone": "no"},
            "taints": [{"key": "dedicated", "effect": "NoExecute"}],
            "unschedulable": True,
        }
    ],
    vms=[
        {"name": "a", "count": 3, "utilization": {"cpu": {"min": 0.1, "max": 0.9}}, "cpu": "1500m"},
        {"name": "b", "load": {"cpu": {"type": "steps", "points": [[0, 0.5], [60, 1]]}}},
        {"name": "c", "load": {"cpu": {"type": "diurnal", "low": 0, "high": 1, "peakAt": 7}}},
        {"name": "d", "evictionStrategy": "None", "memory": 1e9, "node": "node-1", "priority": -3},
    ],
    events=[
        {"type": "vmsArrive", "at": "1.5s", "vms": {"name": "late"}},
        {"type": "nodeFails", "at": "10m", "node": "node-1", "lasts": "5m"},
        {"type": "nodeDrains", "at": "20m", "node": "node-2"},
        {"type": "vmDeparts", "at": "30m", "vm": "late"},
    ],
    migration={"bandwidth": "250M", "failureRate": 0.1},
    pressure={"knee": [0.6, 0.1], "fullPressure": 0.9},
)


def write(folder: Path, text: str, name: str = "s.yaml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_what_is_dumped_reads_back_as_the_same_file() -> None:
    assert parse_file(dump(RICH)) == RICH


def test_only_what_is_not_default_is_dumped() -> None:
    assert dump(a_file()) == (
        "apiVersion: trimtab.dev/v1alpha1\n"
        "kind: Scenario\n"
        "name: small\n"
        "nodes:\n- {name: node, count: 2}\n"
        "vms:\n- {name: web}\n"
    )


def test_an_expanded_scenario_reads_back_as_the_same_scenario() -> None:
    scenario = expand(RICH)
    assert expand(parse_file(dump(as_file(scenario)))) == scenario


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_example_survives_both_ways_back(path: Path) -> None:
    assert parse_file(dump(load_file(path))) == load_file(path)
    scenario = load_scenario(path)
    assert expand(parse_file(dump(as_file(scenario)))) == scenario


def test_json_is_read_like_yaml(tmp_path: Path) -> None:
    path = write(tmp_path, json.dumps(scenario_data()), "s.json")
    assert load_file(path) == a_file()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("name: x\nnodes: []\n", "vms: is missing; add it"),
        ("nam: x\nnodes: []\nvms: []\n", "name: is missing; add it (1 more: trimtab scenario val"),
        ("a: [", "s.yaml:2:1: "),
        ("- just\n- text\n", "scenario[0]: must be fields with values, not text"),
        ("just text", "file: must be fields with values, not text"),
        ("", "file: must be fields with values, not nothing"),
    ],
)
def test_a_mistake_names_the_file(tmp_path: Path, text: str, problem: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load_scenario(path)
    assert str(caught.value).startswith(str(path.parent))
    assert problem in str(caught.value)


def test_a_mistake_in_a_value_names_the_file_too(tmp_path: Path) -> None:
    path = write(tmp_path, dump(a_file()).replace("{name: web}", "{name: web, cpu: 0}"))
    with pytest.raises(ConfigError, match=r"s\.yaml: vms\[0\]\.cpu: 0 must be above 0$"):
        load_scenario(path)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no\.yaml: cannot read the scenario: No such file"):
        load_file(tmp_path / "no.yaml")


def test_a_file_that_is_not_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="it is not UTF-8 text"):
        load_file(tmp_path / "s.yaml")


def test_a_trace_is_looked_for_beside_the_scenario(tmp_path: Path) -> None:
    write(tmp_path, "vm,time,cpu\na,0,0.1\na,300,0.2\nb,0,0.3\nb,300,0.4\n", "t.csv")
    path = write(tmp_path, "name: s\nnodes: [{name: n}]\nvms: [{name: v, trace: {file: t.csv}}]\n")
    vms = load_scenario(path).vms
    assert [vm.cpu_load for vm in vms] == [Trace((0.1, 0.2)), Trace((0.3, 0.4))]
    assert {vm.memory_load for vm in vms} == {Constant(0.8)}


def test_a_trace_that_is_missing_names_the_field(tmp_path: Path) -> None:
    path = write(tmp_path, "name: s\nnodes: [{name: n}]\nvms: [{name: v, trace: {file: no}}]\n")
    with pytest.raises(ConfigError, match=r"s\.yaml: vms\[0\]\.trace\.file: .*no: there is no"):
        load_scenario(path)


def test_findings_are_all_mistakes_or_all_doubts(tmp_path: Path) -> None:
    structure = write(tmp_path, "nodes: [{}]\nvms: 3\n", "structure.yaml")
    assert list(findings(structure)) == [
        ScenarioFinding("error", "name: is missing; add it"),
        ScenarioFinding("error", "nodes[0].name: is missing; add it"),
        ScenarioFinding("error", "vms: must be a list, not a whole number"),
    ]
    values = write(tmp_path, "name: s\nnodes: [{name: n, cpu: 0}]\nvms: [{name: V}]\n", "v.yaml")
    assert list(findings(values)) == [ScenarioFinding("error", "nodes[0].cpu: 0 must be above 0")]
    names = write(tmp_path, "name: s\nnodes: [{name: N}]\nvms: [{name: V}]\n", "names.yaml")
    assert [finding.level for finding in findings(names)] == ["error", "error"]
    doubt = write(tmp_path, "name: s\nnodes: [{name: n, cpu: 1}]\nvms: [{name: v, cpu: 4}]\n")
    assert [finding.level for finding in findings(doubt)] == ["warning"]
    assert list(findings(EXAMPLES / "balanced.yaml")) == []


def test_a_finding_about_the_file_itself_does_not_repeat_its_name(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path / "no.yaml")
    assert finding == ScenarioFinding(
        "error", "cannot read the scenario: No such file or directory"
    )


def test_a_scenario_can_be_stored_as_json() -> None:
    scenario = expand(RICH)
    assert msgspec.json.decode(msgspec.json.encode(scenario), type=type(scenario)) == scenario
