"""YAML without its old surprises."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.examples import examples
from trimtab.errors import ConfigError
from trimtab.model.yaml_text import dump_yaml, parse_text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("1e3", 1000.0, id="an exponent without a point is a number"),
        pytest.param("-.5E+1", -5.0, id="no digit before the point"),
        pytest.param("5.", 5.0, id="no digit after the point"),
        pytest.param("no", "no", id="no is a word"),
        pytest.param("on", "on", id="on is a word"),
        pytest.param("None", "None", id="None is a word"),
        pytest.param("1:30", "1:30", id="colons are no base 60"),
        pytest.param("010", "010", id="a leading zero is no octal"),
        pytest.param("1_000", "1_000", id="underscores are no digits"),
        pytest.param("2026-01-01", "2026-01-01", id="a date is text"),
        pytest.param(".nan", ".nan", id="no number is no number"),
        pytest.param("1Gi", "1Gi", id="a quantity is text"),
        pytest.param("true", True, id="true is true"),
        pytest.param("~", None, id="a tilde is nothing"),
        pytest.param("", None, id="nothing is nothing"),
        pytest.param("null", None, id="null is nothing"),
    ],
)
def test_a_value_is_what_it_looks_like(text: str, value: object) -> None:
    parsed = parse_text(f"key: {text}\n", "file")["key"]
    assert (type(parsed), parsed) == (type(value), value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 1\nb: 2\na: 3\n", "f.yaml:3:1: the key 'a' appears twice; keep one of them"),
        ("x:\n  - {a: 1, a: 2}\n", "f.yaml:2:12: the key 'a' appears twice; keep one of them"),
        ('{"a": 1, "a": 2}', "f.yaml: the key 'a' appears twice; keep one of them"),
        ("1: a\n", "f.yaml:1:1: the key 1 is not text; put it in quotes"),
        ("? [a]\n: 1\n", "f.yaml:1:3: the key ['a'] is not text; put it in quotes"),
        ("a: [\n", "f.yaml:2:1: "),
        ("a: b: c\n", "f.yaml:1:5: mapping values are not allowed"),
        ("a: 1\n---\nb: 2\n", "f.yaml:2:1: "),
        ("a: !!python/object:os.system x\n", "f.yaml:1:4: could not determine a constructor"),
        ('{"a": ', "f.yaml:1:7: not JSON: Expecting value"),
        ('{"a": NaN}', "f.yaml: NaN is not a number; write one"),
        ("[" * 100_000, "f.yaml: it is nested too deeply"),
        ("a: \x00\n", "f.yaml: not YAML: unacceptable character"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_cannot_be_read_is_refused_with_its_place(text: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_text(text, "f.yaml")
    assert str(caught.value).startswith(problem)
    assert "\n" not in str(caught.value)


def test_braces_may_be_yaml() -> None:
    assert parse_text("{a: 1, b: [no, 1e3]}", "f") == {"a": 1, "b": ["no", 1000.0]}


def test_anchors_and_merges_work_and_may_be_overridden() -> None:
    text = "- &a {x: 1, y: 2}\n- {<<: *a, y: 3}\n"
    assert parse_text(text, "f") == [{"x": 1, "y": 2}, {"x": 1, "y": 3}]


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=12)
    | st.sampled_from(["no", "1e3", "010", "1:30", "~", "null", "<<", "2026-01-01", "=", "- a"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc<~1", max_size=4), inner)
    ),
    max_leaves=10,
)


@settings(deadline=None, max_examples=examples(25))
@given(plain)
def test_what_is_written_reads_back_as_the_same(data: Any) -> None:
    assert parse_text(dump_yaml({"data": data}), "dump") == {"data": data}
