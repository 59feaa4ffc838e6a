"""The studies in examples/ run; the demo is what its documentation says."""

import shutil
from pathlib import Path

import pytest

from trimtab.cli.main import app
from trimtab.errors import ConfigError
from trimtab.model.examples import demo_study
from trimtab.scores import CLASSIC
from trimtab.study.execution.run import load_result
from trimtab.study.inputs.file import load_study
from trimtab.study.inputs.plan import StudyPlan, make_plan
from trimtab.study.results.store import StudyStore

EXAMPLES = Path(__file__).parents[3] / "examples"
DATA = Path(__file__).parents[4] / "shared" / "data"
RECORDINGS = ("google-2011-vms.npz", "planetlab-20110303.npz")


def plan_of(file: Path) -> StudyPlan:
    return make_plan(load_study(file), file.parent)


def run_briefly(file: Path, out: Path) -> StudyStore:
    """The study with one seed and ten minutes of time."""
    short = file.read_text().replace("seeds: 20", "seeds: 1").replace("duration: 1h\n", "")
    brief = file.with_name("brief.yaml")
    brief.write_text(f"{short}\nduration: 10m\n")
    arguments = ["study", str(brief), "--out", str(out), "--jobs", "1"]
    assert app(arguments, result_action="return_value", exit_on_error=False) is None
    return StudyStore(out)


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLES, tmp_path / "examples"))


def test_the_demo_has_all_algorithms_on_three_small_clusters() -> None:
    plan = plan_of(demo_study())
    plain = [c.score for c in plan.candidates if not c.is_what_if and c.thresholds == (0, 10)]
    assert plain == [None, *(score.name for score in CLASSIC)]
    assert len(CLASSIC) == 19
    assert len(plan.scenarios) == 3
    assert len(plan.seeds) == 20
    for scenario in plan.scenarios:
        assert len(scenario.nodes) <= 20
        assert len(scenario.vms) <= 300
        assert scenario.duration_s == 60 * plan.timing.descheduling_s


def test_the_demo_runs(examples: Path) -> None:
    store = run_briefly(examples / "studies" / "demo.yaml", examples.parent / "out")
    assert load_result(store).failed_cycles == 0


@pytest.fixture
def recorded(examples: Path) -> Path:
    """The studies of the guide with their recordings in place."""
    for name in RECORDINGS:
        if not (DATA / name).exists():
            pytest.skip(f"the recording {name} is not beside the project in shared/data")
        (examples / "studies" / "traces" / name).symlink_to(DATA / name)
    return examples / "studies"


@pytest.mark.parametrize(
    ("study", "vms", "candidates"),
    [("google-2011.yaml", [1600, 1600], 25), ("planetlab-2011.yaml", [1052], 11)],
)
def test_the_studies_of_the_guide_are_what_it_says(
    recorded: Path, study: str, vms: list[int], candidates: int
) -> None:
    plan = plan_of(recorded / study)
    assert [len(scenario.vms) for scenario in plan.scenarios] == vms
    assert (len(plan.candidates), len(plan.seeds)) == (candidates, 20)


@pytest.mark.full
@pytest.mark.parametrize("study", ["google-2011.yaml", "planetlab-2011.yaml"])
def test_the_studies_of_the_guide_run(recorded: Path, study: str, tmp_path: Path) -> None:
    assert load_result(run_briefly(recorded / study, tmp_path / "out")).failed_cycles == 0


def test_a_study_whose_recording_is_missing_says_so(examples: Path) -> None:
    (examples / "studies" / "traces" / RECORDINGS[0]).unlink(missing_ok=True)
    with pytest.raises(ConfigError, match=r"google-2011-vms\.npz: there is no such file"):
        plan_of(examples / "studies" / "google-2011.yaml")


def test_every_study_of_the_examples_is_tested_here() -> None:
    assert {file.name for file in (EXAMPLES / "studies").glob("*.yaml")} == {
        "demo.yaml",
        "planetlab-2011.yaml",
        "google-2011.yaml",
    }
