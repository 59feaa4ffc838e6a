"""The same study on a Dask cluster: a scheduler and two workers in processes of their own."""

import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from trimtab.cli.main import app
from trimtab.errors import Unavailable
from trimtab.study.execution.engines import threads_of
from trimtab.study.results.record import RunRecord
from trimtab.study.results.store import StudyStore

SCENARIO = """
name: small
duration: 10m
nodes: [{name: n, count: 3}]
vms:
  - {name: hot, count: 6, cpu: 4, memory: 8Gi, node: n-1, utilization: {cpu: 0.9}}
  - {name: calm, count: 2, cpu: 4, memory: 8Gi}
"""
STUDY = """
name: small
scenarios: [small.yaml]
scores: [linear_amplified_ippd_k3, own.py]
seeds: 4
"""
OWN = """
from trimtab.scores import define
from trimtab.scores.inputs import cpu_usage

SCORE = define("half_of_cpu", 0.5 * cpu_usage, formula="c / 2")
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    (tmp_path / "small.yaml").write_text(SCENARIO)
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "study.yaml").write_text(STUDY)
    return tmp_path / "study.yaml"


@pytest.fixture
def scheduler() -> Iterator[str]:
    distributed = pytest.importorskip("distributed")
    with warnings.catch_warnings():
        # Dask's own start-up and shut-down warn about ports and sockets that are none of ours.
        warnings.simplefilter("ignore")
        with distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
        ) as cluster:
            yield cluster.scheduler_address


def run(study: Path, name: str, *options: str) -> dict[str, RunRecord]:
    out = study.parent / name
    arguments = ["study", str(study), "--out", str(out), *options]
    app(arguments, result_action="return_value", exit_on_error=False)
    return {run.id: run for chunk in StudyStore(out).chunks() for run in chunk.runs}


def test_a_cluster_gives_the_same_results_as_this_computer(study: Path, scheduler: str) -> None:
    here = run(study, "here", "--jobs", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        there = run(study, "there", "--engine", "dask", "--scheduler", scheduler)
        assert threads_of(scheduler) == 2  # what the work is cut for
    assert len(here) == 12
    assert {key: record.digest for key, record in there.items()} == {
        key: record.digest for key, record in here.items()
    }
    first, second = (study.parent / name / "result.json" for name in ("here", "there"))
    assert first.read_bytes() == second.read_bytes()


def test_a_scheduler_that_does_not_answer_is_named(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trimtab.study.execution.engines._CONNECT_S", 0.5)
    with pytest.raises(Unavailable, match="no Dask scheduler answers at tcp://127"):
        run(study, "out", "--engine", "dask", "--scheduler", "tcp://127.0.0.1:9")
