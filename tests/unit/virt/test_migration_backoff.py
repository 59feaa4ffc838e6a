"""When an attempt has failed, and when the next one may begin."""

import pytest

from trimtab.virt.migration_backoff import GIB, backoff_s, completion_limit_s


@pytest.mark.parametrize(
    ("failures", "seconds"),
    [(0, 0), (1, 20), (2, 40), (3, 80), (4, 160), (5, 320), (6, 320), (1000, 320)],
)
def test_the_wait_doubles_until_the_fifth_failure(failures: int, seconds: int) -> None:
    assert backoff_s(failures) == seconds


def test_another_first_wait_has_a_longest_one_of_sixteen_times_itself() -> None:
    assert [backoff_s(failures, 1.0) for failures in (1, 3, 5, 50)] == [1.0, 4.0, 16.0, 16.0]


def test_a_copy_may_take_150_seconds_for_each_gib_of_memory() -> None:
    assert completion_limit_s(8 * GIB) == 1200.0
    assert completion_limit_s(8 * GIB, s_per_gib=30.0) == 240.0
