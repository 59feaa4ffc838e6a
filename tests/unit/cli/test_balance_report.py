"""`trimtab balance plan`: the page, and recordings as a source."""

import re
from pathlib import Path

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

from builders.worlds.recordings import a_recording
from trimtab.cli.services.balance.commands import app
from trimtab.model.recorded.archive import write_recording
from trimtab.model.recorded.latest import latest_snapshot
from trimtab.model.snapshot import USE_NOT_KNOWN


def run(*words: str) -> int:
    result = app(["plan", *words], result_action="return_value", exit_on_error=False)
    assert isinstance(result, int)
    return result


def test_the_page_stands_alone_and_has_every_move(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "plan.html"
    assert run("evicts", "--json", "--report", str(file)) == 2
    made = msgspec.json.decode(capsys.readouterr().out)
    page = file.read_text()
    assert all(f">{move['vm']}</th>" in page for move in made["moves"])
    assert all(f">{node['name']}</th>" in page for node in made["nodes"])
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', page)
    assert len(page) < 100_000


def test_names_cannot_break_out_of_the_page(tmp_path: Path) -> None:
    recording = a_recording(hot=3.0)
    bad = "<script>alert(1)</script>"
    snapshot = recording.snapshot
    vms = tuple(replace(vm, not_movable=bad) for vm in snapshot.vms)
    recording = replace(recording, snapshot=replace(snapshot, vms=vms))
    write_recording(recording, tmp_path / "x.trimtab")
    run(str(tmp_path / "x.trimtab"), "--report", str(tmp_path / "plan.html"))
    page = (tmp_path / "plan.html").read_text()
    assert bad not in page
    assert "&lt;script&gt;alert(1)" in page


def test_a_recording_is_planned_with_the_loads_of_its_last_hour(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_recording(a_recording(hot=3.0), tmp_path / "mine.trimtab")
    assert run(str(tmp_path / "mine.trimtab"), "--json") == 2
    made = msgspec.json.decode(capsys.readouterr().out)
    assert made["loadsFrom"] == "the recording's last 60 minutes"
    assert made["moves"][0]["source"] == "n1"


def test_a_vm_without_values_keeps_what_the_snapshot_says() -> None:
    recording = a_recording()
    recording.vm_cpu[:, 0] = np.nan
    before, after = recording.snapshot.vms, latest_snapshot(recording).vms
    assert after[0] == before[0]
    expected = float(recording.vm_cpu[-12:, 1].mean())
    assert float(after[1].cpu) == pytest.approx(expected, rel=1e-5)


def test_a_vm_whose_use_only_the_recording_knows_may_move() -> None:
    recording = a_recording()
    first, second, *others = recording.snapshot.vms
    vms = (replace(first, not_movable=USE_NOT_KNOWN), replace(second, not_movable="it is bound"))
    snapshot = replace(recording.snapshot, vms=(*vms, *others))
    after = latest_snapshot(replace(recording, snapshot=snapshot)).vms
    assert [vm.not_movable for vm in after[:2]] == ["", "it is bound"]
