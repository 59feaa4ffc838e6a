"""Durations as people write them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.examples import examples
from trimtab.errors import ConfigError
from trimtab.model.duration import format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (90, 90.0),
        (0.5, 0.5),
        ("90", 90.0),
        ("90s", 90.0),
        ("10m", 600.0),
        ("1h30m", 5400.0),
        ("2d", 172_800.0),
        ("1.5h", 5400.0),
        ("250ms", 0.25),
        ("1m30s500ms", 90.5),
        ("0s", 0.0),
    ],
)
def test_durations_are_seconds(text: str | float, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "m", "1x", "1h 30m", "1h30", "-5m", "1e3", "٣s", True])
def test_other_text_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^events\[1\]\.at: .* write it like 90s, 10m or 1h30m"):
        parse_duration(text, "events[1].at")


@pytest.mark.parametrize("number", [-1, float("nan"), float("inf")])
def test_numbers_must_be_times(number: float) -> None:
    with pytest.raises(ConfigError, match=r"must be within 0\.\."):
        parse_duration(number)


@settings(deadline=None, max_examples=examples(30))
@given(st.integers(0, 10**12))
def test_text_reads_back_to_the_millisecond(milliseconds: int) -> None:
    assert parse_duration(format_duration(milliseconds / 1000)) == pytest.approx(
        milliseconds / 1000, rel=1e-12
    )


def test_text_is_short() -> None:
    assert [format_duration(s) for s in (0, 45, 5400, 86_400.25, -90)] == [
        "0s",
        "45s",
        "1h30m",
        "1d250ms",
        "-1m30s",
    ]
