"""Where the order of a sum decides (T5): both classes are allowed, and `choose` takes one."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.examples import examples
from builders.worlds.policy import a_low, a_node, a_policy, a_view, some_pods
from trimtab.policy.choices import Shuffled, Tie, as_given
from trimtab.policy.cycle import Class
from trimtab.policy.decision import decide
from trimtab.policy.doubt import possible_classes, possible_means
from trimtab.policy.file.settings import METRIC_RESOURCE
from trimtab.policy.numbers import around, mean_of, percent_of

ODD = st.sampled_from([7, 14, 28, 29, 55, 56, 57, 58, 5, 24, 42, 84, 10])


@pytest.mark.parametrize("percents", [[28, 55, 24, 5], [56, 56, 84, 28]])
def test_a_node_at_the_mean_may_be_under_or_appropriate(percents: list[int]) -> None:
    (run,) = decide(a_view(percents), a_policy(0, 10)).runs
    assert run.figures is not None
    sets = set(run.figures.doubtful.values())
    assert sets == {frozenset({Class.UNDER, Class.APPROPRIATE})}


def test_both_outcomes_come_up_as_the_order_changes() -> None:
    seen = {
        int(run.figures.classes[0])
        for seed in range(30)
        for run in decide(a_view([28, 55, 24, 5]), a_policy(0, 10), choose=Shuffled(seed)).runs
        if run.figures is not None
    }
    assert seen == {Class.UNDER, Class.APPROPRIATE}


def test_the_order_is_asked_for_only_where_it_can_matter() -> None:
    """Shuffling ten thousand nodes each cycle for nothing would be a waste."""
    asked: list[Tie] = []

    def choose(tie: Tie, items: object) -> object:
        asked.append(tie)
        return items

    decide(a_view([28, 55, 24, 6]), a_policy(0, 10), choose=choose)  # type: ignore[arg-type]
    assert Tie.MEAN not in asked
    decide(a_view([28, 55, 24, 5]), a_policy(0, 10), choose=choose)  # type: ignore[arg-type]
    assert Tie.MEAN in asked


def test_whole_percents_leave_no_doubt_even_at_the_threshold() -> None:
    (run,) = decide(a_view([20, 30, 10]), a_policy(0, 10)).runs
    assert run.figures is not None
    assert run.figures.doubtful == {}


@given(percents=st.lists(ODD, min_size=2, max_size=6), span=st.sampled_from([0, 10]))
@settings(max_examples=examples(60))
def test_the_allowed_classes_are_exactly_those_of_all_orders(
    percents: list[int], span: int
) -> None:
    percent = percent_of(np.array(percents), 100)
    schedulable = np.ones(len(percents), dtype=np.bool_)
    real: dict[int, set[int]] = {at: set() for at in range(len(percents))}
    for order in permutations(percent.tolist()):
        low, high = around(float(mean_of(np.array(order))), 0, span)
        for at, value in enumerate(percent.tolist()):
            real[at].add(-1 if value <= low else int(value > high))
    given_low, given_high = {METRIC_RESOURCE: 0.0}, {METRIC_RESOURCE: float(span)}
    both = {METRIC_RESOURCE: percent}
    found = possible_classes(both, both, given_low, given_high, schedulable)
    assert {at: set(map(int, classes)) for at, classes in found.items()} == {
        at: classes for at, classes in real.items() if len(classes) > 1
    }


@given(
    percents=st.lists(ODD, min_size=2, max_size=40),
    spans=st.tuples(st.sampled_from([0, 10, 20]), st.sampled_from([0, 10])),
    seed=st.integers(0, 1000),
)
def test_the_class_taken_is_one_of_those_allowed(
    percents: list[int], spans: tuple[int, int], seed: int
) -> None:
    """Also for many nodes, where the allowed classes come from bounds."""
    given_order, other = (
        decide(a_view(percents, pods={}), a_policy(*spans), choose=choose).runs[0].figures
        for choose in (as_given, Shuffled(seed))
    )
    assert given_order is not None
    assert other is not None
    for at in range(len(percents)):
        one, two = Class(int(given_order.classes[at])), Class(int(other.classes[at]))
        allowed = given_order.doubtful.get(at, frozenset({one}))
        assert {one, two} <= allowed


def test_the_order_may_decide_a_cap_although_every_class_is_certain() -> None:
    """78.18 % of 110 pods is 86, or one bit less and then 85 (E1)."""
    nodes = [a_node(f"n{at}", capacity={"pods": room}) for at, room in enumerate((110, 10, 110))]
    pods = {f"n{at}": some_pods(f"n{at}", count) for at, count in enumerate((103, 8, 34))}
    policy = a_policy(plugin=a_low({"pods": 0}, {"pods": 10}, deviation=True))
    rooms = set()
    for seed in range(20):
        view = a_view([0, 0, 0], nodes=nodes, pods=pods)
        (run,) = decide(view, policy, choose=Shuffled(seed)).runs
        assert run.figures is not None
        assert run.figures.doubtful == {}
        rooms.add(run.headroom["pods"])
    assert rooms == {86 - 34, 85 - 34}


def test_too_many_orders_are_not_enumerated() -> None:
    assert possible_means(percent_of(np.arange(60), 100)) is None
