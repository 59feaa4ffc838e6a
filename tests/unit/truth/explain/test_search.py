"""The search for changes: each of them evicts, and none that is smaller does."""

from collections.abc import Callable

import pytest
from hypothesis import assume, given, settings

from builders.examples import examples
from builders.worlds.snapshots import decide_as_answered, snapshots
from trimtab.model.snapshot import Snapshot, decode, encode
from trimtab.truth.explain.changes.thresholds import nearest
from trimtab.truth.explain.explanation import explain


def check(snapshot: Snapshot) -> None:
    explained = explain(snapshot)
    if explained.explanation.evictions:
        assert explained.found == ()
        return
    for found in explained.found:
        again = decide_as_answered(decode(encode(found.snapshot)))
        assert len(again.evictions) == found.change.evictions > 0
    sizes = [change.size for change in explained.explanation.changes]
    assert sizes == sorted(sizes)


@settings(max_examples=examples(10))
@given(snapshots())
def test_every_change_that_is_told_evicts(snapshot: Snapshot) -> None:
    check(snapshot)


@pytest.mark.full
@settings(max_examples=120)
@given(snapshots())
def test_every_change_that_is_told_evicts_in_many_clusters(snapshot: Snapshot) -> None:
    assume(snapshot.pods)
    check(snapshot)


def above(limit: float) -> Callable[[float], bool]:
    return lambda value: value > limit


@pytest.mark.parametrize(
    ("works", "expected"),
    [
        pytest.param(above(12), 12.1, id="up"),
        pytest.param(lambda value: value < 7.25, 7.2, id="down"),
        pytest.param(lambda value: value < 9 or value > 10.5, 10.6, id="the nearer of two"),
        pytest.param(lambda value: value == 0, 0, id="at the bound"),
        pytest.param(lambda value: value >= 40, 40, id="at the other bound"),
        pytest.param(above(50), None, id="out of bounds"),
    ],
)
def test_the_nearest_value_is_found_to_a_tenth(
    works: Callable[[float], bool], expected: float | None
) -> None:
    assert nearest(10, 0, 40, works) == expected
