"""How long a pre-copy takes: t = memory / (share of the bandwidth - dirty rate)."""

from math import inf

import pytest

from trimtab.virt.precopy import Copy, share_network

GBPS = 1e9


def a_copy(source: int, target: int, *, left: float = 8e9, dirty: float = 0.0) -> Copy:
    return Copy(source, target, left, dirty, deadline_s=1200.0, begun_s=0.0, since_s=0.0)


@pytest.mark.parametrize(
    ("dirty", "expected"),
    [
        pytest.param(0.0, 8.0, id="an idle VM: memory over bandwidth"),
        pytest.param(0.5e9, 16.0, id="half of the bandwidth goes to dirtied pages"),
        pytest.param(0.875e9, 64.0, id="hardly converging"),
    ],
)
def test_a_single_copy_takes_memory_over_what_the_dirty_rate_leaves(
    dirty: float, expected: float
) -> None:
    copy = a_copy(0, 1, dirty=dirty)
    share_network([copy], GBPS, 0.0)
    assert copy.finishes_s == expected
    copy.progress(copy.finishes_s)
    assert copy.left == 0.0
    assert copy.sent == pytest.approx(expected * GBPS)


def test_copies_share_the_cards_of_their_source_and_of_their_target() -> None:
    fan_out = [a_copy(0, 1), a_copy(0, 2)]
    fan_in = [a_copy(3, 4), a_copy(5, 4), a_copy(6, 4)]
    alone = a_copy(1, 0)  # sending and receiving do not disturb each other
    share_network([*fan_out, *fan_in, alone], GBPS, 0.0)
    assert [copy.share for copy in fan_out] == [GBPS / 2] * 2
    assert [copy.share for copy in fan_in] == [GBPS / 3] * 3
    assert alone.share == GBPS


def test_a_copy_speeds_up_when_another_one_ends() -> None:
    first, second = a_copy(0, 1), a_copy(0, 2, left=2e9)
    share_network([first, second], GBPS, 0.0)
    assert second.finishes_s == 4.0
    share_network([first], GBPS, 4.0)
    assert first.left == 6e9
    assert first.finishes_s == 10.0


def test_a_copy_that_dirties_faster_than_it_sends_is_given_up_without_progress() -> None:
    copy = a_copy(0, 1, dirty=1.5e9)
    share_network([copy], GBPS, 10.0)
    assert copy.finishes_s == inf
    assert copy.ends_s == 160.0
    assert not copy.is_in_time


def test_progress_ends_the_wait_for_progress() -> None:
    stuck, other = a_copy(0, 1, dirty=0.6e9), a_copy(0, 2)
    share_network([stuck, other], GBPS, 0.0)
    assert stuck.ends_s == 150.0
    share_network([stuck], GBPS, 100.0)
    assert stuck.finishes_s == pytest.approx(120.0)
    assert stuck.is_in_time


def test_a_copy_that_takes_longer_than_its_memory_allows_is_given_up() -> None:
    copy = Copy(0, 1, 8e9, 0.0, deadline_s=5.0, begun_s=0.0, since_s=0.0)
    share_network([copy], GBPS, 0.0)
    assert copy.ends_s == 5.0
    assert not copy.is_in_time
