"""Whole cycles worked out by hand, each the case in which a plausible shortcut goes wrong."""

import pytest

from builders.worlds.policy import a_node, a_policy, a_view
from trimtab.policy.cycle import VisitEnd
from trimtab.policy.decision import decide
from trimtab.policy.file.settings import METRIC_RESOURCE

Expected = tuple[float, float, float]


@pytest.mark.parametrize(
    ("percents", "spans", "levels", "classes", "cap_room", "ends"),
    [
        pytest.param(
            [28, 18, 18, 18, 8],
            (10, 10),
            (18, 8, 28),
            "O---U",
            20,
            VisitEnd.NOT_ABOVE_CAP,
            id="over by a bit of rounding, yet not above its integer cap",
        ),
        pytest.param(
            [30, 20, 20, 20, 10],
            (10, 10),
            (20, 10, 30),
            "----U",
            None,
            "1.5.4",
            id="at the threshold is not over",
        ),
        pytest.param(
            [95, 97, 99, 92],
            (0, 10),
            (95.75, 95.75, 100),
            "U--U",
            None,
            "1.5.4",
            id="a busy cluster clamps high to 100 and nothing is over",
        ),
        pytest.param(
            [10, 10, 10, 11],
            (0, 0),
            (10.25, 10.25, 10.25),
            "UUUO",
            0,
            VisitEnd.NO_HEADROOM,
            id="the truncated cap leaves no headroom",
        ),
    ],
)
def test_a_cycle(
    percents: list[float],
    spans: tuple[float, float],
    levels: Expected,
    classes: str,
    cap_room: int | None,
    ends: VisitEnd | str,
) -> None:
    (run,) = decide(a_view(percents), a_policy(*spans)).runs
    figures = run.figures
    assert figures is not None
    assert figures.average is not None
    found = tuple(
        figures_of[METRIC_RESOURCE] for figures_of in (figures.average, figures.low, figures.high)
    )
    assert found == levels
    assert "".join("U-O"[c + 1] for c in figures.classes.tolist()) == classes
    assert not list(run.evictions)
    if isinstance(ends, str):
        assert run.exit is not None
        assert run.exit.rule == ends
    else:
        assert run.headroom == {METRIC_RESOURCE: cap_room}
        assert [visit.stop for visit in run.visits] == [ends]


def test_scores_below_one_percent_all_look_idle() -> None:
    """P5: .009 and .001 are the same to the descheduler."""
    values = [0.001, 0.002, 0.009, 0.129]
    view = a_view(
        nodes=[a_node(f"n{at}") for at in range(4)],
        samples=[(f"n{at}", value) for at, value in enumerate(values)],
    )
    (run,) = decide(view, a_policy(0, 10)).runs
    assert run.figures is not None
    assert run.figures.usage[METRIC_RESOURCE].tolist() == [0, 0, 0, 12]
    assert run.figures.low == {METRIC_RESOURCE: 3.0}
    assert run.figures.high == {METRIC_RESOURCE: 13.0}
    assert run.figures.classes.tolist() == [-1, -1, -1, 0]
    assert run.exit is not None
    assert run.exit.rule == "1.5.4"
