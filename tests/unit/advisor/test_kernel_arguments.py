"""Kernel arguments: of one key, the last occurrence counts."""

import pytest

from trimtab.advisor.plan.pools import added, is_effective, parse, removed


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        pytest.param("psi=1", ("psi", "1"), id="key and value"),
        pytest.param("quiet", ("quiet", None), id="a flag"),
        pytest.param("", ("", None), id="nothing"),
        pytest.param("root=UUID=ab=c", ("root", "UUID=ab=c"), id="only the first = separates"),
        pytest.param("psi=", ("psi", ""), id="an empty value"),
    ],
)
def test_an_argument_is_a_key_and_perhaps_a_value(
    argument: str, expected: tuple[str, str | None]
) -> None:
    assert parse(argument) == expected


@pytest.mark.parametrize(
    ("arguments", "wanted", "expected"),
    [
        pytest.param(["psi=1"], "psi=1", True, id="present"),
        pytest.param(["quiet"], "psi=1", False, id="absent"),
        pytest.param([], "psi=1", False, id="no arguments"),
        pytest.param(["psi=0", "psi=1"], "psi=1", True, id="the last one wins, ours"),
        pytest.param(["psi=1", "psi=0"], "psi=1", False, id="the last one wins, not ours"),
        pytest.param(["psi=1", "quiet", "psi=0", "x=1", "psi=1"], "psi=1", True, id="interleaved"),
        pytest.param(["psi=2"], "psi=1", False, id="another value"),
        pytest.param(["quiet", "ro"], "quiet", True, id="a flag"),
        pytest.param(["psimon=1"], "psi=1", False, id="a longer key is another key"),
    ],
)
def test_the_last_word_on_a_key_counts(arguments: list[str], wanted: str, expected: bool) -> None:
    assert is_effective(arguments, wanted) is expected


@pytest.mark.parametrize(
    ("arguments", "wanted", "expected"),
    [
        pytest.param([], "psi=1", ["psi=1"], id="to nothing"),
        pytest.param(["quiet"], "psi=1", ["quiet", "psi=1"], id="at the end"),
        pytest.param(["psi=1", "ro"], "psi=1", ["psi=1", "ro"], id="never twice"),
        pytest.param(["psi=0"], "psi=1", ["psi=0", "psi=1"], id="another value stays before it"),
        pytest.param(["ro"], "quiet", ["ro", "quiet"], id="a flag"),
    ],
)
def test_adding_appends_what_is_not_there(
    arguments: list[str], wanted: str, expected: list[str]
) -> None:
    assert added(arguments, wanted) == expected


@pytest.mark.parametrize(
    ("arguments", "unwanted", "expected"),
    [
        pytest.param(["psi=1", "ro"], "psi=1", ["ro"], id="exactly"),
        pytest.param(["psi=0", "ro", "psi=1"], "psi=", ["ro"], id="every value of a key"),
        pytest.param(["ro"], "psi=1", ["ro"], id="what is absent"),
        pytest.param([], "psi=1", [], id="from nothing"),
        pytest.param(["psi=1", "psi=1"], "psi=1", [], id="all occurrences"),
    ],
)
def test_removing_leaves_the_others(
    arguments: list[str], unwanted: str, expected: list[str]
) -> None:
    assert removed(arguments, unwanted) == expected
