"""Without the extra the command says which one, in one line."""

import sys

import pytest

from trimtab.study.extra import MissingExtra, need


@pytest.mark.parametrize(
    ("library", "extra"), [("polars", "study"), ("joblib", "study"), ("distributed", "dask")]
)
def test_a_missing_library_names_its_extra(
    library: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtra) as caught:
        need(library)
    assert f"pip install 'trimtab[{extra}]'" in str(caught.value)


def test_an_installed_library_is_imported() -> None:
    assert need("joblib") is sys.modules["joblib"]
