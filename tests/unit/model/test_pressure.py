"""The pressure curve: continuous, never falling, within [0, 1]."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.examples import examples
from trimtab.errors import ConfigError
from trimtab.model.load.pressure import pressure
from trimtab.model.load.pressure_curve import PressureCurve


@st.composite
def pressure_curves(draw: st.DrawFn) -> PressureCurve:
    knee, high = sorted(draw(st.sets(st.floats(0.05, 0.95), min_size=2, max_size=2)))
    low, middle, full = sorted(draw(st.tuples(*[st.floats(0, 1)] * 3)))
    return PressureCurve((knee, low), (high, middle), full, draw(st.floats(0, 3)))


@pytest.mark.parametrize(
    ("utilisation", "expected"),
    [
        (-0.5, 0.0),
        (0.0, 0.0),
        (0.35, 0.025),
        (0.70, 0.05),
        (0.80, 0.125),
        (0.90, 0.20),
        (0.95, 0.35),
        (1.00, 0.80),
        (1.20, 0.90),
        (1.40, 1.00),
        (5.00, 1.00),
    ],
)
def test_pressure_follows_the_documented_curve(utilisation: float, expected: float) -> None:
    assert pressure(np.array([utilisation]))[0] == pytest.approx(expected)


@settings(deadline=None, max_examples=examples(30))
@given(pressure_curves())
def test_pressure_is_within_0_and_1_and_never_falls(curve: PressureCurve) -> None:
    values = pressure(np.linspace(-0.1, 4, 1000), curve)
    assert values.min() >= 0
    assert values.max() <= 1
    assert (np.diff(values) >= -1e-12).all()


@given(pressure_curves(), st.lists(st.floats(-0.5, 1.5), min_size=1))
def test_pressure_is_straight_from_0_to_the_knee_and_on_to_the_high_mark(
    curve: PressureCurve, used: list[float]
) -> None:
    """However many of the nodes are above the knee."""
    (knee, low), (high, middle) = curve.knee, curve.high
    calm = np.array([min(each, high) for each in used] + [knee])
    line = np.interp(calm, [0.0, knee, high], [0.0, low, middle])
    np.testing.assert_allclose(pressure(calm, curve), line, rtol=1e-12, atol=1e-15)


@settings(deadline=None, max_examples=examples(30))
@given(pressure_curves(), st.floats(0, 2))
def test_pressure_is_continuous(curve: PressureCurve, at: float) -> None:
    corners = [curve.knee[0], curve.high[0], 1.0, at]
    step = 1e-9
    around = pressure(np.array([[x - step, x + step] for x in corners]), curve)
    assert np.abs(around[:, 1] - around[:, 0]).max() < 1e-5


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"knee": (0.9, 0.1), "high": (0.8, 0.2)}, "must rise"),
        ({"knee": (0.7, 0.3), "high": (0.9, 0.2)}, "must rise"),
        ({"full_pressure": 0.1}, "must rise"),
        ({"full_pressure": 1.1}, "within 0..1"),
        ({"high": (1.0, 0.2)}, "within 0..1"),
        ({"overload_slope": -0.1}, "overloadSlope"),
        ({"overload_slope": float("nan")}, "overloadSlope"),
    ],
)
def test_a_curve_that_falls_is_refused(arguments: dict[str, float], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        PressureCurve(**arguments)  # type: ignore[arg-type]
