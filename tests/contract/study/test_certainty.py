"""A setting is called better only if neither luck nor the weights of the cost explain it."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from trimtab.study.recorded.answer import choose
from trimtab.study.recorded.certainty import Measured, Versus, beside_mine, luck_in
from trimtab.study.results.statistics import jointly_better_p_values

Floats = NDArray[np.float64]
SETTINGS, CASES = 12, 200


def measured(level: Floats, moves: Floats | None = None) -> Measured:
    nothing = np.zeros_like(level)
    return Measured(level, nothing, nothing if moves is None else moves)


def normal(rng: np.random.Generator, runs: int, days: int) -> Floats:
    return rng.normal(5, 1, (SETTINGS, runs, days))


def lucky_days(rng: np.random.Generator, runs: int, days: int) -> Floats:
    """Each setting has its better and worse days, the same in all runs."""
    return rng.normal(5, 1, (SETTINGS, 1, days)) + rng.normal(0, 0.01, (SETTINGS, runs, days))


def lucky_runs(rng: np.random.Generator, runs: int, days: int) -> Floats:
    """What happens early in a run stays to its end."""
    return rng.normal(5, 1, (SETTINGS, runs, 1)) + rng.normal(0, 0.01, (SETTINGS, runs, days))


def heavy_tails(rng: np.random.Generator, runs: int, days: int) -> Floats:
    return 5 + rng.standard_t(2, (SETTINGS, runs, days))


def some_worse(rng: np.random.Generator, runs: int, days: int) -> Floats:
    """Half of them are much worse than the policy in use; none is better."""
    level = normal(rng, runs, days)
    level[SETTINGS // 2 :] += 3
    return level


def same_days(rng: np.random.Generator, runs: int, days: int) -> Floats:
    """Busy days are busy for all settings, and settings resemble each other."""
    shared = rng.normal(0, 3, (1, 1, days)) + rng.normal(0, 1, (1, runs, days))
    return 5 + shared + rng.normal(0, 0.3, (SETTINGS, runs, days))


HISTORIES = [normal, lucky_days, lucky_runs, heavy_tails, some_worse, same_days]


def concluded(level: Floats, moves: Floats | None = None) -> tuple[Versus, ...]:
    names = ["my policy", *(f"setting {at}" for at in range(1, len(level)))]
    return beside_mine(names, measured(level, moves), 0)


def sureness_of(beside: tuple[Versus, ...]) -> str:
    return choose(beside, [versus.name for versus in beside])[1]


def surely_better_in(cases: int, history: Callable[[], Floats]) -> int:
    """In how many cases any setting at all is called better, on any grounds."""
    found = 0
    for _ in range(cases):
        luck = luck_in(measured(history()), 0)
        found += any(luck.sureness(at) != "none" for at in range(SETTINGS - 1))
    return found


@pytest.mark.parametrize(
    ("history", "runs", "days"),
    [*((history, 8, 7) for history in HISTORIES), (normal, 7, 12)],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_where_no_setting_is_better_none_is_called_so_in_19_of_20_cases(
    history: Callable[[np.random.Generator, int, int], Floats], runs: int, days: int
) -> None:
    rng = np.random.default_rng([runs, days])
    assert surely_better_in(CASES, lambda: history(rng, runs, days)) <= 0.05 * CASES


@pytest.mark.parametrize("days", [1, 6])
def test_a_short_recording_never_says_more_than_that_of_its_own_time(days: int) -> None:
    rng = np.random.default_rng(days)
    level = normal(rng, 8, days)
    level[3] -= 4
    assert sureness_of(concluded(level)) == "runs"
    assert surely_better_in(CASES, lambda: normal(rng, 8, days)) <= 0.05 * CASES


def test_a_setting_that_is_better_on_all_days_is_found() -> None:
    rng = np.random.default_rng(3)
    found = []
    for _ in range(20):
        level = same_days(rng, 8, 7)
        level[4] -= 2
        found.append(choose(concluded(level), [f"setting {at}" for at in range(1, SETTINGS)]))
    assert found.count(("setting 4", "days")) >= 19


def test_a_gain_that_a_dearer_migration_eats_up_is_not_sure() -> None:
    rng = np.random.default_rng(4)
    level = 5 + rng.normal(0, 0.1, (2, 8, 7))
    moves = np.zeros((2, 8, 7))
    level[1] -= 1.0
    moves[1] += 0.5
    (cheap,) = concluded(level, moves / 5)
    assert cheap.sureness == "days"
    assert cheap.break_even == pytest.approx(10, rel=0.1)
    (dear,) = concluded(level, moves)  # costs half of what it gains, but all at three times
    assert dear.difference[2] < 0
    assert dear.sureness == "none"


def test_with_few_runs_or_one_nothing_is_sure() -> None:
    level = np.full((3, 1, 7), 5.0)
    level[1] -= 3
    assert sureness_of(concluded(level)) == "none"
    assert sureness_of(concluded(np.repeat(level, 6, axis=1))) == "none"


def test_settings_that_do_the_same_as_the_policy_are_not_better() -> None:
    beside = concluded(np.full((4, 8, 7), 5.0))
    assert {versus.runs_p for versus in beside} == {1.0}
    assert sureness_of(beside) == "none"


def test_who_is_tried_beside_many_needs_more_than_who_is_tried_alone() -> None:
    rng = np.random.default_rng(5)
    alone = rng.normal(-0.8, 1, (1, 8))
    crowd = np.concatenate([alone, rng.normal(0, 1, (20, 8))])
    assert jointly_better_p_values(crowd)[0] > 2 * jointly_better_p_values(alone)[0]


def test_the_smallest_p_value_is_that_of_all_signs_alike() -> None:
    assert jointly_better_p_values(np.full((1, 6), -1.0))[0] == pytest.approx(1 / 64)
    assert jointly_better_p_values(np.array([[-1.0] * 6, [1.0] * 6]))[0] == pytest.approx(2 / 64)
    many = jointly_better_p_values(np.full((1, 30), -1.0))[0]
    assert 0 < many < 0.001
