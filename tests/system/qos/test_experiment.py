"""`trimtab qos experiment`: a look at it in every test run, the proof in the full one."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from trimtab.qos.experiment import Report, Run

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


def test_a_short_experiment_serves_the_promised_ones_better_than_the_stock_queue(
    tmp_path: Path,
) -> None:
    output, sides = tmp_path / "runs.json", ("--side", "stock", "--side", "qos")
    report = experiment(EXAMPLES / "short.yaml", output, *sides, limit_s=400)
    assert [(f.side, f.group) for f in report.figures] == [
        (side, group) for side in ("stock", "qos") for group in ("gold", "silver", "bronze")
    ]
    runs = msgspec.json.decode(output.read_bytes(), type=dict[str, list[Run]])["runs"]
    for run in runs:
        for name, served in run.served.items():
            assert 0 <= served.running_s <= served.wanted_s + 1e-6, (run.side, name)
    assert report.gain is not None
    print(f"\nupper classes: deficit {report.gain.ratio:.1f} times smaller")
    assert report.gain.ratio > 1
    again = experiment(EXAMPLES / "short.yaml", output, *sides, limit_s=60)
    assert again == report  # what is written down is not played again


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
