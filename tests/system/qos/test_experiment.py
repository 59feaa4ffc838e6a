"""`trimtab qos experiment`: a look at it in every test run, the proof in the full one."""

import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
import yaml

from trimtab.benchmarks.queue.experiment import (
    DeploymentGroup,
    QueueExperiment,
    Report,
    SideRun,
    read_experiment,
    report,
)

pytestmark = pytest.mark.engines
EXAMPLES = Path(__file__).parents[3] / "examples" / "qos"


def experiment(file: Path, output: Path, *options: str, limit_s: float = 2200) -> Report:
    command = [sys.executable, "-m", "trimtab.cli", "qos", "experiment", str(file)]
    done = subprocess.run(
        [*command, "--json", "-o", str(output), *options],
        capture_output=True,
        timeout=limit_s,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return msgspec.json.decode(done.stdout, type=Report)


BRIEF = QueueExperiment(
    name="brief",
    nodes=2,
    slots_per_node=4,
    classes={
        "gold": DeploymentGroup(slo=1.0, deployments=3, upper=True),
        "silver": DeploymentGroup(slo=0.9, deployments=3, upper=True),
        "bronze": DeploymentGroup(slo=0.5, deployments=8),
    },
    mean_life_s=2.0,
    duration_s=8.0,
    seeds=(1,),
    sides=("stock", "qos"),
)
NOISE = 0.25
"""A few seconds on a busy machine say little, but enough to tell a reversed order: bronze alone
would then fill all slots, and the upper classes miss nearly everything."""


def check(run: SideRun) -> None:
    """Everybody is there, and has no more time than there was."""
    assert run.served.keys() == BRIEF.deployments.keys()
    assert sum(served.incarnations for served in run.served.values()) >= BRIEF.slots, run
    for name, served in run.served.items():
        spent = served.running_s + served.queueing_s + served.replacing_s
        assert 0 <= served.running_s <= spent <= served.wanted_s + 1e-6, (run.side, name)
        assert served.wanted_s >= BRIEF.duration_s, (run.side, name)
    longest = max(served.wanted_s for served in run.served.values())
    assert sum(s.running_s for s in run.served.values()) <= BRIEF.slots * longest


def test_a_brief_experiment_plays_both_sides_and_accounts_for_everybody(tmp_path: Path) -> None:
    file, output = tmp_path / "brief.yaml", tmp_path / "runs.json"
    file.write_text(yaml.safe_dump(msgspec.to_builtins(BRIEF), sort_keys=False))
    found = experiment(file, output, limit_s=400)
    assert [(f.side, f.group) for f in found.figures] == [
        (side, group) for side in ("stock", "qos") for group in BRIEF.classes
    ]
    for run in runs(output):
        check(run)
    missed = {side: upper_deficit(found, side) for side in BRIEF.sides}
    print(f"\nupper classes miss {missed}")
    assert missed["qos"] <= missed["stock"] + NOISE
    again = experiment(file, output, limit_s=400)
    assert again == found  # what is written down is not played again


def upper_deficit(found: Report, side: str) -> float:
    return statistics.mean(
        f.deficit for f in found.figures if f.side == side and BRIEF.classes[f.group].upper
    )


@pytest.mark.full
@pytest.mark.timeout(2400)
def test_upper_classes_miss_their_promises_five_times_less_than_with_the_stock_queue(
    tmp_path: Path,
) -> None:
    """The sides play at the same time, so that whatever else the machine does meets them all."""
    plan = read_experiment(EXAMPLES / "experiment.yaml")
    outputs = [tmp_path / f"{side}.json" for side in plan.sides]
    with ThreadPoolExecutor() as together:
        playing = [
            together.submit(experiment, EXAMPLES / "experiment.yaml", output, "--side", side)
            for side, output in zip(plan.sides, outputs, strict=True)
        ]
        for side in playing:
            side.result()
    found = report(plan, [run for output in outputs for run in runs(output)])
    print(msgspec.json.format(msgspec.json.encode(found)).decode())
    assert found.gain is not None
    assert found.gain.ratio >= 5
    assert found.gain.is_certain
    assert found.fairer["bronze"]


def runs(output: Path) -> list[SideRun]:
    return msgspec.json.decode(output.read_bytes(), type=dict[str, list[SideRun]])["runs"]
