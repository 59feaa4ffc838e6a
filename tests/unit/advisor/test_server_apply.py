"""Server-side apply on paper: maps merge, lists are replaced, what we no longer name goes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.advisor.api import MANAGER, Taking
from trimtab.advisor.cluster.server_apply import LIST_KEYS, LIST_TYPE, MAP_TYPE, forced_apply
from trimtab.kube.resources import Free

SCHEMA: Free = {
    "properties": {
        "spec": {
            "properties": {
                "mode": {"type": "string", "default": "Predictive"},
                "names": {"type": "array"},
                "tags": {"type": "array", LIST_TYPE: "set"},
                "parts": {"type": "array", LIST_TYPE: "map", LIST_KEYS: ["name"]},
                "selector": {
                    "properties": {"matchLabels": {"additionalProperties": {"type": "string"}}},
                    MAP_TYPE: "atomic",
                },
                "limits": {"properties": {"total": {}, "node": {"default": 2}}},
            }
        }
    }
}


Owner = tuple[str, Free]


def an_object(spec: Free, *managers: Owner) -> Free:
    entries = [
        {"manager": name, "operation": "Apply", "fieldsV1": {"f:spec": fields}}
        for name, fields in managers
    ]
    meta: Free = {"name": "x"} | ({"managedFields": entries} if entries else {})
    return {"apiVersion": "g/v1", "kind": "K", "metadata": meta, "spec": spec}


def applied(live: Free | None, desired: Free) -> Free:
    spec: Free = forced_apply(live, an_object(desired), SCHEMA).after["spec"]
    return spec


@pytest.mark.parametrize(
    ("live", "desired", "expected"),
    [
        pytest.param({"names": ["a"]}, {"names": ["b"]}, {"names": ["b"]}, id="lists are replaced"),
        pytest.param(
            {"tags": ["a", "b"]}, {"tags": ["c", "a"]}, {"tags": ["a", "b", "c"]}, id="sets grow"
        ),
        pytest.param(
            {"parts": [{"name": "a", "x": 1, "y": 2}, {"name": "b"}]},
            {"parts": [{"name": "a", "x": 9}, {"name": "c"}]},
            {"parts": [{"name": "a", "x": 9, "y": 2}, {"name": "b"}, {"name": "c"}]},
            id="lists with keys merge by them",
        ),
        pytest.param(
            {"selector": {"matchLabels": {"a": "1"}}},
            {"selector": {"matchLabels": {"b": "2"}}},
            {"selector": {"matchLabels": {"b": "2"}}},
            id="an atomic map is one value",
        ),
        pytest.param(
            {"limits": {"node": 7}},
            {"limits": {"total": 5}},
            {"limits": {"node": 7, "total": 5}},
            id="maps merge",
        ),
    ],
)
def test_values_merge_as_the_schema_says(live: Free, desired: Free, expected: Free) -> None:
    assert applied(an_object(live), desired) == expected | {"mode": "Predictive"}


def test_a_new_object_gets_defaults_and_loses_unknown_fields() -> None:
    assert applied(None, {"limits": {}, "unheard": 1}) == {
        "mode": "Predictive",
        "limits": {"node": 2},
    }


def test_what_we_no_longer_name_goes_with_the_defaults_in_it() -> None:
    ours: Owner = (MANAGER, {"f:limits": {"f:total": {}}})
    live = an_object({"limits": {"total": 5, "node": 2}}, ours)
    assert "limits" not in applied(live, {"mode": "Automatic"})


def test_what_others_own_too_stays() -> None:
    ours: Owner = (MANAGER, {"f:limits": {"f:total": {}, "f:node": {}}})
    theirs: Owner = ("argocd", {"f:limits": {"f:node": {}}})
    live = an_object({"limits": {"total": 5, "node": 3}}, ours, theirs)
    assert applied(live, {})["limits"] == {"node": 3}


def test_fields_of_others_with_other_values_are_taken() -> None:
    theirs: Owner = ("argocd", {"f:mode": {}, "f:names": {}, "f:limits": {"f:total": {}}})
    live = an_object({"mode": "Automatic", "names": ["a"], "limits": {"total": 9}}, theirs)
    desired = an_object({"mode": "Automatic", "names": ["b"], "limits": {"total": 5}})
    assert forced_apply(live, desired, SCHEMA).takes == (
        Taking(field="spec.limits.total", manager="argocd"),
        Taking(field="spec.names", manager="argocd"),
    )


VALUES: Any = st.fixed_dictionaries(
    {},
    optional={
        "mode": st.sampled_from(["Automatic", "Predictive"]),
        "names": st.lists(st.sampled_from("ab"), max_size=2),
        "tags": st.lists(st.sampled_from("ab"), max_size=2, unique=True),
        "limits": st.fixed_dictionaries({}, optional={"total": st.integers(1, 3)}),
    },
)


@given(VALUES, VALUES)
def test_applying_twice_changes_nothing_more(live: Free, desired: Free) -> None:
    once = applied(an_object(live), desired)
    assert applied(an_object(once), desired) == once


@given(VALUES, VALUES)
def test_what_is_wanted_is_there_afterwards(live: Free, desired: Free) -> None:
    after = applied(an_object(live), desired)
    for key, value in desired.items():
        if key == "tags":
            assert set(value) <= set(after[key])
        elif key == "limits":
            assert value.items() <= after[key].items()
        else:
            assert after[key] == value
