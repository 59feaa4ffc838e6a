"""`trimtab sim` from its arguments to what it prints, writes and returns."""

import json
from pathlib import Path
from typing import Any

import pytest

from trimtab.cli.simulation.sim.commands import app
from trimtab.errors import ConfigError
from trimtab.study import run_directory

SCENARIO = """\
apiVersion: trimtab.dev/v1alpha1
kind: Scenario
name: small
duration: 10m
nodes:
- {name: n, count: 3, cpu: 32, memory: 128Gi}
vms:
- {name: hot, count: 10, cpu: 4, memory: 8Gi, node: n-1}
- {name: cool, count: 2, cpu: 4, memory: 8Gi, node: n-2}
"""


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    path = tmp_path / "small.yaml"
    path.write_text(SCENARIO)
    return str(path)


def run(*arguments: str) -> int:
    result = app(list(arguments), result_action="return_value", exit_on_error=False)
    assert isinstance(result, int)
    return result


def run_json(capsysbinary: pytest.CaptureFixture[bytes], *arguments: str) -> Any:
    run(*arguments, "--json")
    return json.loads(capsysbinary.readouterr().out)


def test_a_run_is_shown_beside_doing_nothing(
    scenario: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(scenario) == 0
    text = capsys.readouterr().out
    assert "small: 3 nodes, 12 VMs, 10m, linear_amplified_ippd_k3, seed 0" in text
    assert "n-1" in text
    assert "doing nothing" in text
    assert "migrations" in text


def test_json_holds_both_report_cards_and_every_move(
    scenario: str, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    result = run_json(capsysbinary, scenario)
    assert result["card"]["migrations"] > 0
    assert result["doingNothing"]["migrations"] == 0
    assert result["doingNothing"]["firstConvergedS"] is None
    succeeded = [move for move in result["moves"] if move["outcome"] == "succeeded"]
    assert len(succeeded) == result["card"]["migrations"]
    assert len(result["placementAfter"]) == 12


def test_options_reach_the_run(scenario: str, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    options = ["--score", "cpu_focused", "--thresholds", "0:5", "--limits", "3:1"]
    options += ["--placement", "binpack", "--victims", "best-fit", "--migration", "recreate"]
    options += ["--duration", "5m", "--interval", "30s", "--cooldown", "15m", "--consecutive", "2"]
    result = run_json(capsysbinary, scenario, *options, "--seed", "4")
    spec = result["spec"]
    assert (spec["score"], spec["thresholds"], spec["limits"]) == ("cpu_focused", [0, 5], [3, 1])
    assert (spec["placement"], spec["victims"]) == ("binpack", "best-fit")
    assert spec["restraint"] == {"cooldownS": 900.0, "consecutive": 2, "minimumGain": 0.0}
    assert spec["timing"]["deschedulingS"] == 30.0
    assert result["seed"] == 4
    assert "5m" in result["title"]
    assert "migration recreate" in result["title"]


def test_the_directory_holds_inputs_result_and_events(scenario: str, tmp_path: Path) -> None:
    import polars

    out = tmp_path / "out"
    run(scenario, "-o", str(out))
    names = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    assert names == {
        "inputs/scenario.json",
        "inputs/policy.yaml",
        "inputs/run.json",
        "inputs/versions.json",
        "result.json",
        "events.parquet",
        "report.html",
    }
    result = json.loads((out / "result.json").read_bytes())
    events = polars.read_parquet(out / "events.parquet")
    assert events.height == len(result["moves"]) > 0
    assert set(events["source"]) == {"n-1"}


def test_without_the_extra_the_rest_is_written_and_said(
    scenario: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(run_directory, "find_spec", lambda _: None)
    out = tmp_path / "out"
    run(scenario, "-o", str(out))
    assert sorted(path.name for path in out.iterdir()) == ["events.json", "inputs", "result.json"]
    assert "no report.html without jinja2" in capsys.readouterr().err


def test_the_same_run_may_be_written_again_but_another_one_not(
    scenario: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    run(scenario, "-o", str(out))
    first = (out / "result.json").read_bytes()
    run(scenario, "-o", str(out))
    assert (out / "result.json").read_bytes() == first
    with pytest.raises(ConfigError, match="something else"):
        run(scenario, "-o", str(out), "--seed", "1")


def test_a_score_of_ones_own_is_simulated_from_its_file(
    scenario: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    own = tmp_path / "mine.py"
    own.write_text(
        "from trimtab.scores import define\n"
        "from trimtab.scores.inputs import cpu_usage\n"
        "SCORE = define('mine', cpu_usage, formula='c', choose='always', weakness='memory')\n"
    )
    result = run_json(capsysbinary, scenario, "--score", str(own))
    assert result["card"]["migrations"] > 0


def test_json_stays_json_when_there_is_something_to_warn_of(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    sample = Path(__file__).parents[3] / "examples" / "scenarios" / "classic-sample.json"
    run(str(sample), "--duration", "2m", "--json")
    captured = capsysbinary.readouterr()
    assert json.loads(captured.out)["spec"]["scenario"]
    assert b"first of several scenarios taken" in captured.err


def test_the_exit_code_is_1_if_the_descheduler_failed_in_every_cycle(
    scenario: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(BROKEN_POLICY)
    assert run(scenario, "--policy", str(policy)) == 1
    assert "prometheus client not initialized" in capsys.readouterr().err


BROKEN_POLICY = """\
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: p
  pluginConfig:
  - name: LowNodeUtilization
    args:
      useDeviationThresholds: true
      thresholds: {MetricResource: 0}
      targetThresholds: {MetricResource: 10}
      metricsUtilization: {source: Prometheus, prometheus: {query: q}}
  plugins: {balance: {enabled: [LowNodeUtilization]}}
"""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--thresholds", "10"], "--thresholds: '10' is not a pair", id="one number"),
        pytest.param(["--thresholds", "0:a"], "is not a pair; write it like 0:10", id="a letter"),
        pytest.param(["--thresholds", "0:101"], "within 0..100", id="more than all points"),
        pytest.param(["--limits", "5:0"], "whole and at least 1", id="no evictions at all"),
        pytest.param(["--limits", "5:1.5"], "whole and at least 1", id="half an eviction"),
        pytest.param(["--duration", "soon"], "--duration: 'soon' is not a duration", id="no time"),
        pytest.param(["--score", "cpu_focussed"], 'did you mean "cpu_focused"', id="a typo"),
        pytest.param(["--policy", "absent.yaml"], "absent.yaml: cannot read", id="no such policy"),
        pytest.param(["--interval", "0s"], "at least a second", id="no time between cycles"),
    ],
)
def test_bad_input_is_one_clear_line(scenario: str, arguments: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        run(scenario, *arguments)
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert error.value.exit_code == 2
