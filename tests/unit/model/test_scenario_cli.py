"""`trimtab scenario`, as it is called."""

import json
from pathlib import Path
from typing import Any

import pytest

from trimtab.cli.simulation.scenario import app
from trimtab.errors import ConfigError
from trimtab.model.scenarios.io import load_scenario

EXAMPLES = Path(__file__).parents[3] / "examples" / "scenarios"


def call(*arguments: object) -> Any:
    return app([str(argument) for argument in arguments], result_action="return_value")


def test_validate_is_content_with_every_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("validate", *sorted(EXAMPLES.glob("*.*"))) == 0
    assert all(line.endswith(": fine") for line in capsys.readouterr().out.splitlines())


def test_validate_tells_all_mistakes_of_all_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = tmp_path / "a.yaml", tmp_path / "b.yaml"
    first.write_text("nodes: 1\nvms: []\n")
    second.write_text("name: b\nnodes: [{name: n, cpu: 1}]\nvms: [{name: big, cpu: 8}]\n")
    assert call("validate", first, second) == 2
    lines = capsys.readouterr().out.splitlines()
    assert [line.removeprefix(f"{tmp_path}/").split(": ")[:3] for line in lines] == [
        ["a.yaml", "error", "name"],
        ["a.yaml", "error", "nodes"],
        ["b.yaml", "warning", "vm 'big'"],
        ["b.yaml", "fine"],
    ]


def test_validate_prints_json(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    (tmp_path / "a.yaml").write_text("x: 1\nname: a\nnodes: [{name: n}]\nvms: []\n")
    assert call("validate", "--json", tmp_path / "a.yaml") == 2
    ((finding,),) = json.loads(capfdbinary.readouterr().out).values()
    assert finding["level"] == "error"


def test_show_draws_nodes_vms_and_events(capsys: pytest.CaptureFixture[str]) -> None:
    call("show", EXAMPLES / "arrivals-and-failures.yaml")
    out = capsys.readouterr().out
    assert "3h, 8 nodes, 100 VMs" in out
    assert "and 78 VMs where the scheduler puts them" in out
    assert "▁▆███▃▁▁" in out
    assert "at 20m: arrive wave-1 … wave-16 (16)" in out


def test_show_prints_json(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    call("show", "--json", f"{EXAMPLES / 'classic-sample.json'}#level")
    shown = json.loads(capfdbinary.readouterr().out)
    assert [node["cpuUse"] for node in shown["nodes"]] == [0.3, 0.3]


def test_convert_writes_what_loads_as_the_same_scenario(tmp_path: Path) -> None:
    source = f"{EXAMPLES / 'classic-sample.json'}#hot-node"
    call("convert", source, "-o", tmp_path / "new.yaml")
    assert load_scenario(tmp_path / "new.yaml") == load_scenario(source)
    call("convert", EXAMPLES / "recorded.yaml", "--expand", "-o", tmp_path / "all.yaml")
    assert load_scenario(tmp_path / "all.yaml") == load_scenario(EXAMPLES / "recorded.yaml")


def test_convert_prints_without_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    call("convert", EXAMPLES / "balanced.yaml")
    assert capsys.readouterr().out.startswith("apiVersion: trimtab.dev/v1alpha1\nkind: Scenario\n")


def test_convert_to_a_place_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no directory"):
        call("convert", EXAMPLES / "balanced.yaml", "-o", tmp_path / "no" / "x.yaml")


def test_schema_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    call("schema")
    assert json.loads(capsys.readouterr().out)["$ref"] == "#/$defs/ScenarioFile"
