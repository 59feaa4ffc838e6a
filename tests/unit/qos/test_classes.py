"""Classes: four numbers that belong together, and how much each may ask for."""

import pytest

from builders.values.qos import a_view
from trimtab.qos.page.answers import gini, report
from trimtab.qos.queue.overbooking import overbooking


def test_everybody_slightly_below_has_no_fulfilment_and_hardly_a_deficit() -> None:
    members = [a_view(qos=0.499, slo=0.5, incarnations=3), a_view(qos=0.498, slo=0.5)]
    found = report("bronze", members)
    assert (found.fulfilled_ratio, found.restarts_per_account) == (0, 1)
    assert found.mean_deficit == pytest.approx(0.0015)
    assert found.gini < 0.001


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.5, 0.5, 0.5], 0),
        ([0, 0, 0, 1], 0.75),
        ([1, 3], 0.25),
        pytest.param([0, 0], 0, id="nobody has anything: all are equal"),
    ],
)
def test_gini(values: list[float], expected: float) -> None:
    assert gini(values) == pytest.approx(expected)


def test_a_lower_promise_can_be_sold_more_often_out_of_what_is_left() -> None:
    demands = [("bronze", 0.5, 96.0), ("gold", 1.0, 80.0), ("silver", 0.9, 80.0)]
    gold, silver, bronze = overbooking(demands, 200)
    assert gold.limit_cores == 200
    assert silver.limit_cores == pytest.approx(120 / 0.9)
    assert bronze.limit_cores == pytest.approx((200 - 80 - 72) / 0.5)
    assert not any(each.exceeded for each in (gold, silver, bronze))


def test_a_class_that_asks_for_more_is_named() -> None:
    gold, bronze = overbooking([("gold", 1.0, 90.0), ("bronze", 0.5, 30.0)], 100)
    assert (gold.exceeded, bronze.exceeded) == (False, True)


def test_nothing_promised_cannot_be_overbooked() -> None:
    (free,) = overbooking([("free", 0.0, 1000.0)], 1)
    assert (free.limit_cores, free.exceeded) == (None, False)
