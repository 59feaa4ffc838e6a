"""No traceback, whatever the files, paths and streams are; and the exit codes that we promise."""

import json
from pathlib import Path

import pytest

from trimtab.cli.main import _run as run

EXAMPLES = Path(__file__).parents[3] / "examples"
POLICY = str(EXAMPLES / "policies/default.yaml")
SCENARIO = str(EXAMPLES / "scenarios/balanced.yaml")
NOWHERE = "/no/such/dir/x"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a file that is no text, a file, a directory, and an empty list."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("TRIMTAB_LAB", "KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)
    Path("latin").write_bytes(b"caf\xe9: [\n")
    Path("file").write_text("x")
    Path("folder").mkdir()
    Path("list.json").write_text("[]")
    return tmp_path


def calls() -> list[tuple[str, int, str]]:
    """A command line, its exit code, and a part of the one line that it says."""
    explain = str(EXAMPLES / "snapshots/nobody-is-over.yaml")
    return [
        (f"rules -o {NOWHERE}", 2, "there is no directory /no/such/dir"),
        ("rules -o folder", 2, "--output folder: it is a directory"),
        ("rules -o file/x", 2, "file is no directory"),
        ("rules --interval 0", 2, "--interval 0: must be more than 0"),
        (f"sim {SCENARIO} -o file", 2, "--out file: it is a file"),
        (f"sim {SCENARIO} -o file/x", 2, "it cannot be made"),
        (f"sim {SCENARIO} --consecutive 0", 2, "--consecutive 0: must be at least 1"),
        (f"explain {explain} --changed {NOWHERE}", 2, "--changed /no/such/dir/x: there is no dir"),
        ("explain latin", 2, "latin"),
        ("scores eval latin", 2, "latin: it is not UTF-8 text"),
        ("scores eval none.yaml", 2, "cannot be read: No such file"),
        (f"lint {POLICY} --rules latin", 2, "--rules latin: it is not UTF-8 text"),
        (f"lint {POLICY} --rules none", 2, "--rules none: No such file"),
        (f"lint {POLICY} --deployment latin", 2, "--deployment latin"),
        (f"lint {POLICY} --deployment none", 2, "--deployment none: No such file"),
        ("lint latin", 2, "latin"),
        ("scenario validate latin", 2, ""),
        ("scenario show latin", 2, "not UTF-8"),
        ("scenario convert list.json", 2, "nodes"),
        (f"scenario convert {SCENARIO} -o {NOWHERE}", 2, "there is no directory"),
        (f"study {EXAMPLES}/studies/demo.yaml --out file/x", 2, "--out file/x"),
        ("study latin", 2, "latin"),
        ("study demo --out file", 2, "--out file: it is a file"),
        ("snapshot -o folder", 2, "--output folder: it is a directory"),
        ("snapshot -o now.yaml", 2, "which cluster?"),
        ("qos experiment none.yaml", 2, "cannot be read: No such file"),
        ("qos experiment latin", 2, "it is not UTF-8 text"),
        (f"qos experiment {EXAMPLES}/qos/short.yaml -o {NOWHERE}", 2, "there is no directory"),
        (f"qos experiment {EXAMPLES}/qos/short.yaml -o latin", 2, "holds no runs of an experiment"),
        ("vm apply --file none", 2, "--file none: No such file"),
        ("vm apply --file latin", 2, "--file latin: it is not UTF-8 text"),
        ("lab up --scheduler-config none", 2, "--scheduler-config none: No such file"),
        ("lab up --policy latin", 2, "--policy latin: it is not UTF-8 text"),
        ("lab down", 2, 'no lab "default"'),
        ("lab scenario", 2, 'no lab "default"'),
        ("lab scenario --again", 2, 'no lab "default"'),
        ("lab algorithm nope", 2, 'no lab "default"'),
        ("advisor plan", 1, "which cluster?"),
        ("qos top", 2, "which cluster?"),
        ("lint", 2, "POLICY is missing; see: trimtab lint --help"),
        ("scores list nope1", 2, "not understood: nope1; see: trimtab scores list --help"),
        ("lab nope", 2, 'Unknown command "nope"; see: trimtab lab --help'),
        ("lab upp", 2, 'Unknown command "upp" (did you mean "up"?); see: trimtab lab --help'),
        ("sim --nope", 2, "Unknown option"),
        ("nope", 2, "nope"),
    ]


@pytest.mark.parametrize(("line", "code", "told"), calls(), ids=lambda value: str(value)[:60])
def test_a_call_that_cannot_work_is_told_in_one_line(
    line: str, code: int, told: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(line.split()) == code
    said = capsys.readouterr().err
    assert told in said
    assert "Errno" not in said
    assert "Traceback" not in said
    deeds = ("stopping", "removing", "changing the policy")
    assert not any(deed in said for deed in deeds), "announced before it was checked"


@pytest.mark.parametrize(
    "line",
    [
        "sim one-hot-node --duration 3m --json",
        "sim seed-sample#level --duration 3m --json",
        "sim examples/scenarios/seed-sample.json#level --duration 3m --json",
        "sim examples/scenarios/one-hot-node.yaml --duration 3m --json",
        "scenario show balanced --json",
        "scenario validate balanced.yaml --json",
        "explain evicts --json",
        "examples --json",
    ],
)
def test_examples_are_found_by_name_from_anywhere(
    line: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(line.split()) == 0
    json.loads(capsys.readouterr().out)


def test_a_file_of_ones_own_wins_over_an_example(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("balanced").write_text("no scenario")
    assert run(["scenario", "show", "balanced"]) == 2


def test_examples_are_copied_and_nothing_is_overwritten(here: Path) -> None:
    assert run(["examples", "--copy", "mine"]) == 0
    mine = Path("mine/scenarios/balanced.yaml")
    assert mine.read_text() == (EXAMPLES / "scenarios/balanced.yaml").read_text()
    mine.write_text("changed")
    assert run(["examples", "--copy", "mine"]) == 0
    assert mine.read_text() == "changed"


def test_kubectl_helps_without_engines_and_labs(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(here / "cache"))
    with pytest.raises(SystemExit) as end:
        run(["lab", "kubectl", "--help"])
    assert end.value.code == 0
    assert "trimtab lab kubectl get nodes" in capsys.readouterr().out


def test_help_does_not_show_empty_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    run(["sim", "--help"])
    shown = capsys.readouterr().out
    assert "[default: False]" not in shown
    assert '[default: ""]' not in shown
    assert "[default: 60s]" in shown
