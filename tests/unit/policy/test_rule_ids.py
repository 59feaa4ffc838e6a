"""Every rule id that the sources cite is explained in docs/reference/policy.md."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
RULE = re.compile(r"(?<![\w.])(?:[RPTCE]\d{1,2}[a-h]?|[1-9]\.[1-9]\d?(?:\.[1-9])?)(?![\w*]|\.\d)")
SOURCES = [
    file
    for folder in ("src/trimtab/policy", "src/trimtab/truth")
    for file in sorted((ROOT / folder).rglob("*.py"))
]


def cited(text: str) -> set[str]:
    return set(RULE.findall(text))


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: str(file.relative_to(ROOT)))
def test_every_cited_rule_is_explained(file: Path) -> None:
    prose = "\n".join(
        line for line in file.read_text().splitlines() if '"""' in line or "#" in line
    )
    reasons = "\n".join(re.findall(r'"[^"\s]+"', file.read_text()))
    explained = cited((ROOT / "docs/reference/policy.md").read_text())
    assert cited(prose + "\n" + reasons) - explained == set()


def test_a_citation_is_recognised_and_a_number_is_not() -> None:
    assert cited('Reason("1.5.2") (T2, 9.12), E7a; 2.0**-53, 0.5, 10.24') == {
        "1.5.2",
        "T2",
        "9.12",
        "E7a",
    }
