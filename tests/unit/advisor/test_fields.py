"""Paths, hashes and owners of fields."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import convert

from trimtab.advisor.api import Item, LoadAwareOptions, TargetRef
from trimtab.advisor.plan.fields import (
    NOT_FOUND,
    is_satisfied,
    lookup,
    managed_state,
    merge_patch,
    others_of,
    parse_path,
    resource_key,
    snapshot_hash,
    strangers,
)

LIVE: dict[str, Any] = {
    "metadata": {
        "name": "cluster",
        "managedFields": [
            {
                "manager": "argocd",
                "operation": "Apply",
                "fieldsV1": {"f:spec": {"f:mode": {}, "f:map": {"f:a": {}}}},
            },
            {"manager": "kubelet", "subresource": "status", "fieldsV1": {"f:spec": {"f:x": {}}}},
        ],
    },
    "spec": {"mode": "Automatic", "map": {"a": 1, "b": 2}, "x": 1},
}


@pytest.mark.parametrize(
    ("dotted", "path"),
    [
        ("spec", ("spec",)),
        ("spec.mode", ("spec", "mode")),
        ("spec.a.b.c", ("spec", "a", "b", "c")),
        ("", ()),
        (".spec.mode", ("spec", "mode")),
        ("spec.mode.", ("spec", "mode")),
    ],
)
def test_paths(dotted: str, path: tuple[str, ...]) -> None:
    assert parse_path(dotted) == path


@pytest.mark.parametrize(
    ("ref", "key"),
    [
        (TargetRef(api_version="m/v1", kind="Pool", name="w"), "m/v1/Pool/w"),
        (TargetRef(api_version="d/v1", kind="D", name="c", namespace="n"), "d/v1/D/n/c"),
        (
            TargetRef(api_version="v1", kind="ConfigMap", name="c", namespace="n"),
            "/v1/ConfigMap/n/c",
        ),
        (TargetRef(api_version="v1", kind="Node", name="c"), "/v1/Node/c"),
    ],
)
def test_keys_of_resources(ref: TargetRef, key: str) -> None:
    assert resource_key(ref) == key


def test_only_managed_fields_count() -> None:
    assert managed_state(LIVE, ["spec.mode", "spec.map.a", "spec.missing"]) == {
        "spec.mode": "Automatic",
        "spec.map.a": 1,
    }
    assert managed_state(LIVE, ()) == {"spec": LIVE["spec"]}
    assert managed_state(None, ["spec.mode"]) == NOT_FOUND


def test_the_hash_follows_managed_fields_and_nothing_else() -> None:
    ref = TargetRef(api_version="d/v1", kind="D", name="c")
    items = (Item(name="i", target_ref=ref, managed_fields=("spec.mode",)),)
    labelled = {**LIVE, "metadata": {"labels": {"a": "b"}}, "status": {"x": 1}}
    changed = {**LIVE, "spec": {**LIVE["spec"], "mode": "Predictive"}}
    baseline = snapshot_hash(items, {ref: LIVE})
    assert len(baseline) == 64
    assert snapshot_hash(items, {ref: labelled}) == baseline
    assert snapshot_hash(items, {ref: changed}) != baseline
    assert snapshot_hash(items, {}) != baseline


def test_owners_are_found_in_what_the_server_notes() -> None:
    assert others_of(LIVE, ("spec", "mode")) == ("argocd",)
    assert others_of(LIVE, ("spec", "map", "a")) == ("argocd",)
    assert others_of(LIVE, ("spec", "map", "b")) == ()
    assert others_of(LIVE, ("spec", "x")) == (), "a status writer owns no spec"


def test_who_owns_a_key_comes_before_who_owns_the_empty_map_around_it() -> None:
    def entry(manager: str, data: dict[str, Any]) -> dict[str, Any]:
        return {"manager": manager, "operation": "Apply", "fieldsV1": {"f:data": data}}

    both = [entry("empty", {}), entry("gitops", {"f:enabled": {}})]
    path = ("data", "enabled")
    assert others_of({"metadata": {"managedFields": both}}, path) == ("gitops",)
    assert others_of({"metadata": {"managedFields": both[:1]}}, path) == ("empty",)


def test_a_key_that_another_put_into_a_managed_map_is_a_stranger() -> None:
    item = Item(name="i", managed_fields=("spec.map",), desired_state={"spec": {"map": {"b": 2}}})
    assert strangers(LIVE, item) == (("spec.map.a", ("argocd",)),)


@pytest.mark.parametrize(
    ("dotted", "expected"),
    [
        ("spec.map.a", (True, 1)),
        ("spec.map", (True, {"a": 1, "b": 2})),
        ("spec.mode", (True, "Automatic")),
        ("spec.missing", (False, None)),
        ("spec.mode.deeper", (False, None)),
        ("nowhere.at.all", (False, None)),
    ],
)
def test_values_are_found_by_their_path_or_not_at_all(
    dotted: str, expected: tuple[bool, Any]
) -> None:
    assert lookup(LIVE, parse_path(dotted)) == expected


def test_texts_among_the_options_are_taken_as_they_are() -> None:
    assert convert({"algorithm": "  a b "}, LoadAwareOptions).algorithm == "  a b "
    assert convert({"algorithm": ""}, LoadAwareOptions).algorithm == ""
    assert convert({}, LoadAwareOptions).dev_deviation_thresholds == "AsymmetricLow"


def test_desired_is_satisfied_by_more_but_not_by_less() -> None:
    assert is_satisfied({"spec": {"mode": "Automatic"}}, LIVE)
    assert not is_satisfied({"spec": {"mode": "Automatic", "new": 1}}, LIVE)
    assert not is_satisfied({"spec": {"list": [1]}}, {"spec": {"list": [1, 2]}})


_values = st.recursive(
    st.integers(0, 3) | st.lists(st.integers(0, 2), max_size=2),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
_maps = st.dictionaries(st.sampled_from("abc"), _values, max_size=3)


def patched(target: Any, patch: Any) -> Any:
    """RFC 7386, as the API server does it."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = patched(result.get(key), value)
    return result


@given(_maps, _maps)
def test_a_merge_patch_makes_one_object_of_the_other(live: Any, wanted: Any) -> None:
    assert patched(live, merge_patch(live, wanted)) == wanted
    assert merge_patch(wanted, wanted) == {}
