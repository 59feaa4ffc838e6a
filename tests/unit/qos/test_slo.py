"""Promises: how they are spelled, and who is asked first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.values.qos import few
from trimtab.errors import ConfigError
from trimtab.qos.promise import (
    ANNOTATION,
    Declarations,
    PromiseTerms,
    nearest_promise,
    parse_slo,
    read_slo,
)

TERMS = PromiseTerms(0.80, {"gold": 0.999})
GOOD = {
    "0": 0.0,
    "1": 1.0,
    "1.0": 1.0,
    "0.95": 0.95,
    ".5": 0.5,
    "95%": 0.95,
    "99.9%": 0.999,
    "100%": 1.0,
    "0%": 0.0,
}
BAD = [
    "", " ", "1.1", "-0.1", "2", "NaN", "inf", "1e-3", "0,95", "95 %", "101%", "0.95 ", "0.9\n",
    "٠.٥", "high", "0.", "1.",
]  # fmt: skip


@pytest.mark.parametrize(("text", "slo"), GOOD.items())
def test_an_slo_is_a_number_or_a_percentage(text: str, slo: float) -> None:
    assert parse_slo(text) == pytest.approx(slo)


@pytest.mark.parametrize("text", BAD, ids=repr)
def test_anything_else_is_refused_by_name(text: str) -> None:
    assert read_slo(text) is None
    with pytest.raises(ConfigError, match=r"--default-slo: .* is not an SLO; write a number"):
        parse_slo(text, "--default-slo")


@few
@given(st.text(max_size=12))
def test_whatever_is_read_lies_between_0_and_1(text: str) -> None:
    slo = read_slo(text)
    assert slo is None or 0 <= slo <= 1


def declared(
    pod: str = "", owner: str = "", namespace: str = "", priority_class: str = ""
) -> Declarations:
    at_pod, at_owner, at_namespace = (
        {ANNOTATION: text} if text else {} for text in (pod, owner, namespace)
    )
    return Declarations(at_pod, at_owner, at_namespace, priority_class)


@pytest.mark.parametrize(
    ("declarations", "slo", "source", "name"),
    [
        (declared("0.5", "0.6", "0.7", "gold"), 0.5, "pod", "0.5"),
        (declared("", "0.6", "0.7", "gold"), 0.6, "owner", "0.6"),
        (declared("", "", "0.7", "gold"), 0.999, "class", "gold"),
        (declared("", "", "0.7", "unknown"), 0.7, "namespace", "0.7"),
        (declared(), 0.8, "default", "0.8"),
    ],
)
def test_the_nearest_declaration_counts(
    declarations: Declarations, slo: float, source: str, name: str
) -> None:
    promise, complaints = nearest_promise(declarations, TERMS)
    assert (promise.slo, promise.source, promise.class_name) == (slo, source, name)
    assert complaints == ()


def test_a_declaration_that_cannot_be_read_is_passed_over_but_not_in_silence() -> None:
    promise, complaints = nearest_promise(declared("lots", "0.6"), TERMS)
    assert promise.slo == 0.6
    assert complaints == (f'{ANNOTATION}: "lots" on the pod is not an SLO and is ignored',)


def test_bare_annotations_count_only_in_legacy_mode() -> None:
    bare = Declarations({"slo": "0.5"}, {}, {})
    assert nearest_promise(bare, TERMS)[0].slo == 0.8
    assert nearest_promise(bare, PromiseTerms(0.8, {}, legacy=True))[0].slo == 0.5
    both = Declarations({"slo": "0.5", ANNOTATION: "0.9"}, {}, {})
    assert nearest_promise(both, PromiseTerms(0.8, {}, legacy=True))[0].slo == 0.9
