"""Kernel arguments: of one key, the last occurrence counts."""

import pytest

from trimtab.advisor.plan.pools import is_effective, parse


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
