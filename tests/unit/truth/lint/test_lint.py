"""Findings: each has a case that triggers it alone, and a neighbour that is clean."""

from pathlib import Path

import pytest

from builders.values.lint_cases import CASES, PAIRS, Pair, answer, asking, cluster, facts, text
from trimtab.truth.lint import CATALOGUE, Facts, lint
from trimtab.truth.lint.catalogue import page
from trimtab.truth.lint.finding import line_of

ROOT = Path(__file__).parents[4]


@pytest.mark.parametrize("pair", CASES)
def test_it_is_found_alone(pair: Pair) -> None:
    assert [found.id for found in lint(pair.bad)] == [pair.id]


@pytest.mark.parametrize("pair", CASES)
def test_its_neighbour_is_clean(pair: Pair) -> None:
    assert lint(pair.good) == ()


def test_every_kind_of_finding_has_a_case() -> None:
    assert {rule.id for rule in CATALOGUE} == {pair.id for pair in PAIRS}


def test_a_finding_tells_where_why_and_what_to_do() -> None:
    (found,) = lint(facts(text(args={"evictionLimits": None})))
    assert found.field == "profiles[0].pluginConfig[0].args"
    assert found.line is not None
    assert "metricsUtilization" in "\n".join(
        text(args={"evictionLimits": None}).splitlines()[found.line - 1 :]
    )
    assert found.docs == "docs/reference/lint.md#node-limit-missing"
    assert found.explanation
    assert found.fix


def test_errors_come_before_warnings() -> None:
    policy = text(evictor={}, args={"evictionLimits": None}, maxNoOfPodsToEvictPerNodes=3)
    severities = [found.severity for found in lint(facts(policy))]
    assert severities == ["error", "warning", "warning"]


@pytest.mark.parametrize(
    ("given", "ids"),
    [
        pytest.param(
            facts(query=answer("0.8", "0.3", "1.5"), cluster=cluster()),
            ["query-out-of-range"],
            id="bad samples are not also called saturated or equal",
        ),
        pytest.param(
            facts(asking("a:b"), records={"x:y": "z"}, query=answer("0.8", "0.3", "0.1")),
            [],
            id="a record that gives samples is recorded somewhere",
        ),
        pytest.param(
            facts(text(evictor={}), cluster=cluster(pods=())),
            [],
            id="without VMs nothing is said about VMs",
        ),
        pytest.param(
            facts(
                text(evictor={"evictLocalStoragePods": True, "priorityThreshold": {"name": "x"}})
            ),
            [],
            id="a priority class that nobody could be asked for may exist",
        ),
        pytest.param(
            Facts(policy="a: [", file="p.yaml"), ["policy-refused"], id="a text that is not YAML"
        ),
    ],
)
def test_further_cases(given: Facts, ids: list[str]) -> None:
    assert [found.id for found in lint(given)] == ids


def test_all_problems_of_a_refused_policy_are_told() -> None:
    broken = text(
        evictor={"noEvictionPolicy": "Never", "priorityThreshold": {"value": 1, "name": "a"}}
    )
    assert [found.id for found in lint(facts(broken))] == ["policy-refused"] * 2


@pytest.mark.parametrize(
    ("field", "line"),
    [
        pytest.param("a", 1, id="top"),
        pytest.param("b[1].c", 4, id="in a list"),
        pytest.param("b[1].gone", 4, id="the deepest part that is there"),
        pytest.param("elsewhere", None, id="nowhere"),
    ],
)
def test_lines_of_fields(field: str, line: int | None) -> None:
    assert line_of("a: 1\nb:\n  - x\n  - c: 2\n", field) == line


def test_the_reference_is_what_the_catalogue_says() -> None:
    assert (ROOT / "docs/reference/lint.md").read_text() == page()
