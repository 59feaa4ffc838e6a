"""The API server's clock: bounds that narrow, and a correction only where it is certain."""

from hypothesis import given
from hypothesis import strategies as st

from builders.values.qos import few
from trimtab.qos.ledger.time_to_violation import SECOND
from trimtab.qos.service.bindings import ServerTime, Skew


def sample(skew: Skew, true: int, sent: int, took: int) -> None:
    server = sent + took // 2 + true
    skew.learn(sent, sent + took, server // SECOND * SECOND)


@few
@given(
    st.integers(-(10**11), 10**11),
    st.lists(
        st.tuples(st.integers(10**18, 2 * 10**18), st.integers(0, SECOND // 10)),
        min_size=1,
        max_size=20,
    ),
)
def test_the_true_difference_lies_within_the_bounds(
    true: int, samples: list[tuple[int, int]]
) -> None:
    skew = Skew()
    for sent, took in samples:
        sample(skew, true, sent, took)
        assert skew.least <= true <= skew.most
    assert abs(skew.offset - true) <= SECOND + SECOND // 10


def test_many_answers_tell_it_to_a_few_milliseconds() -> None:
    skew, true = Skew(), 5 * SECOND
    for step in range(100):
        sample(skew, true, 10**18 + step * 1_010_000_000, 2_000_000)
    assert abs(skew.offset - true) < 20_000_000


def test_a_difference_that_may_be_none_is_not_corrected() -> None:
    skew = Skew()
    sample(skew, 300_000_000, 10**18 + 500_000_000, 1000)
    assert skew.offset == 0


def test_a_clock_that_is_set_begins_anew() -> None:
    skew = Skew()
    sample(skew, 0, 10**18, 1000)
    sample(skew, 3600 * SECOND, 10**18 + SECOND, 1000)
    assert abs(skew.offset - 3600 * SECOND) <= SECOND


def test_an_answer_that_took_ages_says_nothing() -> None:
    skew = Skew()
    skew.learn(0, 60 * SECOND, 10**18)
    assert skew.samples == 0


class Clocks:
    """This computer's clock, and one that nobody sets."""

    def __init__(self) -> None:
        self.wall, self.steady = 10**18, 0
        self.time = ServerTime(lambda: self.wall, lambda: self.steady)

    def pass_s(self, seconds: float, *, step_s: float = 0) -> int:
        self.steady += round(seconds * SECOND)
        self.wall += round((seconds + step_s) * SECOND)
        return self.time()


def test_a_clock_that_is_set_forward_and_corrected_does_not_stop_time() -> None:
    clocks = Clocks()
    assert clocks.pass_s(1, step_s=3600) == 10**18 + SECOND
    assert clocks.pass_s(1, step_s=-3600) == 10**18 + 2 * SECOND
    assert clocks.pass_s(5) == 10**18 + 7 * SECOND


def test_a_time_of_this_computers_clock_is_told_apart_from_our_own() -> None:
    """The scheduler beside us says its times by the clock that was set."""
    clocks = Clocks()
    now = clocks.pass_s(1, step_s=60)
    assert clocks.wall + clocks.time.of_wall() == now


def test_a_small_correction_never_makes_time_go_back() -> None:
    clocks = Clocks()
    clocks.time.skew = Skew(2 * SECOND, 2 * SECOND, 1)
    ahead = clocks.pass_s(1)
    clocks.time.skew = Skew(SECOND, SECOND, 1)
    assert clocks.pass_s(0.5) == ahead
    assert clocks.pass_s(1) == ahead + SECOND // 2


def test_a_server_whose_clock_was_set_back_is_followed() -> None:
    clocks = Clocks()
    clocks.time.skew = Skew(3600 * SECOND, 3600 * SECOND, 1)
    clocks.pass_s(1)
    clocks.time.skew = Skew(0, 0, 1)
    assert clocks.pass_s(1) == 10**18 + 2 * SECOND
