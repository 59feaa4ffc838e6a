"""The page stands alone: no network, no script needed for the numbers, no name that breaks out."""

import re

import msgspec
import pytest

from builders.values.outcomes import a_scenario
from builders.values.studies import a_plan, finished
from trimtab.study.report.page import as_script
from trimtab.study.report.report import render, seeds_text

NASTY = '</script><img src=x onerror="alert(1)">'
PLAN = a_plan(
    candidates=4, seeds=20, scenarios=(a_scenario(NASTY), a_scenario("plain", nodes=3, vms=9))
)
CELLS, RUNS, RESULT = finished(PLAN)
PAGE = render(PLAN, CELLS, RUNS, RESULT, f"name: {NASTY}\n")
OURS = PAGE[: PAGE.index('<script id="data"')]


def test_no_name_can_end_a_script_or_start_an_element() -> None:
    assert NASTY not in PAGE
    assert "&lt;/script&gt;&lt;img" in PAGE
    assert PAGE.count("</script>") == 4


def test_the_data_read_back_as_they_were() -> None:
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', PAGE, re.DOTALL)
    assert found
    data = msgspec.json.decode(found[1])
    assert data["scenarios"][0]["name"] == NASTY
    assert len(data["pictures"]) == 2 * 4
    assert [len(table["rows"]) for table in data["tables"]] == [4, 4, 4]


@pytest.mark.parametrize("text", ["</script>", "<!--", "a & b", "\u2028"])
def test_data_are_safe_inside_a_script(text: str) -> None:
    safe = as_script({"name": text})
    assert msgspec.json.decode(safe) == {"name": text}
    assert not set(safe) & set("<>&\u2028")


def test_the_page_asks_for_nothing_from_elsewhere() -> None:
    assert "default-src 'none'" in OURS
    assert not re.search(r'(src|href)="(?!#|data:)', OURS)
    assert "@import" not in OURS
    assert "url(" not in OURS


def test_the_ranking_is_in_the_page_without_any_script() -> None:
    for row in RESULT.overall.rows:
        assert f">{RESULT.labels[row.candidate]}</span>" in OURS
    assert OURS.count('<table class="ranking">') == 3
    assert "The charts need JavaScript" in OURS


def test_the_page_says_what_it_was_made_of() -> None:
    for text in (RESULT.id, RESULT.versions.code, "seeds", "trimtab study rerun"):
        assert text in OURS


def test_the_same_runs_give_the_same_page() -> None:
    assert render(PLAN, *finished(PLAN), f"name: {NASTY}\n") == PAGE


def test_a_study_of_one_scenario_has_one_table() -> None:
    plan = a_plan(scenarios=(a_scenario("only"),))
    page = render(plan, *finished(plan), "")
    assert page.count('<table class="ranking">') == 1


@pytest.mark.parametrize(
    ("seeds", "text"),
    [((0, 1, 2, 3), "0–3"), ((5,), "5"), ((1, 2), "1, 2"), ((3, 1, 2), "3, 1, 2")],
)
def test_seeds_are_told_briefly(seeds: tuple[int, ...], text: str) -> None:
    assert seeds_text(seeds) == text
