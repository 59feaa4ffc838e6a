"""What a study costs beside its simulations, and what the demo costs in all: CPU time."""

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from builders.values.outcomes import a_scenario
from builders.values.studies import a_plan, finished
from trimtab.model.examples import demo_study
from trimtab.study.inputs.identity import versions
from trimtab.study.report.report import render
from trimtab.study.results.collect import study_result

SLACK = 3


def cpu_s(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def test_ranking_and_report_cost_seconds_not_minutes() -> None:
    plan = a_plan(
        candidates=6, seeds=20, scenarios=[a_scenario(f"s{i}", 20, 300) for i in range(3)]
    )
    cells, runs, result = finished(plan)
    ranking = cpu_s(lambda: study_result(plan, cells, runs, versions()))
    report = cpu_s(lambda: render(plan, cells, runs, result, ""))
    print(f"\nranking 6 candidates on 3 scenarios: {ranking:.2f} s, report: {report:.2f} s")
    assert ranking < SLACK * 0.2
    assert report < SLACK * 0.06


@pytest.mark.full
def test_the_demo_takes_under_a_minute_on_two_cores(tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "trimtab.cli", "study", "demo", "--out", str(tmp_path / "d")]
    subprocess.run([*command, "--jobs", "2"], check=True, capture_output=True, cwd=tmp_path)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    page = (tmp_path / "d" / "report.html").stat().st_size
    print(f"\n{demo_study().name}: {used:.0f} s of CPU, report {page / 1e6:.2f} MB")
    assert used < 2 * 60
    assert page < 2_000_000
