"""When a dead component is started again."""

import pytest

from trimtab.lab.components.component import Restart
from trimtab.lab.supervisor.probes import Again, GiveUp, after_death

RULE = Restart(first_s=0.2, longest_s=1.0, quick_s=5.0, give_up_after=6)


@pytest.mark.parametrize(
    ("quick_deaths", "lived_s", "verdict"),
    [
        pytest.param(0, 60.0, Again(0.2, 0), id="after a long life at once"),
        pytest.param(0, 1.0, Again(0.2, 1), id="the first quick death is counted"),
        pytest.param(1, 1.0, Again(0.4, 2), id="the second doubles the wait"),
        pytest.param(3, 1.0, Again(1.0, 4), id="the wait has a limit"),
        pytest.param(5, 1.0, GiveUp(6), id="the sixth in a row is the last"),
        pytest.param(5, 5.0, Again(0.2, 0), id="a long life forgives five of them"),
    ],
)
def test_quick_deaths_are_counted(
    quick_deaths: int, lived_s: float, verdict: Again | GiveUp
) -> None:
    assert after_death(RULE, quick_deaths, lived_s) == verdict
