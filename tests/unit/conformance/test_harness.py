"""The pure parts of the conformance harness: what it takes for granted about the real one."""

from collections import Counter

import pytest

from conformance.descheduler.draws.cases import Session
from conformance.descheduler.draws.themes import THEMES
from conformance.descheduler.judge.chance import Orders, evidence_of, not_chance
from conformance.descheduler.stubs import Average, Reply
from trimtab.model.quantity import NANO, parse_quantity
from trimtab.policy.choices import Answer
from trimtab.policy.file.reader import read_policy


def test_the_first_usage_is_kept_exactly_and_later_ones_are_averaged() -> None:
    milli = NANO // 1000
    average = Average(parse_quantity("123456789n").nano, milli)
    assert average.nano == 123_456_789
    average.add(parse_quantity("1").nano)
    assert average.nano == 212 * milli  # 0.9 × 124 + 0.1 × 1000, rounded


def test_a_constant_usage_stays() -> None:
    average = Average(1500 * NANO, NANO)
    for _ in range(100):
        average.add(1500 * NANO)
    assert average.nano == 1500 * NANO


def test_only_the_evacuation_is_one_in_background() -> None:
    assert {reply: reply.means for reply in Reply} == {
        Reply.ALLOW: Answer.EVICTED,
        Reply.EVACUATE: Answer.BACKGROUND,
        Reply.BUDGET: Answer.REFUSED,
        Reply.FORBID: Answer.REFUSED,
    }


@pytest.mark.parametrize(
    ("courses", "is_fair"),
    [
        pytest.param([[1, 2]] * 7, True, id="too few to tell"),
        pytest.param([[1, 2]] * 8, False, id="always the same way"),
        pytest.param([[1, 1, 1, 2, 2], [1, 1, 2, 2, 2], [1, 2]], True, id="6.6 and a bit"),
        pytest.param([[1, 1, 1, 2, 2], [1, 1, 2, 2, 2], [1, 1, 2]], False, id="6.6 and 1.6"),
        pytest.param([[2, 1]] * 8, False, id="always the other way"),
        pytest.param([[1, 2]] * 9 + [[2, 1]], True, id="both ways"),
        pytest.param([[1, 2]] * 9 + [[1, 2, 1]], True, id="both ways in one tie"),
        pytest.param([[1, 1, 1]] * 9, True, id="no difference"),
    ],
)
def test_one_order_only_is_no_chance(courses: list[list[int]], is_fair: bool) -> None:
    orders: Orders = Counter()
    for course in courses:
        for way, evidence in evidence_of(course):
            orders["QoS", way] += evidence
    assert (not_chance(orders) == []) is is_fair


@pytest.mark.parametrize("number", range(len(THEMES)))
def test_every_theme_is_a_policy_with_cases(number: int) -> None:
    session = Session(3, number)
    read_policy(session.theme.text("http://127.0.0.1:9090"), session.theme.name)
    case = session.case(0, {})
    assert len(case.nodes) == 20
    assert len(case.pods) == 200


def test_the_same_seed_gives_the_same_cases() -> None:
    one, other = (Session(5, 4).case(0, {}) for _ in range(2))
    assert (one.nodes, one.pods, one.replies) == (other.nodes, other.pods, other.replies)
