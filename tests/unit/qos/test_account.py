"""Accounts: nothing is lost, nothing counts twice, and what is over takes no room."""

from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.values.qos import a_gated_life, a_life, an_account, an_owner, at, few
from trimtab.qos.ledger.account import SETTLE, Account
from trimtab.qos.ledger.pod_life import MOST_TURNS, Incarnation
from trimtab.qos.ledger.pod_moments import Observation
from trimtab.qos.ledger.spans import Counting
from trimtab.qos.ledger.time_to_violation import SECOND, AccountGrowth
from trimtab.qos.wire import LedgerStatus, read_back, written_down

S = SECOND


def sums(account: Account, second: float) -> tuple[float, float, float]:
    reading = account.at(at(second))
    return reading.running / S, reading.waiting / S, reading.binding / S


@pytest.mark.parametrize(
    ("lives", "second", "expected"),
    [
        pytest.param([a_life(created=0)], 5, (0, 5, 0), id="one waits"),
        pytest.param([a_life(created=0, bound=3)], 10, (7, 3, 0), id="then runs"),
        pytest.param(
            [a_life(created=0, binding=3, bound=4)], 10, (6, 3, 1), id="binding is neither"
        ),
        pytest.param([a_life(created=0, bound=3, ended=8)], 20, (5, 3, 0), id="then ends"),
        pytest.param([a_life(created=0, ended=8)], 20, (0, 8, 0), id="never bound"),
        pytest.param(
            [a_life("a", 0, 1), a_life("b", 0, 5), a_life("c", 2)], 10, (14, 14, 0), id="they add"
        ),
    ],
)
def test_time_is_counted_by_state(
    lives: list[Incarnation], second: float, expected: tuple[float, float, float]
) -> None:
    assert sums(an_account(*lives), second) == expected


def test_time_behind_gates_is_counted_apart_and_not_as_waiting() -> None:
    account = an_account(a_gated_life("a"), a_gated_life("b", ungated=4, bound=6))
    reading = account.at(at(10))
    assert (reading.gated, reading.gated_now) == (14 * S, 1)
    assert sums(account, 10) == (4, 2, 0)
    assert reading.pace == AccountGrowth(1, 0)
    account.observe(a_life("a", 0), Observation(at(10), at(10)))
    account.observe(a_life("a", 0, bound=15), Observation(at(15), at(15)))
    account.observe(a_life("a", 0, bound=15, ended=20))
    account.settle(at(100))
    assert "a" not in account.pods
    assert account.at(at(15)).gated == 14 * S
    assert sums(account, 20) == (14 + 5, 2 + 5, 0)


def test_a_gated_pod_that_is_deleted_never_waited() -> None:
    account = an_account(a_gated_life("a", ended=9))
    assert (account.at(at(20)).gated, sums(account, 20)) == (9 * S, (0, 0, 0))


def test_a_pod_first_seen_running_does_not_turn_its_past_into_waiting() -> None:
    """A restarted observer that takes now for the start of running charges days of waiting."""
    account = an_account(a_life(created=0, bound=2))
    assert sums(account, 86_400) == (86_398, 2, 0)


def test_a_failed_pod_does_not_go_on_running() -> None:
    account = an_account(a_life(created=0, bound=2, ended=10))
    assert sums(account, 1000) == sums(account, 10) == (8, 2, 0)


def test_a_clock_that_goes_back_takes_nothing_away() -> None:
    account = an_account(a_life(created=0, bound=50))
    assert sums(account, 20) == sums(account, 50) == (0, 50, 0)


def test_any_number_of_pods_may_come_and_go() -> None:
    """Slots that are given out at first sight run out at a rollout or a scale-up."""
    account = an_account()
    for number in range(200):
        account.observe(a_life(f"p{number}", number, number + 1, number + 2))
    assert sums(account, 1000) == (200, 200, 0)
    assert account.incarnations == 200


def test_what_is_over_takes_no_room() -> None:
    account = an_account()
    for number in range(500):
        account.observe(a_life(f"p{number}", number, number + 1, number + 2))
        account.settle(at(number + 2))
        assert len(account.pods) <= SETTLE // S + 2
    account.settle(at(1000))
    assert account.is_empty
    assert sums(account, 1000) == (500, 500, 0)


def test_a_pod_in_the_sums_that_is_still_there_does_not_count_again() -> None:
    life = a_life(created=0, bound=2, ended=10)
    account = an_account(life)
    account.settle(at(100), present=["p1"])
    account.observe(a_life(created=0, bound=2, ended=10))
    assert sums(account, 200) == (8, 2, 0)
    account.forget("p1", at(300))
    assert account.is_empty


def test_a_pod_that_disappears_without_a_word_ends_when_it_is_missed() -> None:
    """A tombstone must not be dropped: the pod would run for ever."""
    account = an_account(a_life(created=0, bound=2))
    account.forget("p1", at(10))
    assert sums(account, 1000) == (8, 2, 0)


def test_a_pod_lost_from_sight_counts_until_then_and_leaves_a_gap() -> None:
    account = an_account(a_life(created=0, bound=2))
    account.lose("p1", at(60), 40 * S)
    assert sums(account, 1000) == (58, 2, 0)
    assert account.gap == 40 * S


def test_the_pace_is_the_number_of_pods_in_each_state() -> None:
    account = an_account(a_life("a", 0, 1), a_life("b", 0, 1, 3), a_life("c", 2))
    assert account.at(at(5)).pace == AccountGrowth(1, 1)


def test_two_accounts_that_are_one_add_up() -> None:
    first, second = an_account(a_life("a", 0, 1)), an_account(a_life("b", 0, 2, 3))
    second.settle(at(100))
    first.absorb(second)
    assert sums(first, 10) == (10, 3, 0)


def test_unmeasured_bindings_are_reported_as_about() -> None:
    life = a_life(created=0, bound=2)
    life.started = at(3)
    account = an_account(life)
    reading = account.at(at(10))
    assert (reading.running / S, reading.binding / S, reading.about) == (8, 1, True)
    assert not an_account(a_life(created=0, binding=1, bound=2)).at(at(10)).about


@st.composite
def lives(draw: st.DrawFn) -> list[Incarnation]:
    made = []
    for number in range(draw(st.integers(1, 6))):
        created = draw(st.integers(0, 100))
        moments = sorted(draw(st.lists(st.integers(created, 200), min_size=3, max_size=3)))
        state = draw(st.sampled_from(["waits", "runs", "measured", "ended", "gave up"]))
        bound = moments[1] if state in ("runs", "measured", "ended") else None
        ended = moments[2] if state in ("ended", "gave up") else None
        binding = moments[0] if state == "measured" else None
        made.append(a_life(f"p{number}", created, bound, ended, binding))
    return made


@few
@given(lives(), st.integers(200, 400))
def test_time_is_conserved(pods: list[Incarnation], second: int) -> None:
    """Running, waiting and binding of each pod are all of its life."""
    life_s = sum((min(p.ended or at(second), at(second)) - p.created) / S for p in pods)
    assert sum(sums(an_account(*pods), second)) == pytest.approx(life_s, abs=1e-6)


@few
@given(lives(), st.integers(200, 400), st.lists(st.integers(200, 400), max_size=3))
def test_settling_changes_no_reading(
    pods: list[Incarnation], second: int, moments: list[int]
) -> None:
    for kind in ("Deployment", "VirtualMachine"):
        account, settled = (an_account(*map(copy, pods), kind=kind) for _ in range(2))
        for each in sorted(moments):
            settled.settle(at(each))
        assert sums(settled, max([second, *moments])) == sums(account, max([second, *moments]))


@few
@given(lives(), st.integers(200, 400), st.integers(0, 500))
def test_what_is_written_down_is_read_back(
    pods: list[Incarnation], second: int, settle: int
) -> None:
    for kind in ("Deployment", "VirtualMachine"):
        account = an_account(*map(copy, pods), kind=kind)
        account.settle(at(settle))
        stored = msgspec.json.encode(written_down(account, at(second), "7"))
        ledger = msgspec.json.decode(stored, type=LedgerStatus)
        again = read_back(account.owner, ledger)
        assert sums(again, second + 50) == sums(account, second + 50)
        assert again.incarnations == account.incarnations


@few
@given(lives(), st.integers(200, 260))
def test_a_rebuilt_account_equals_the_live_one_within_a_second_per_transition(
    pods: list[Incarnation], second: int
) -> None:
    """Live the moments are known exactly, afterwards only their second."""

    def jitter(moment: int, n: int) -> int:
        return moment + (n * 137_000_000) % S

    live = an_account(*(shifted(pod, jitter) for pod in map(copy, pods)))
    rebuilt = an_account(*(shifted(pod, lambda m, _: m // S * S) for pod in map(copy, pods)))
    transitions = 3 * len(pods)
    for one, other in zip(sums(live, second), sums(rebuilt, second), strict=True):
        assert abs(one - other) <= transitions


@few
@given(lives(), st.integers(200, 400))
def test_with_a_very_long_half_life_nothing_fades(pods: list[Incarnation], second: int) -> None:
    account = an_account(*pods, half_life_s=10**9)
    reading = account.at(at(second))
    assert reading.credited == pytest.approx(reading.running, rel=1e-5, abs=S / 100)
    assert reading.charged == pytest.approx(reading.waiting, rel=1e-5, abs=S / 100)


@few
@given(lives(), st.integers(200, 400), st.integers(0, 500))
def test_settling_fades_as_living_does(pods: list[Incarnation], second: int, settle: int) -> None:
    account, settled = (an_account(*map(copy, pods), half_life_s=60) for _ in range(2))
    settled.settle(at(settle))
    now = at(max(second, settle))
    one, other = account.at(now), settled.at(now)
    assert one.credited == pytest.approx(other.credited, abs=1000)
    assert one.charged == pytest.approx(other.charged, abs=1000)


def test_with_another_half_life_a_checkpoint_keeps_its_share() -> None:
    account = an_account(a_life(created=0, bound=100, ended=1000))
    account.settle(at(2000))
    again = read_back(an_owner(), written_down(account, at(2000), "7"), Counting(60 * S))
    reading = again.at(at(2000))
    assert reading.credited / (reading.credited + reading.charged) == pytest.approx(0.9)
    assert reading.credited < reading.running


BY_READY = Counting(by_ready=True)


def a_ready_life(ready: float | None, unready: float | None = None) -> Incarnation:
    """As a pod object tells it: when it became ready, or that it is not any more."""
    life = a_life("a", 0, 2)
    turns = [ready] if unready is None else [unready, unready]
    life.turns = [at(each) for each in turns if each is not None]
    return life


def test_where_only_ready_time_counts_the_rest_is_charged() -> None:
    account = Account(an_owner(), BY_READY)
    account.observe(a_ready_life(None))
    assert sums(account, 5) == (0, 5, 0)
    assert account.at(at(5)).pace == AccountGrowth(0, 1)
    account.observe(a_ready_life(6))
    assert sums(account, 10) == (4, 6, 0)
    account.observe(a_ready_life(6, 12))
    account.observe(a_ready_life(15))
    reading = account.at(at(20))
    assert sums(account, 20) == (6 + 5, 6 + 3, 0)
    assert (reading.unready, reading.credited, reading.charged) == (7 * S, 11 * S, 9 * S)
    account.observe(msgspec.structs.replace(a_ready_life(15), ended=at(21)))
    account.settle(at(100))
    assert sums(account, 100) == (6 + 6, 6 + 3, 0)


def test_readiness_is_nothing_to_accounts_that_count_from_the_binding() -> None:
    account = an_account(a_ready_life(6, 12))
    assert sums(account, 20) == (18, 2, 0)
    assert account.pods["a"].turns == []


def test_a_pod_that_was_not_ready_while_nobody_looked_has_a_gap() -> None:
    account = Account(an_owner(), BY_READY)
    account.observe(a_ready_life(6))
    account.known_until = at(10)
    account.observe(a_ready_life(30))
    assert sums(account, 40) == (4 + 10, 6 + 20, 0)
    assert account.gap == 20 * S


def test_a_pod_that_is_never_long_ready_takes_no_room() -> None:
    account = Account(an_owner(), BY_READY)
    for second in range(3, 1000, 2):
        account.observe(a_ready_life(second))
        account.observe(a_ready_life(second, second + 1))
    assert len(account.pods["a"].turns) <= MOST_TURNS


def test_a_charged_binding_counts_as_waiting() -> None:
    account = Account(an_owner(), Counting(charge_binding=True))
    account.observe(a_life("a", 0, bound=4, binding=3))
    reading = account.at(at(10))
    assert sums(account, 10) == (6, 3, 1)
    assert (reading.credited, reading.charged) == (6 * S, 4 * S)


def test_a_charged_binding_that_nobody_measured_ends_when_the_kubelet_takes_the_pod() -> None:
    account = Account(an_owner(), Counting(charge_binding=True))
    account.observe(a_life("a", 0, 3))
    assert account.at(at(5)).pace == AccountGrowth(0, 1)
    account.observe(msgspec.structs.replace(a_life("a", 0, 3), started=at(7)))
    reading = account.at(at(10))
    assert sums(account, 10) == (3, 3, 4)
    assert (reading.charged, reading.about) == (7 * S, True)


@few
@given(lives(), st.integers(200, 400), st.integers(0, 500), st.booleans(), st.booleans())
def test_settling_changes_nothing_however_time_is_counted(
    pods: list[Incarnation], second: int, settle: int, charge: bool, ready: bool
) -> None:
    for kind in ("Deployment", "VirtualMachine"):
        one, other = (Account(an_owner(kind=kind), Counting(0, charge, ready)) for _ in range(2))
        for account in (one, other):
            for pod in map(copy, pods):
                account.observe(pod)
        other.settle(at(settle))
        now = at(max(second, settle))
        assert one.at(now) == other.at(now)


def copy(pod: Incarnation) -> Incarnation:
    return msgspec.structs.replace(pod)


def shifted(pod: Incarnation, by: Callable[[int, int], int]) -> Incarnation:
    for number, name in enumerate(("created", "bind_start", "bound", "ended")):
        moment = getattr(pod, name)
        if moment is not None:
            setattr(pod, name, by(moment, number))
    return pod
