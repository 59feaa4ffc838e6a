"""The reference is complete, and says only what is true."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import pytest

from builders.values.scenarios import scenario_data
from trimtab.model.scenarios.field_docs import documented
from trimtab.model.scenarios.io import parse_file
from trimtab.model.scenarios.reference import generate, reference_text, schema_text
from trimtab.model.yaml_text import parse_text

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted((ROOT / "examples" / "scenarios").glob("*.yaml"))
GUIDE = ROOT / "docs" / "guide" / "scenarios.md"


def test_every_field_of_the_schema_has_a_row_in_the_reference() -> None:
    rows = set(re.findall(r"^\| `(\w+)` \|", reference_text(), flags=re.MULTILINE))
    for definition in json.loads(schema_text())["$defs"].values():
        assert set(definition["properties"]) - {"type"} <= rows


def test_every_field_is_described_in_the_schema() -> None:
    for name, definition in json.loads(schema_text())["$defs"].items():
        for field, described in definition["properties"].items():
            assert field == "type" or described["description"], f"{name}.{field}"


def test_links_lead_to_sections() -> None:
    text = reference_text()
    sections = {
        title.lower().replace(" ", "-").replace("`", "")
        for title in re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    }
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= sections


@pytest.mark.parametrize("path", [None, GUIDE], ids=["reference", "guide"])
def test_every_scenario_in_the_text_is_right(path: Path | None) -> None:
    text = reference_text() if path is None else path.read_text()
    scenarios = re.findall(r"```yaml\n(name: .*?)```", text, flags=re.DOTALL)
    assert scenarios
    for scenario in scenarios:
        parse_file(scenario)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_is_valid_by_the_schema(path: Path) -> None:
    schema = jsonschema_rs.validator_for(json.loads(schema_text()))
    schema.validate(parse_text(path.read_text(), path.name))


@pytest.mark.parametrize(
    "changed",
    [{"nodes": [{}]}, {"vms": 3}, {"extra": 1}, {"vms": [{"name": "a", "load": {"cpu": {}}}]}],
    ids=json.dumps,
)
def test_a_mistake_is_invalid_by_the_schema(changed: dict[str, Any]) -> None:
    schema = jsonschema_rs.validator_for(json.loads(schema_text()))
    assert not schema.is_valid(scenario_data(**changed))


def test_a_field_without_documentation_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Undocumented\.silent has no line of documentation"):
        documented(Undocumented)


class Undocumented(msgspec.Struct):
    silent: int


def test_the_files_are_where_the_generator_says() -> None:
    for path, text in generate().items():
        assert (ROOT / path).read_text() == text, "run: make generate"
