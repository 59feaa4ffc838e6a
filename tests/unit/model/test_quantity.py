"""Quantities mean what the API server says they mean.

The table was made by Kubernetes' own ParseQuantity, Value and MilliValue (v1.36).
"""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.examples import examples
from trimtab.errors import ConfigError
from trimtab.model.quantity import NANO, Quantity, cores, gib, parse_quantity


@pytest.mark.parametrize(
    ("text", "nano", "value", "milli"),
    [
        pytest.param("0", 0, 0, 0, id="zero"),
        pytest.param("500m", 500_000_000, 1, 500, id="milli, rounded up to a whole"),
        pytest.param(".5", 500_000_000, 1, 500, id="no digit before the point"),
        pytest.param("5.", 5 * NANO, 5, 5000, id="no digit after the point"),
        pytest.param("+1", NANO, 1, 1000, id="a plus"),
        pytest.param("010", 10 * NANO, 10, 10_000, id="a leading zero is decimal"),
        pytest.param("1n", 1, 1, 1, id="nano"),
        pytest.param("0.1n", 1, 1, 1, id="finer than nano is rounded up"),
        pytest.param("1.0000000001", NANO + 1, 2, 1001, id="also beside a whole"),
        pytest.param("1u", 1000, 1, 1, id="micro"),
        pytest.param("1k", 1000 * NANO, 1000, 1_000_000, id="kilo is lower-case"),
        pytest.param("1Ki", 1024 * NANO, 1024, 1_024_000, id="kibi is upper-case"),
        pytest.param("1.5Gi", 1610612736 * NANO, 1610612736, 1610612736000, id="a binary fraction"),
        pytest.param(
            "0.1Mi", 104857600 * 10**6, 104858, 104857600, id="less than a byte is a byte"
        ),
        pytest.param("0.00001Ki", 10_240_000, 1, 11, id="a fraction of a byte"),
        pytest.param("129e6", 129 * 10**15, 129_000_000, 129 * 10**9, id="an exponent"),
        pytest.param("1E3", 1000 * NANO, 1000, 1_000_000, id="E with digits is an exponent"),
        pytest.param("1E", 10**27, 10**18, 10**21, id="E alone is exa"),
        pytest.param("1e-3", 10**6, 1, 1, id="a negative exponent"),
        pytest.param("1e-10", 1, 1, 1, id="an exponent below nano"),
        pytest.param("8Ei", (2**63 - 1) * NANO, 2**63 - 1, None, id="binary stops at 2^63 - 1"),
        pytest.param("9223372036854775808", 2**63 * NANO, None, None, id="decimal does not"),
        pytest.param("-16Ei", -(2**63 - 1) * NANO, -(2**63 - 1), None, id="below zero, too"),
        pytest.param("-0.1n", -1, None, None, id="negative is rounded away from zero"),
        pytest.param("-1500m", -1500 * 10**6, -2, -1500, id="and so is its whole"),
    ],
)
def test_a_quantity_is_what_kubernetes_takes_it_for(
    text: str, nano: int, value: int | None, milli: int | None
) -> None:
    quantity = parse_quantity(text)
    assert quantity == Quantity(nano)
    # None: there Kubernetes' own 64 bits overflow, or its two code paths disagree
    assert value is None or quantity.value() == value
    assert milli is None or quantity.milli_value() == milli


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "1ki",
        "1K",
        "1e",
        "1mi",
        "1m1",
        "--1",
        " 1",
        "1 ",
        "1_000",
        "0x10",
        "١",
        "1e9999",
        "5 GB",
    ],
)
def test_what_is_not_a_quantity_is_refused_by_the_name_of_its_field(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^vms\[0\]\.cpu: .* is not a quantity; write it like"):
        parse_quantity(text, "vms[0].cpu")


@pytest.mark.parametrize("number", [True, float("nan"), float("inf")])
def test_a_number_that_is_none_is_refused(number: float) -> None:
    with pytest.raises(ConfigError, match="is not a quantity"):
        parse_quantity(number)


@pytest.mark.parametrize(
    ("number", "text"), [(2, "2"), (0.1, "100m"), (1e22, "10000E"), (1e-7, "100n"), (32.0, "32")]
)
def test_numbers_are_read_as_they_are_written(number: float, text: str) -> None:
    assert parse_quantity(number) == parse_quantity(text)


@settings(deadline=None, max_examples=examples(30))
@given(st.integers(-(10**40), 10**40))
def test_text_reads_back_as_the_same_quantity(nano: int) -> None:
    assert parse_quantity(str(Quantity(nano))) == Quantity(nano)


@pytest.mark.parametrize(
    ("quantity", "text"),
    [
        (cores(32), "32"),
        (cores(0.1), "100m"),
        (gib(128), "128Gi"),
        (gib(1.5), "1536Mi"),
        (cores(-2), "-2"),
        (Quantity(10**27), "1E"),
        (Quantity(2**64 * NANO), "18446744073709551616"),
        (Quantity(1), "1n"),
        (Quantity(0), "0"),
    ],
)
def test_text_is_short(quantity: Quantity, text: str) -> None:
    assert str(quantity) == text


@settings(deadline=None, max_examples=examples(30))
@given(st.integers(-(10**25), 10**25), st.integers(-(10**25), 10**25))
def test_order_and_sums_are_those_of_the_numbers(a: int, b: int) -> None:
    assert (Quantity(a) < Quantity(b)) == (a < b)
    assert Quantity(a) + Quantity(b) - Quantity(b) == Quantity(a)


@settings(deadline=None, max_examples=examples(30))
@given(st.integers(0, 10**25))
def test_values_are_never_below_the_quantity(nano: int) -> None:
    quantity = Quantity(nano)
    assert 0 <= quantity.value() * NANO - nano < NANO
    assert 0 <= quantity.milli_value() * 10**6 - nano < 10**6


def test_times_is_exact_to_the_nano() -> None:
    assert cores(2).times(0.65) == parse_quantity("1300m")
    assert gib(128).times(Fraction(1, 10)) == parse_quantity("13743895347.2")
