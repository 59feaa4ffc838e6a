"""Which rules of a file are evaluated often: what the policy asks for, and no more."""

import pytest
import yaml

from trimtab.errors import ConfigError
from trimtab.scores import CATALOG, RuleSettings, rule_groups
from trimtab.scores.prometheus.files import render
from trimtab.scores.prometheus.focus import Group, focus, focused, needed_records
from trimtab.scores.prometheus.records import base_record, score_record

SHIPPED = render(rule_groups(list(CATALOG.values()), RuleSettings(nodes=500)))


def read(text: str) -> list[Group]:
    found: list[Group] = yaml.load(text, Loader=yaml.CSafeLoader)["groups"]
    return found


def named(groups: list[Group]) -> dict[str, Group]:
    return {group["name"]: group for group in groups}


def groups(text: str) -> dict[str, Group]:
    return named(read(text))


READ = read(SHIPPED)


def records(group: Group) -> list[str]:
    return [rule["record"] for rule in group["rules"]]


@pytest.mark.parametrize("name", CATALOG)
def test_every_score_is_complete_in_the_fast_group(name: str) -> None:
    query = score_record(name, "avg1m")
    found = named(focused(READ, [query]))
    often = found["trimtab"]
    assert query in records(often)
    assert found["trimtab-slow"]["interval"] == "1m"
    assert often["interval"] == "15s"
    slow = set(records(found["trimtab-slow"]))
    assert len(slow) > 3 * len(set(records(often)))  # a front's levels share one name
    for rule in often["rules"]:
        assert slow.isdisjoint(rule["expr"].replace("(", " ").replace(")", " ").split())
    assert base_record("cpu_usage", "avg1m") in records(often)


def test_nothing_is_lost_and_the_order_stays() -> None:
    whole, split = groups(SHIPPED), groups(focus(SHIPPED, [score_record("risk", "avg1m")]))
    for name in ("trimtab", "trimtab-alerts"):
        parts = split[name]["rules"] + split[f"{name}-slow"]["rules"]
        assert sorted(map(str, parts)) == sorted(map(str, whole[name]["rules"]))
        kept = [rule for rule in whole[name]["rules"] if rule in split[name]["rules"]]
        assert split[name]["rules"] == kept


def test_an_alert_is_as_slow_as_the_score_that_it_watches() -> None:
    split = groups(focus(SHIPPED, [score_record("risk", "avg1m")]))
    watched = {r["labels"].get("score") for r in split["trimtab-alerts"]["rules"]}
    # the history of k3 is read by another score, so it is evaluated often as well
    assert watched == {None, "risk", "linear_amplified_ippd_k3"}


@pytest.mark.parametrize(
    ("query", "needed"),
    [
        pytest.param("c", {"a", "b", "c"}, id="through others"),
        pytest.param('b{node="c"} * 2', {"a", "b"}, id="an expression; names in quotes are none"),
        pytest.param("d", {"a", "d", "h"}, id="what it looks back over"),
        pytest.param("up", {"a", "h"}, id="history is kept without gaps"),
    ],
)
def test_a_record_is_needed_through_what_is_made_of_it(query: str, needed: set[str]) -> None:
    rules = [
        {"record": "a", "expr": "raw"},
        {"record": "b", "expr": "a + 1"},
        {"record": "c", "expr": "b / scalar(max(b))"},
        {"record": "h", "expr": "a * 2"},
        {"record": "d", "expr": 'avg_over_time(h{node=~".+"}[5m])'},
    ]
    assert needed_records(rules, [query]) == needed | {"a", "h"}


def test_the_groups_of_others_stay_as_they_are() -> None:
    text = "groups:\n- name: mine\n  rules:\n  - {record: x, expr: up}\n"
    assert yaml.safe_load(focus(text, ["y"])) == yaml.load(text, Loader=yaml.CSafeLoader)
    with pytest.raises(ConfigError, match="there are no groups"):
        focus("a: 1", [])
