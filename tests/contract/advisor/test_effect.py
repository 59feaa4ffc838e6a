"""`trimtab advisor plan --recording`: what a plan would do to the cluster that was recorded."""

import json
from pathlib import Path

import pytest

from builders.worlds.openshift import save_cluster
from builders.worlds.recordings import a_recording
from trimtab.cli.main import app
from trimtab.errors import TrimtabError
from trimtab.model.recorded.archive import write_recording


def trimtab(*arguments: str) -> object:
    return app([*arguments], result_action="return_value", exit_on_error=False)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A cluster as kubectl saves it."""
    save_cluster(tmp_path)
    return tmp_path


def test_a_recording_tells_what_the_plan_would_do(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trimtab.study.execution.engines.cores", lambda: 1)
    monkeypatch.setattr("trimtab.cli.record.runs.RUNS", 2)
    recording = tmp_path / "my.trimtab"
    write_recording(a_recording(hot=2.0), recording)
    where = ("--manifests", str(saved), "--recording", str(recording))
    assert trimtab("advisor", "plan", *where, "--json") == 2
    effect = json.loads(capsys.readouterr().out)["effect"]
    assert effect["trusted"]
    lines = {line["name"]: line for line in effect["lines"]}
    assert lines["nothing"]["migrations"][0] == 0 < lines["this plan"]["migrations"][0]
    assert lines["this plan"]["level"][0] < lines["nothing"]["level"][0]
    with pytest.raises(TrimtabError, match="virt-higher-density moves no VMs"):
        trimtab("advisor", "plan", "virt-higher-density", *where)
