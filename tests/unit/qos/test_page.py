"""The page, byte for byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.values.qos import a_view, few
from trimtab.qos.ledger.time_to_violation import SECOND, availability, time_to_violation
from trimtab.qos.page.slo_status import AccountView, by_ttv
from trimtab.qos.page.text import HEADER, duration, page, ratios, row

MS = SECOND // 1000
GOLDEN = """\
          CONTROLLER    QOS/SLO                   TTV               RUNNING               WAITING               BINDING
                      1.00/0.80                 31m1s                2h4m6s                    0s                    0s
            50_slo_1  0.44/0.50            -2m22.541s                 8m13s                10m36s                 591ms
            50_slo_2  0.48/0.50              -34.946s                 9m22s                 9m57s                 882ms
"""  # noqa: E501


def a_row(name: str, slo: float, running: int, waiting: int, binding: int) -> AccountView:
    """As the service makes it: from sums in nanoseconds."""
    qos, ttv = availability(running, waiting, slo), time_to_violation(running, waiting, slo)
    return a_view(
        name, qos=qos, slo=slo, ttv=ttv, running=running, waiting=waiting, binding=binding
    )


def test_the_three_rows_that_people_know() -> None:
    lines = [
        a_row("", 0.80, 7_446_100 * MS, 0, 0),
        a_row("50_slo_1", 0.50, 493_600 * MS, 636_141 * MS, 591 * MS),
        a_row("50_slo_2", 0.50, 562_200 * MS, 597_146 * MS, 882 * MS),
    ]
    assert page(lines) == GOLDEN


def test_the_second_row_rules_out_that_binding_is_charged() -> None:
    """Its displayed times allow R - W from -144 s to -142 s; charged, it would be -141.95 s."""
    running, waiting, binding = 493_600 * MS, 636_141 * MS, 591 * MS
    charged = time_to_violation(running, waiting + binding, 0.5)
    assert duration(charged) != "-2m22.541s"
    assert duration(time_to_violation(running, waiting, 0.5)) == "-2m22.541s"


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0s"),
        (591 * MS, "591ms"),
        (999_999_999, "999ms"),
        pytest.param(SECOND, "1s", id="one second is not above one second"),
        pytest.param(1_999 * MS, "1s", id="above it, whole seconds, cut"),
        (60 * SECOND, "1m0s"),
        (3600 * SECOND, "1h0m0s"),
        ((2 * 3600 + 4 * 60 + 6) * SECOND + 999, "2h4m6s"),
        (100 * 3600 * SECOND, "100h0m0s"),
        (-1, "0s"),
        (-5 * MS, "-5ms"),
        pytest.param(-1_999_999_999, "-1.999s", id="below zero to the millisecond, towards zero"),
        (-34_946 * MS, "-34.946s"),
        (-142_500 * MS, "-2m22.5s"),
        (-3_600_000 * MS, "-1h0m0s"),
        (None, "inf"),
    ],
)
def test_durations_are_written_as_go_writes_them(ns: int | None, text: str) -> None:
    assert duration(ns) == text


@pytest.mark.parametrize(
    ("qos", "slo", "text"),
    [
        (1.0, 0.80, "1.00/0.80"),
        (0.4369, 0.50, "0.44/0.50"),
        pytest.param(0.994, 0.95, "0.99/0.95", id="two decimals as ever"),
        pytest.param(0.9953, 0.999, "0.9953/0.999", id="a promise of 0.999 is not one of 1"),
        pytest.param(0.99996, 0.80, "0.9999/0.80", id="almost all is not all"),
        (1.0, 1.0, "1.00/1.00"),
        (0.0, 0.0, "0.00/0.00"),
        (0.5, 0.999999999, "0.50/0.999999999"),
    ],
)
def test_nothing_is_rounded_up_to_one(qos: float, slo: float, text: str) -> None:
    assert ratios(qos, slo) == text
    assert row(a_view(qos=qos, slo=slo, ttv=5 * SECOND))[22:53].split() == [text, "5s"]


def test_the_header_is_119_wide() -> None:
    assert len(HEADER) == 119


@few
@given(
    st.text("abc-", max_size=20),
    st.integers(0, 10_000).map(lambda share: share / 10_000),
    st.integers(-(10**16), 10**16),
    st.integers(0, 10**16),
)
def test_every_row_is_as_wide_as_the_header(name: str, slo: float, ttv: int, time: int) -> None:
    shown = a_view(name, qos=slo, slo=slo, ttv=ttv, running=time, waiting=time, binding=time)
    assert len(row(shown)) == len(HEADER)


def test_long_names_are_never_cut() -> None:
    name = "a-name-that-is-longer-than-twenty-characters"
    assert row(a_view(name)).startswith(name + "  ")


def test_a_binding_that_nobody_measured_is_marked() -> None:
    assert row(a_view(binding=7 * MS, approximate=True)).endswith("                ~7ms")


def test_sorted_by_ttv_the_most_urgent_is_first_and_never_is_last() -> None:
    lines = [a_view(name, ttv=ttv) for name, ttv in (("n", None), ("b", 5), ("a", -5))]
    assert [line.name for line in by_ttv(lines)] == ["a", "b", "n"]
