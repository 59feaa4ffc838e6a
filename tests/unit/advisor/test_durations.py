"""How long a plan may wait for its pools: as Go writes durations, and within reason."""

import pytest

from trimtab.advisor.plan.durations import problem, seconds
from trimtab.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", None), ("90s", 90.0), ("1h30m", 5400.0), ("1.5h", 5400.0), ("250ms", 0.25)],
)
def test_a_duration_is_read_as_go_writes_it(text: str, expected: float | None) -> None:
    assert problem(text) is None
    assert seconds(text) == expected


@pytest.mark.parametrize("text", ["90", "2d", "-5s", "1h ", "soon", "99999999999h"])
def test_what_the_definition_refuses_or_nobody_lives_to_see_is_a_problem(text: str) -> None:
    assert problem(text) is not None
    with pytest.raises(ConfigError):
        seconds(text)
