"""`trimtab whatif`: what it refuses before the long work begins, and what it writes."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from builders.worlds.recordings import a_recording
from trimtab.cli.main import app
from trimtab.errors import ConfigError
from trimtab.model.recorded.archive import write_recording

BRIEFLY = ("--no-sweep", "--more", "0", "--seeds", "1", "--jobs", "1")


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    file = tmp_path / "my.trimtab"
    write_recording(a_recording(hot=2.0, moments=6), file)
    return file


def whatif(recording: Path, *options: str) -> Any:
    command = ["whatif", str(recording), *options]
    return app(command, result_action="return_value", exit_on_error=False)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--more", "-1"), r"--more -1: must be within 0\.\.1000"),
        (("--growth", "0"), "--growth 0: must be above 0"),
        (("--migrations", "10"), "--migrations 10: give two numbers above 0"),
        (("--seeds", "0"), r"--seeds 0: must be within 1\.\.100"),
        (("--jobs", "0"), "--jobs: must be at least 1"),
        (("--interval", "soon"), "--interval"),
    ],
)
def test_options_that_make_no_sense_are_refused_in_one_line(
    tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        whatif(tmp_path / "is-not-even-read", *options)


def test_an_answer_can_be_kept_as_files(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, page = tmp_path / "answer", tmp_path / "page.html"
    assert whatif(recording, *BRIEFLY, "-o", str(out), "--report", str(page)) == 0
    answer = msgspec.json.decode((out / "answer.json").read_bytes())
    assert answer["winner"]
    assert "apiVersion: descheduler/v1alpha2" in (out / "policy.yaml").read_text()
    assert (out / "report.html").read_text() == page.read_text()
    said = capsys.readouterr()
    assert answer["words"][0].split(":")[0] in " ".join(said.out.split())
    assert page.name in said.err
