"""The guide's outputs are what the commands print, and every example snapshot is in it."""

import re
import shlex
from pathlib import Path

import pytest

from trimtab.cli.main import app

ROOT = Path(__file__).parents[4]
GUIDE = (ROOT / "docs/guide/why-nothing-was-evicted.md").read_text()
BLOCKS = re.findall(r"```console\n\$ (trimtab [^\n]+)\n(.*?)```", GUIDE, re.DOTALL)


@pytest.mark.parametrize(("command", "output"), BLOCKS, ids=[command for command, _ in BLOCKS])
def test_an_output_is_what_the_command_prints(
    command: str,
    output: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(ROOT)
    app(shlex.split(command)[1:], result_action="return_value", exit_on_error=False)
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert printed == output.splitlines()


def test_every_example_is_shown() -> None:
    shown = {Path(word).name for command, _ in BLOCKS for word in command.split()}
    assert {path.name for path in (ROOT / "examples/snapshots").glob("*.yaml")} <= shown
