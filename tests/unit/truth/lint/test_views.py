"""Findings as text, JSON and SARIF, and the exit codes of the command."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from builders.values.lint_cases import BY_REQUESTS, cluster, facts, text
from trimtab.cli.main import app
from trimtab.truth.lint import CATALOGUE, lint
from trimtab.view.lint import sarif, show_findings

# The parts of SARIF 2.1.0 that we write, with what the standard demands of them.
_MESSAGE = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}
_LEVEL = {"enum": ["none", "note", "warning", "error"]}
_RULE = {
    "type": "object",
    "required": ["id"],
    "properties": {
        "id": {"type": "string"},
        "name": {"type": "string", "pattern": "^[A-Za-z0-9]+$"},
        "shortDescription": _MESSAGE,
        "fullDescription": _MESSAGE,
        "help": _MESSAGE,
        "defaultConfiguration": {
            "type": "object",
            "properties": {"level": _LEVEL},
            "additionalProperties": False,
        },
    },
    "additionalProperties": False,
}
_LOCATION = {
    "type": "object",
    "properties": {
        "physicalLocation": {
            "type": "object",
            "required": ["artifactLocation"],
            "properties": {
                "artifactLocation": {
                    "type": "object",
                    "properties": {"uri": {"type": "string", "format": "uri-reference"}},
                    "additionalProperties": False,
                },
                "region": {
                    "type": "object",
                    "properties": {"startLine": {"type": "integer", "minimum": 1}},
                    "additionalProperties": False,
                },
            },
            "additionalProperties": False,
        },
        "logicalLocations": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"fullyQualifiedName": {"type": "string"}},
                "additionalProperties": False,
            },
        },
    },
    "additionalProperties": False,
}
_RESULT = {
    "type": "object",
    "required": ["message"],
    "properties": {
        "ruleId": {"type": "string"},
        "ruleIndex": {"type": "integer", "minimum": -1},
        "level": _LEVEL,
        "message": _MESSAGE,
        "locations": {"type": "array", "items": _LOCATION},
    },
    "additionalProperties": False,
}
_DRIVER = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string"},
        "version": {"type": "string"},
        "semanticVersion": {"type": "string"},
        "rules": {"type": "array", "uniqueItems": True, "items": _RULE},
    },
    "additionalProperties": False,
}
_RUN = {
    "type": "object",
    "required": ["tool"],
    "properties": {
        "tool": {
            "type": "object",
            "required": ["driver"],
            "properties": {"driver": _DRIVER},
            "additionalProperties": False,
        },
        "results": {"type": "array", "items": _RESULT},
    },
    "additionalProperties": False,
}
SARIF = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {"type": "array", "items": _RUN},
    },
    "additionalProperties": False,
}


def run(*arguments: str) -> int:
    result = app(["lint", *arguments], result_action="return_value", exit_on_error=False)
    assert isinstance(result, int)
    return result


@pytest.fixture
def bad(tmp_path: Path) -> str:
    (tmp_path / "bad.yaml").write_text(text(args={"evictionLimits": None}))
    return str(tmp_path / "bad.yaml")


@pytest.fixture
def good(tmp_path: Path) -> str:
    (tmp_path / "good.yaml").write_text(text())
    return str(tmp_path / "good.yaml")


def test_sarif_has_the_structure_of_the_standard() -> None:
    findings = lint(facts(text(evictor={}, args={"evictionLimits": None})))
    log: Any = sarif(findings, "my policy.yaml")
    jsonschema_rs.validator_for(SARIF).validate(log)
    (one,) = log["runs"]
    rules = one["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [rule.id for rule in CATALOGUE]
    assert [rules[r["ruleIndex"]]["id"] for r in one["results"]] == [f.id for f in findings]


def test_a_clean_policy_says_how_much_was_judged(
    good: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(good) == 0
    said = capsys.readouterr().out
    assert ": no findings; " in said
    assert "more need --deployment or --descheduler-version or --kubeconfig" in said


def test_who_gave_a_cluster_is_not_told_to_give_one(capsys: pytest.CaptureFixture[str]) -> None:
    show_findings((), facts(cluster=cluster()))
    said = capsys.readouterr().out
    assert "more need --deployment or --descheduler-version or --prometheus" in said
    assert "--kubeconfig" not in said


@pytest.mark.parametrize("text", ["", "# nothing here\n", "{}"])
def test_an_empty_policy_is_an_error(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "empty.yaml"
    file.write_text(text)
    assert run(str(file)) == 1
    assert "the file is empty: no plugin runs [api-version-missing]" in capsys.readouterr().out


def test_a_note_is_told_and_exits_with_0(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "requests.yaml"
    file.write_text(BY_REQUESTS)
    assert run(str(file)) == 0
    assert "note: it has no metricsUtilization [usage-is-requests]" in capsys.readouterr().out


def test_findings_are_told_and_exit_with_1(bad: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(bad) == 1
    out = capsys.readouterr().out
    assert f"{bad}:" in out
    assert "[node-limit-missing]" in out
    assert "fix   Set evictionLimits.node" in out


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "with a finding"])
def test_json(clean: bool, good: str, bad: str, capsysbinary: Any) -> None:
    assert run(good if clean else bad, "--json") == (0 if clean else 1)
    found = json.loads(capsysbinary.readouterr().out)
    assert [each["id"] for each in found] == ([] if clean else ["node-limit-missing"])


def test_sarif_from_the_command(bad: str, capsysbinary: Any) -> None:
    assert run(bad, "--sarif") == 1
    log = json.loads(capsysbinary.readouterr().out)
    jsonschema_rs.validator_for(SARIF).validate(log)
    (result,) = log["runs"][0]["results"]
    assert result["ruleId"] == "node-limit-missing"
