"""Every scenario in examples/ loads, and stays small enough to try things out on."""

from pathlib import Path

import pytest

from trimtab.model.scenario_io import load_scenario

SCENARIOS = Path(__file__).parents[3] / "examples" / "scenarios"
FILES = sorted(path for path in SCENARIOS.iterdir() if path.suffix in (".yaml", ".json"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_example_loads_and_is_small(path: Path) -> None:
    scenario = load_scenario(path)
    assert 1 <= len(scenario.nodes) <= 20
    assert 1 <= len(scenario.vms) <= 300
