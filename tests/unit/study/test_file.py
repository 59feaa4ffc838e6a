"""A mistake in a study file is one line that names the field."""

from pathlib import Path

import pytest

from trimtab.errors import ConfigError
from trimtab.study.inputs.file import load_study, parse_study, seeds_of, warnings_about

MINIMAL = "name: s\nscenarios: [a.yaml]\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("scenarios: [a]", "missing required field `name`", id="no name"),
        pytest.param("name: ''\nscenarios: [a]", "name: must not be empty", id="empty name"),
        pytest.param("name: s\nscenarios: []", "scenarios: name at least one", id="no scenario"),
        pytest.param(MINIMAL + "sceds: 3", "unknown field `sceds`", id="a misspelt field"),
        pytest.param(
            MINIMAL + "victims: [random]",
            "victims[0]: Invalid enum value 'random'",
            id="an unknown choice of victims",
        ),
        pytest.param(MINIMAL + "victims: []", "victims: give at least one", id="empty list"),
        pytest.param(MINIMAL + "scores: []", "scores: name at least one", id="no score"),
        pytest.param(
            MINIMAL + "thresholds: [[0, 110]]",
            "thresholds[0]: points below and above",
            id="a threshold above 100",
        ),
        pytest.param(
            MINIMAL + "thresholds: [[1]]",
            "thresholds[0]: Expected `array` of length 2",
            id="half a pair",
        ),
        pytest.param(
            MINIMAL + "also: [{limits: [[5, 2], [-1, 2]]}]",
            "also[0].limits[1]: evictions in all",
            id="a negative limit in a further grid",
        ),
        pytest.param(
            MINIMAL + "restraint: [{consecutive: 0}]",
            "restraint[0]: cooldownS",
            id="none in a row",
        ),
        pytest.param(MINIMAL + "seeds: 0", "seeds: at least one", id="no seeds"),
        pytest.param(MINIMAL + "seeds: [4, 4]", "seeds: the same seed twice", id="twice"),
        pytest.param(
            MINIMAL + "timing: {deschedulingS: 0}",
            "timing.deschedulingS: must be above 0",
            id="no time between cycles",
        ),
        pytest.param(MINIMAL + "apiVersion: v9", "apiVersion: 'v9' is not known", id="api"),
        pytest.param("name: [", "study.yaml:2:1:", id="not YAML"),
    ],
)
def test_a_mistake_is_named(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_study(text, "study.yaml")
    assert str(caught.value).startswith("study.yaml:")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone\.yaml: cannot read the study"):
        load_study(tmp_path / "gone.yaml")


def test_a_number_of_seeds_counts_from_zero() -> None:
    assert seeds_of(parse_study(MINIMAL)) == tuple(range(20))
    assert seeds_of(parse_study(MINIMAL + "seeds: [7, 3]")) == (7, 3)


@pytest.mark.parametrize(("seeds", "warned"), [(19, True), (20, False)])
def test_fewer_than_20_seeds_are_allowed_with_a_warning(seeds: int, warned: bool) -> None:
    study = parse_study(MINIMAL + f"seeds: {seeds}")
    assert bool(warnings_about(seeds_of(study))) == warned
