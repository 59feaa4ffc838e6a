"""One printer and one reader of YAML."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from trimtab.errors import ConfigError
from trimtab.files.yaml import as_documents, as_yaml, read_documents

TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(TREES)
def test_what_is_printed_reads_back_the_same(tree: object) -> None:
    assert yaml.safe_load(as_yaml(tree)) == tree


def test_text_of_several_lines_stays_readable_and_nothing_is_an_anchor() -> None:
    same = {"a": 1}
    text = as_yaml({"file": "one\ntwo\n", "x": same, "y": same})
    assert "file: |\n  one\n  two\n" in text
    assert "&" not in text


def test_documents_are_read_back_without_the_empty_ones() -> None:
    text = as_documents({"kind": "A"}, {"kind": "B"}) + "---\n"
    assert [each["kind"] for each in read_documents(text, "f")] == ["A", "B"]


def test_an_error_names_the_file_and_the_line() -> None:
    with pytest.raises(ConfigError, match=r"^f\.yaml: not YAML: line 3: "):
        read_documents("a: 1\nb: [\n", "f.yaml")
