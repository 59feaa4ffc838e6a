"""Evictions in background: what adds an entry, what keeps it, what drops it (2.4)."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.examples import examples
from trimtab.policy.inflight import (
    EMPTY,
    InFlight,
    InFlightCache,
    KnownEviction,
    PodEvent,
    PodState,
)

ASSUMED = KnownEviction("u", "n", "ns", 100.0)
DETECTED = KnownEviction("u", "n", "ns", None)


def pod(requested: bool = True, in_progress: bool = False, finished: bool = False) -> PodState:
    return PodState("u", "n", "ns", requested, in_progress, finished)


ASKS = pod()
GOING = pod(in_progress=True)


@pytest.mark.parametrize(
    ("before", "event", "after"),
    [
        pytest.param(None, PodEvent("added", GOING), DETECTED, id="found at start"),
        pytest.param(None, PodEvent("added", ASKS), None, id="not in progress"),
        pytest.param(
            None, PodEvent("added", pod(False, True)), None, id="in progress but not asking for it"
        ),
        pytest.param(
            None, PodEvent("added", pod(True, True, True)), None, id="finished when found"
        ),
        pytest.param(ASSUMED, PodEvent("added", ASKS), ASSUMED, id="an addition drops nothing"),
        pytest.param(None, PodEvent("updated", GOING, ASKS), DETECTED, id="progress begins"),
        pytest.param(
            None,
            PodEvent("updated", GOING, GOING),
            DETECTED,
            id="progress was missed so far",
        ),
        pytest.param(
            ASSUMED, PodEvent("updated", GOING, ASKS), ASSUMED, id="confirmed, still assumed"
        ),
        pytest.param(
            ASSUMED, PodEvent("updated", ASKS, ASKS), ASSUMED, id="no news keep an assumed entry"
        ),
        pytest.param(ASSUMED, PodEvent("updated", ASKS, GOING), None, id="progress ended"),
        pytest.param(DETECTED, PodEvent("updated", ASKS, GOING), None, id="as it was detected"),
        pytest.param(
            ASSUMED, PodEvent("updated", pod(False, True), GOING), None, id="no longer asks for it"
        ),
        pytest.param(
            ASSUMED, PodEvent("updated", pod(True, True, True), GOING), None, id="finished"
        ),
        pytest.param(ASSUMED, PodEvent("deleted", ASKS), None, id="deleted"),
        pytest.param(DETECTED, PodEvent("deleted", GOING), None, id="deleted while in progress"),
        pytest.param(None, PodEvent("deleted", GOING), None, id="unknown and deleted"),
    ],
)
def test_transitions(
    before: KnownEviction | None, event: PodEvent, after: KnownEviction | None
) -> None:
    found = InFlight([before] if before else []).observe(event)
    assert list(found.entries.values()) == ([after] if after else [])


def test_the_first_assumption_keeps_its_time() -> None:
    assert InFlight([ASSUMED]).assume("u", "n", "ns", 500.0) == InFlight([ASSUMED])


def test_an_entry_known_from_the_annotation_becomes_assumed_once_answered() -> None:
    """From then on it can expire."""
    found = InFlight([DETECTED]).assume("u", "n", "ns", 500.0)
    assert found == InFlight([KnownEviction("u", "n", "ns", 500.0)])
    assert found.total == 1


@pytest.mark.parametrize(
    ("entry", "age", "kept"),
    [
        pytest.param(ASSUMED, 600.0, True, id="600 s is not more than 600 s"),
        pytest.param(ASSUMED, 600.99, True, id="whole seconds are compared"),
        pytest.param(ASSUMED, 601.0, False, id="601 s is"),
        pytest.param(DETECTED, 1e9, True, id="what was not assumed never expires"),
    ],
)
def test_the_sweep(entry: KnownEviction, age: float, kept: bool) -> None:
    assert InFlight([entry]).sweep(100.0 + age).total == int(kept)


def test_a_migration_longer_than_the_time_out_reappears_with_the_next_update() -> None:
    """It was assumed, confirmed by the annotation, and expires all the same."""
    cache = EMPTY.assume("u", "n", "ns", 0.0).observe(PodEvent("updated", GOING, ASKS))
    assert cache.sweep(700.0).total == 0
    assert cache.sweep(700.0).observe(PodEvent("updated", GOING, GOING)) == InFlight([DETECTED])


EVENTS: Any = st.lists(
    st.one_of(
        st.tuples(
            st.just("observe"),
            st.sampled_from(["added", "updated", "deleted"]),
            st.sampled_from(["a", "b", "c"]),
            st.tuples(st.booleans(), st.booleans(), st.booleans()),
            st.tuples(st.booleans(), st.booleans(), st.booleans()),
        ),
        st.tuples(st.just("assume"), st.sampled_from(["a", "b", "c"]), st.floats(0, 1000)),
        st.tuples(st.just("sweep"), st.floats(0, 2000)),
    ),
    max_size=15,
)


def after(cache: InFlight, event: Any) -> InFlight:
    if event[0] == "observe":
        new, old = (PodState(event[2], f"node-{event[2]}", "ns", *flags) for flags in event[3:])
        return cache.observe(PodEvent(event[1], new, old))
    if event[0] == "assume":
        return cache.assume(event[1], f"node-{event[1]}", "ns", event[2])
    return cache.sweep(event[1])


@given(EVENTS)
@settings(max_examples=examples(50))
def test_changed_in_place_it_is_the_same_as_made_anew(events: list[Any]) -> None:
    anew, in_place = EMPTY, InFlightCache()
    for event in events:
        anew = after(anew, event)
        assert after(in_place, event) is in_place
        assert list(in_place.entries.items()) == list(anew.entries.items())


@given(EVENTS)
@settings(max_examples=examples(50))
def test_the_numbers_always_match_the_entries(events: list[Any]) -> None:
    cache = EMPTY
    for event in events:
        cache = after(cache, event)
        assert cache.total == len(cache.entries) == sum(cache.per_node.values())
        assert sum(cache.per_namespace.values()) == cache.total
        assert all(count > 0 for count in cache.per_node.values())
    assert EMPTY.total == 0
