"""The record of prior values: what it keeps, and what it makes of objects."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from trimtab.advisor.api import MANAGER, Item, TargetRef
from trimtab.advisor.plan.diff import has_changes
from trimtab.advisor.plan.fields import lookup, parse_path
from trimtab.advisor.plan.rollback import (
    RollbackRecord,
    confirmed,
    leaving,
    put_back,
    releasing,
    remembered,
    restoring,
    reverse_item,
)

REF = TargetRef(api_version="d/v1", kind="D", name="c")


def live(owners: dict[str, dict[str, Any]] | None = None, **spec: Any) -> dict[str, Any]:
    entries = [
        {"manager": manager, "operation": "Update", "fieldsV1": {"f:spec": fields}}
        for manager, fields in (owners or {}).items()
    ]
    return {"metadata": {"name": "c", "managedFields": entries}, "spec": spec}


def an_item(*managed: str, **spec: Any) -> Item:
    return Item(name="i", target_ref=REF, managed_fields=managed, desired_state={"spec": spec})


def test_the_first_value_counts_however_often_it_is_applied() -> None:
    item = an_item("spec.mode", mode="new")
    record = remembered(RollbackRecord(), [item], {REF: live(mode="old")})
    ours = live(mode="new")
    ours["metadata"]["managedFields"] = [{"manager": MANAGER, "operation": "Apply"}]
    assert remembered(record, [item], {REF: ours}) == record
    assert remembered(record, [item], {}) == record
    more = remembered(record, [an_item("spec.mode", "spec.x", mode="new")], {REF: ours})
    assert [(f.path, f.present, f.value) for f in more.priors[0].fields] == [
        ("spec.mode", True, "old"),
        ("spec.x", False, None),
    ]


def test_what_was_noted_for_an_apply_that_never_came_is_noted_anew() -> None:
    item = an_item("spec.mode", mode="new")
    record = remembered(RollbackRecord(), [item], {REF: live(mode="old")})
    later = live({"argocd": {"f:mode": {}}}, mode="newer")
    assert remembered(record, [item], {REF: later}).priors[0].fields[0].value == "newer"
    applied = confirmed(record, [REF])
    assert remembered(applied, [item], {REF: later}) == applied, "a rival's value is not prior"


def test_values_go_back_in_their_owners_names_and_additions_go() -> None:
    before = live(
        {"argocd": {"f:mode": {}}, "kubectl": {"f:map": {"f:a": {}}}}, mode="old", map={"a": 1}
    )
    item = an_item("spec.mode", "spec.map", "spec.new")
    record = remembered(RollbackRecord(), [item], {REF: before})
    now = live(mode="ours", map={"a": 2, "b": 3}, new=1)
    assert restoring(record.priors[0], now) == {
        "argocd": {"spec": {"mode": "old"}},
        "kubectl": {"spec": {"map": {"a": 1}}},
        MANAGER: {"spec": {"map": {"b": None}, "new": None}},
    }
    assert restoring(record.priors[0], live(mode="old", map={"a": 1})) == {}


def test_maps_that_came_with_our_fields_go_with_them_unless_others_use_them() -> None:
    item = an_item("spec.a.b.c", "spec.a.b.d", "spec.kept.x")
    record = remembered(RollbackRecord(), [item], {REF: live(mode="old", kept={})})
    ours = {"b": {"c": 1, "d": 2}}
    prior = record.priors[0]
    assert restoring(prior, live(mode="old", a=ours, kept={"x": 1})) == {
        MANAGER: {"spec": {"a": None, "kept": {"x": None}}}
    }
    assert put_back(prior, live(a=ours, kept={"x": 1}))["spec"] == {"kept": {}}
    theirs = live(a={"b": {"c": 1, "d": 2}, "e": 3})
    assert put_back(prior, theirs)["spec"] == {"a": {"e": 3}}


def test_releasing_takes_our_name_off_and_empties_the_list_only_by_saying_so() -> None:
    ours = live({MANAGER: {"f:mode": {}}, "argocd": {"f:x": {}}})
    assert releasing(ours) == [
        e for e in ours["metadata"]["managedFields"] if e["manager"] != MANAGER
    ]
    assert releasing(live({MANAGER: {"f:mode": {}}})) == [{}]
    assert releasing(live({"argocd": {}})) is None


def test_what_we_made_is_deleted_and_what_was_there_is_restored() -> None:
    made = remembered(RollbackRecord(), [an_item("spec.mode", mode="new")], {}).priors[0]
    assert reverse_item(made, live(mode="new")).verb == "delete"
    found = remembered(
        RollbackRecord(), [an_item("spec.mode", mode="new")], {REF: live(mode="old")}
    )
    item = reverse_item(found.priors[0], live(mode="new"))
    assert item.verb == "restore"
    assert "-  mode: new" in item.diff
    assert "+  mode: old" in item.diff
    assert leaving(found, [REF], {}) == ()
    assert not has_changes(reverse_item(made, None).diff)


_spec = st.dictionaries(
    st.sampled_from("abc"),
    st.integers(0, 3) | st.dictionaries(st.sampled_from("xy"), st.integers(0, 2)),
)


@given(_spec, _spec)
def test_putting_back_restores_managed_fields_and_leaves_the_rest(before: Any, now: Any) -> None:
    item = an_item("spec.a", "spec.b.x")
    record = remembered(RollbackRecord(), [item], {REF: live(**before)})
    after = put_back(record.priors[0], live(**now))
    for path in ("spec.a", "spec.b.x"):
        then = lookup(live(**before), parse_path(path))
        assert lookup(after, parse_path(path)) == then
    assert after["spec"].get("c") == now.get("c")
