"""`trimtab qos experiment`: a look at it in every test run, the proof in the full one."""

import statistics
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
import yaml

from trimtab.qos.experiment import Experiment, Group, Report, Run

pytestmark = pytest.mark.engines
EXAMPLES = Path(__file__).parents[3] / "examples" / "qos"


def experiment(file: Path, output: Path, *options: str, limit_s: float) -> Report:
    command = [sys.executable, "-m", "trimtab.cli", "qos", "experiment", str(file)]
    done = subprocess.run(
        [*command, "--json", "-o", str(output), *options],
        capture_output=True,
        timeout=limit_s,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return msgspec.json.decode(done.stdout, type=Report)


BRIEF = Experiment(
    name="brief",
    nodes=2,
    slots_per_node=4,
    classes={
        "gold": Group(slo=1.0, deployments=3, upper=True),
        "silver": Group(slo=0.9, deployments=3, upper=True),
        "bronze": Group(slo=0.5, deployments=8),
    },
    mean_life_s=2.0,
    duration_s=8.0,
    seeds=(1,),
)
NOISE = 0.25
"""A few seconds on a busy machine say little, but enough to tell a reversed order: bronze alone
would then fill all slots, and the upper classes miss nearly everything."""


def check(run: Run) -> None:
    """Everybody is there, and has no more time than there was."""
    assert run.served.keys() == BRIEF.deployments.keys()
    assert sum(served.incarnations for served in run.served.values()) >= BRIEF.slots, run
    for name, served in run.served.items():
        spent = served.running_s + served.queueing_s + served.replacing_s
        assert 0 <= served.running_s <= spent <= served.wanted_s + 1e-6, (run.side, name)
        assert served.wanted_s >= BRIEF.duration_s, (run.side, name)
    longest = max(served.wanted_s for served in run.served.values())
    assert sum(s.running_s for s in run.served.values()) <= BRIEF.slots * longest


def test_a_brief_experiment_plays_every_side_and_accounts_for_everybody(tmp_path: Path) -> None:
    file, output = tmp_path / "brief.yaml", tmp_path / "runs.json"
    file.write_text(yaml.safe_dump(msgspec.to_builtins(BRIEF), sort_keys=False))
    report = experiment(file, output, limit_s=400)
    assert [(f.side, f.group) for f in report.figures] == [
        (side, group) for side in ("stock", "rank", "qos") for group in BRIEF.classes
    ]
    for run in msgspec.json.decode(output.read_bytes(), type=dict[str, list[Run]])["runs"]:
        check(run)
    missed = {side: upper_deficit(report, side) for side in BRIEF.sides}
    print(f"\nupper classes miss {missed}")
    assert missed["qos"] <= missed["stock"] + NOISE
    again = experiment(file, output, limit_s=60)
    assert again == report  # what is written down is not played again


def upper_deficit(report: Report, side: str) -> float:
    return statistics.mean(
        f.deficit for f in report.figures if f.side == side and BRIEF.classes[f.group].upper
    )


@pytest.mark.full
@pytest.mark.timeout(6000)
def test_upper_classes_miss_their_promises_five_times_less_than_with_the_stock_queue(
    tmp_path: Path,
) -> None:
    report = experiment(EXAMPLES / "experiment.yaml", tmp_path / "runs.json", limit_s=5800)
    print(msgspec.json.format(msgspec.json.encode(report)).decode())
    assert report.gain is not None
    assert report.gain.ratio >= 5
    assert report.gain.low >= 3
    assert report.fairer["bronze"]
