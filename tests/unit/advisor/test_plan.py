"""Plans: severity, identity, and whether two are the same."""

from typing import Any

import pytest
from msgspec import structs

from trimtab.advisor.api import Item, LoadAwareOptions, Options, Severity, Taking
from trimtab.advisor.cluster.writing import complete
from trimtab.advisor.plan.plan import (
    Preview,
    all_over,
    all_pending,
    changes_nothing,
    differs,
    item_of,
    make_plan,
    plan_id,
    target_of,
    worst,
)
from trimtab.advisor.plan.profile import DesiredObject, Draft
from trimtab.errors import ConfigError

BODY: dict[str, Any] = {
    "apiVersion": "d/v1",
    "kind": "D",
    "metadata": {"name": "c", "namespace": "n"},
    "spec": {"a": {"b": [1, 2]}},
}


def a_wish(**changes: Any) -> DesiredObject:
    wanted = DesiredObject("i", BODY, ("spec.a",), "Low", "words", "message")
    return structs.replace(wanted, **changes)


def an_item(**changes: Any) -> Item:
    return structs.replace(item_of(a_wish(), Preview(None, BODY)), **changes)


def test_an_item_says_what_its_wish_says() -> None:
    takes = (Taking(field="spec.a", manager="argocd"),)
    item = item_of(a_wish(depends_on=("before",), warnings=("w",)), Preview(None, BODY, takes))
    assert item.target_ref == target_of(BODY)
    assert (item.state, item.message, item.impact) == ("Pending", "message", "words")
    assert (item.takes, item.depends_on, item.warnings) == (takes, ("before",), ("w",))
    assert item.desired_state == BODY


@pytest.mark.parametrize(
    ("severities", "expected"),
    [
        (["Low", "High", "Medium"], "High"),
        (["Low", "Medium"], "Medium"),
        (["", "Low"], "Low"),
        ([""], "Low"),
        ([], "High"),
    ],
)
def test_the_worst_severity_counts(severities: list[Any], expected: Severity) -> None:
    items = [an_item(impact_severity=severity) for severity in severities]
    assert worst(items, "High") == expected


def test_all_pending_and_all_over() -> None:
    pending, running, done, failed = (
        an_item(state=state) for state in ("Pending", "InProgress", "Completed", "Failed")
    )
    assert all_pending([])
    assert all_pending([pending, pending])
    assert not all_pending([pending, running])
    assert not all_pending([pending, done])
    assert all_over([])
    assert all_over([done, failed])
    assert not all_over([done, pending])
    assert not all_over([done, running])


def test_what_happened_to_an_item_is_not_its_logic() -> None:
    item = an_item(state="Completed", message="applied", diff="", drifted=True)
    assert not differs([item], [a_wish()])


@pytest.mark.parametrize(
    "desired_objects",
    [
        pytest.param([], id="one less"),
        pytest.param([a_wish(), a_wish(name="j")], id="one more"),
        pytest.param([a_wish(name="j")], id="another name"),
        pytest.param([a_wish(desired={**BODY, "spec": {}})], id="another spec"),
        pytest.param([a_wish(desired={**BODY, "spec": {"a": {"b": [1, 3]}}})], id="deep inside"),
        pytest.param([a_wish(desired={**BODY, "metadata": {"name": "d"}})], id="another target"),
        pytest.param([a_wish(managed_fields=("spec",))], id="other managed fields"),
    ],
)
def test_other_logic_differs(desired_objects: list[DesiredObject]) -> None:
    assert differs([an_item()], desired_objects)


def test_another_severity_is_no_other_logic() -> None:
    assert not differs([an_item()], [a_wish(severity="High")])


def test_a_plan_id_stands_for_items_inputs_options_and_state() -> None:
    options = Options(load_aware=LoadAwareOptions())
    base = ([an_item()], {"limit": 5}, options, "hash")
    changed = [
        ([an_item(desired_state={})], {"limit": 5}, options, "hash"),
        ([an_item(takes=(Taking(field="f", manager="m"),))], {"limit": 5}, options, "hash"),
        ([an_item()], {"limit": 6}, options, "hash"),
        ([an_item()], {"limit": 5}, None, "hash"),
        ([an_item()], {"limit": 5}, options, "other"),
    ]
    assert plan_id(*base) == plan_id(*base)
    assert len({plan_id(*base), *(plan_id(*each) for each in changed)}) == 6
    assert plan_id([an_item(state="Completed")], *base[1:]) == plan_id(*base)


def test_a_plan_of_what_is_already_there_changes_nothing() -> None:
    plan = make_plan(Draft((a_wish(),)), {"i": Preview(BODY, BODY)}, None)
    assert changes_nothing(plan.items)
    assert not changes_nothing(
        make_plan(Draft((a_wish(),)), {"i": Preview(None, BODY)}, None).items
    )


@pytest.mark.parametrize(
    ("desired", "says"),
    [
        (None, "no desiredState"),
        ({}, "no desiredState"),
        ({k: v for k, v in BODY.items() if k != "kind"}, "no kind"),
        ({k: v for k, v in BODY.items() if k != "apiVersion"}, "no apiVersion"),
        ({**BODY, "metadata": {}}, "no metadata.name"),
    ],
)
def test_an_incomplete_item_is_not_applied(desired: Any, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        complete(an_item(desired_state=desired))
