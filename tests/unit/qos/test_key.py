"""The queue key: one text for each, one order for all, in both languages."""

from datetime import datetime
from functools import cmp_to_key
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.values.qos import few
from trimtab.qos.ledger.time_to_violation import SECOND, AccountGrowth, time_to_violation
from trimtab.qos.queue.key import (
    INFINITE,
    Horizon,
    Place,
    PodSituation,
    Stamp,
    StampDecision,
    differs,
    parse,
    queue_key,
    rank_of,
    unstamped,
)

S = SECOND
VECTORS = Path(__file__).parents[3] / "engines/kubernetes/qosaware/testdata/vectors.json"
HORIZON = Horizon(margin=30 * S, ageing=600 * S)
ALONE = AccountGrowth(0, 1)
NOW = 1_800_000_000 * S


def vectors(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = msgspec.json.decode(VECTORS.read_bytes())[name]
    assert found
    return found


@pytest.mark.parametrize("case", vectors("keys"), ids=lambda c: c.get("why") or c["text"])
def test_a_text_is_read_as_go_reads_it(case: dict[str, Any]) -> None:
    stamp = parse(case["text"])
    assert (stamp is not None) == case["valid"]
    if stamp is not None:
        assert str(stamp) == case["text"]
        assert (stamp.tier, stamp.rank) == (case["tier"], case["rank"])
        assert stamp.deadline == int(case["deadline"])


@pytest.mark.parametrize("case", vectors("ranks"), ids=lambda c: str(c["slo"]))
def test_a_rank_is_what_go_expects(case: dict[str, Any]) -> None:
    assert rank_of(case["slo"]) == case["rank"]


@pytest.mark.parametrize("case", vectors("less"), ids=lambda c: c["why"])
def test_pods_are_ordered_as_go_orders_them(case: dict[str, Any]) -> None:
    first, second = (_place(case[name], case.get("respectPriority", True)) for name in "ab")
    assert (first.sort_key < second.sort_key) == case["less"]


def _place(pod: dict[str, Any], respect: bool) -> Place:
    created = round(datetime.fromisoformat(pod["creation"]).timestamp()) * S
    priority = (pod["priority"] or 0) if respect else 0
    return Place(pod["key"], created, pod["uid"], priority, pod["attempts"])


stamps = st.builds(
    Stamp,
    st.integers(0, 2),
    st.integers(0, 999_999),
    st.one_of(st.integers(0, INFINITE), st.sampled_from([0, INFINITE])),
)
places = st.builds(
    Place,
    st.one_of(st.none(), stamps.map(str), st.sampled_from(["", "v1:9", "nonsense"])),
    st.integers(0, 3).map(lambda n: n * S),
    st.sampled_from("abcdef"),
    st.integers(-1, 1),
    st.integers(0, 8),
)


@few
@given(stamps, stamps)
def test_bytes_sort_as_keys_do(first: Stamp, second: Stamp) -> None:
    assert (str(first) < str(second)) == (first < second)
    assert parse(str(first)) == first
    assert len(str(first)) == 32


@few
@given(st.lists(places, min_size=2, max_size=12))
def test_the_order_is_total(pods: list[Place]) -> None:
    """Irreflexive, asymmetric, transitive; equal only for pods that nothing tells apart."""

    def less(a: Place, b: Place) -> int:
        return (a.sort_key > b.sort_key) - (a.sort_key < b.sort_key)

    ordered = sorted(pods, key=cmp_to_key(less))
    for index, first in enumerate(ordered):
        assert less(first, first) == 0
        for second in ordered[index + 1 :]:
            assert less(first, second) == -less(second, first)
            assert less(first, second) <= 0
            if first.uid != second.uid:
                assert less(first, second) == -1


@few
@given(st.text(max_size=40))
def test_only_one_spelling_is_a_stamp(text: str) -> None:
    stamp = parse(text)
    assert stamp is None or str(stamp) == text


def decide(
    ttv_s: float | None, slo: float = 0.8, waited_s: float = 0, pace: AccountGrowth = ALONE
) -> StampDecision:
    ttv = None if ttv_s is None else round(ttv_s * S)
    created = NOW - round(waited_s * S)
    return queue_key(PodSituation(NOW, created, ttv, slo, pace), HORIZON)


@pytest.mark.parametrize(
    ("ttv_s", "slo", "waited_s", "pace", "stamp"),
    [
        pytest.param(0, 0.9, 0, ALONE, Stamp(0, 100_000, NOW), id="a first pod is urgent at once"),
        pytest.param(-5, 1.0, 5, ALONE, Stamp(0, 0, NOW - 5 * S), id="due since it was created"),
        pytest.param(29, 0.5, 0, ALONE, Stamp(0, 500_000, NOW + 29 * S), id="within the margin"),
        pytest.param(60, 0.5, 0, ALONE, Stamp(1, 0, NOW + 60 * S), id="not urgent: no rank"),
        pytest.param(
            60, 0.5, 0, AccountGrowth(2, 1), Stamp(2, 0, INFINITE), id="its siblings earn enough"
        ),
        pytest.param(None, 0.0, 0, ALONE, Stamp(2, 0, INFINITE), id="nothing was promised"),
        pytest.param(
            10, 0.5, 0, AccountGrowth(2, 1), Stamp(2, 0, INFINITE), id="its little credit grows"
        ),
        pytest.param(
            None, 0.0, 700, ALONE, Stamp(0, 999_999, NOW - 100 * S), id="old: behind the urgent"
        ),
        pytest.param(
            900, 0.5, 700, ALONE, Stamp(0, 999_999, NOW - 100 * S), id="old, though in credit"
        ),
        pytest.param(
            -700, 0.5, 700, ALONE, Stamp(0, 500_000, NOW - 700 * S), id="age overrules no promise"
        ),
        pytest.param(
            -60,
            0.5,
            20,
            AccountGrowth(0, 3),
            Stamp(0, 500_000, NOW - 20 * S),
            id="a debt is shared out",
        ),
        pytest.param(
            -90_000, 0.5, 20, ALONE, Stamp(0, 500_000, NOW - 3620 * S), id="an hour is inherited"
        ),
    ],
)
def test_a_stamp_says_how_urgent_a_pod_is(
    ttv_s: float | None, slo: float, waited_s: float, pace: AccountGrowth, stamp: Stamp
) -> None:
    assert decide(ttv_s, slo, waited_s, pace).stamp == stamp


def test_nothing_promised_is_never_before_a_healthy_one() -> None:
    """With a formula that yields 0 for whoever never ran, it would be urgent."""
    healthy = decide(3600, 0.9)
    nothing = decide(None, 0.0)
    assert healthy.stamp < nothing.stamp


def test_time_alone_changes_a_stamp_at_the_margin_and_at_the_age() -> None:
    assert decide(60).again_at == NOW + 30 * S
    assert decide(10).again_at is None, "urgent, and nobody of its own runs: it stays so"
    assert decide(10_000).again_at == NOW + 600 * S
    assert decide(None, 0.0).again_at == NOW + 600 * S
    assert decide(10_000, waited_s=700).again_at == NOW + 9970 * S, "then it is urgent"


def test_a_deadline_that_siblings_move_is_looked_at_again() -> None:
    """With one of two running and an SLO of 0.5 nothing is owed more or less as time passes."""
    assert AccountGrowth(1, 1).drift(0.5) == 1
    assert decide(-5, 0.5, pace=AccountGrowth(1, 1)).again_at == NOW + S // 4
    assert decide(-100, 0.5, pace=AccountGrowth(1, 1)).again_at == NOW + 1250 * S // 1000, (
        "50 s owed each"
    )
    assert decide(-100, 0.5, pace=AccountGrowth(0, 2)).again_at is None


def test_a_stamp_is_rewritten_for_another_rank_but_not_for_jitter() -> None:
    old = Stamp(0, 5, NOW)
    assert not differs(old, Stamp(0, 5, NOW + S // 4), NOW)
    assert differs(old, Stamp(0, 5, NOW + S), NOW)
    assert not differs(old, Stamp(0, 5, NOW + S), NOW + 100 * S), "a twentieth of a large debt"
    assert differs(old, Stamp(0, 6, NOW), NOW)
    assert differs(None, old, NOW)


def test_without_a_stamp_a_pod_counts_as_one_with_the_default_promise() -> None:
    assert unstamped(NOW) == Stamp(0, rank_of(0.80), NOW)


arrivals = st.lists(st.tuples(st.integers(0, 500), st.integers(0, 400)), min_size=1, max_size=20)


@few
@given(waited=st.integers(0, 500), later=arrivals)
def test_nobody_starves_inside_a_rank(waited: int, later: list[tuple[int, int]]) -> None:
    """Whoever comes later, with the same promise and no larger debt, goes behind."""
    here = decide(-waited, 0.9, waited).stamp
    for age, ran in later:
        newcomer = time_to_violation(ran * S, 0, 0.9)
        assert newcomer is not None
        created = NOW + age * S
        other = queue_key(PodSituation(created, created, newcomer, 0.9, ALONE), HORIZON).stamp
        assert (here, NOW - waited * S) <= (other, created)


@few
@given(st.floats(0.0, 1.0), st.floats(0.01, 1.0), st.integers(0, 100_000))
def test_age_goes_before_all_but_the_urgent(low: float, high: float, credit_s: int) -> None:
    old = decide(None if low == 0 else 10_000, low, 601).stamp
    assert old < decide(30 + credit_s, high).stamp
    assert decide(0, high).stamp < old
