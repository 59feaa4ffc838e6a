"""`trimtab scores` and `trimtab rules` from the command line's side."""

import json
from pathlib import Path

import pytest
import yaml

from trimtab.cli.main import app
from trimtab.errors import ConfigError

NODES = "hot: {cpu: 1.5, cpuPressure: 0.6, memory: 0.5}\nidle: {cpu: 0.1, memory: 0.4}\n"


def run(*arguments: str) -> None:
    app(list(arguments), result_action="return_value", exit_on_error=False)


def test_the_list_names_all_scores(capsys: pytest.CaptureFixture[str]) -> None:
    run("scores", "list", "--json")
    listed = json.loads(capsys.readouterr().out)
    assert len(listed) == 26
    assert sum(score["classic"] for score in listed) == 19


def test_show_prints_the_formula_and_the_rules(capsys: pytest.CaptureFixture[str]) -> None:
    run("scores", "show", "linear_amplified_ideal_point_positive_distance:k3")
    shown = capsys.readouterr().out
    assert "3 · sqrt(d_c² + d_p² + d_m² + d_q²)" in shown
    assert "clamp(3 * descheduler:node:excess_norm:avg1m, 0, 1)" in shown


def test_eval_scores_the_nodes_of_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "nodes.yaml"
    path.write_text(NODES)
    run("scores", "eval", str(path), "--score", "max_metric", "--score", "cpu_focused", "--json")
    scores = json.loads(capsys.readouterr().out)["scores"]
    assert scores["max_metric"] == {"hot": 1.0, "idle": 0.4}
    run("scores", "eval", str(path), "--all")
    assert "linear_amplified_ippd_k5" in capsys.readouterr().out


def test_rules_of_chosen_algorithms_go_to_a_file(tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    run("rules", "--algorithms", "robust, risk", "--scale", "3", "-o", str(path))
    groups = yaml.load(path.read_text(), Loader=yaml.CSafeLoader)["groups"]
    records = {rule["record"] for rule in groups[0]["rules"]}
    assert {"descheduler:node:robust:avg1m", "descheduler:node:risk:score"} <= records
    assert "descheduler:node:volume:score" not in records
    assert groups[0]["interval"] == "5s"


def test_openshifts_flavor_keeps_its_interval(capsys: pytest.CaptureFixture[str]) -> None:
    run("rules", "--flavor", "openshift", "--format", "operator")
    rule = yaml.load(capsys.readouterr().out, Loader=yaml.CSafeLoader)
    assert {group["interval"] for group in rule["spec"]["groups"]} == {"30s"}


def test_an_unknown_algorithm_is_an_error() -> None:
    with pytest.raises(ConfigError, match='score "magic": there is no such score'):
        run("rules", "--algorithms", "magic")
