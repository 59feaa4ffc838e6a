"""`trimtab study` when it is interrupted after its last simulation."""

from pathlib import Path

import pytest

from trimtab.cli.simulation.study import INTERRUPTED, run
from trimtab.study.execution import run as execution
from trimtab.study.results.store import StudyStore

STUDY = """
name: short
scenarios: [short.yaml]
scores: [max_metric]
seeds: 2
"""
SCENARIO = """
name: short
duration: 10m
nodes: [{name: n, count: 2}]
vms: [{name: v, count: 2, cpu: 1, memory: 1Gi}]
"""


def be_interrupted(_: StudyStore) -> None:
    raise KeyboardInterrupt


def test_ctrl_c_while_the_report_is_written_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "short.yaml").write_text(SCENARIO)
    (tmp_path / "study.yaml").write_text(STUDY)
    with monkeypatch.context() as patched:
        patched.setattr(execution, "write_results", be_interrupted)
        assert run(tmp_path / "study.yaml", out=tmp_path / "out", jobs=1) == INTERRUPTED
    assert "the same command continues" in capsys.readouterr().err
    assert run(tmp_path / "study.yaml", out=tmp_path / "out", jobs=1) is None
    assert (tmp_path / "out" / "report.html").is_file()
