"""`trimtab explain`: what it prints, writes and refuses."""

import json
from pathlib import Path
from typing import Any

import pytest

from builders.worlds.policy import decide_snapshot
from builders.worlds.snapshots import a_launcher, a_policy, a_snapshot
from trimtab.cli.main import app
from trimtab.errors import ConfigError
from trimtab.model.snapshot import dump, load


def run(*arguments: str) -> Any:
    return app(["explain", *arguments], result_action="return_value", exit_on_error=False)


@pytest.fixture
def quiet(tmp_path: Path) -> Path:
    """A cluster where nothing is evicted, with more pods than are listed at once."""
    pods = tuple(a_launcher(f"vm-{at}", "n1") for at in range(30))
    dump(a_snapshot({"n1": 80, "n2": 10}, a_policy(evictor={}), pods=pods), tmp_path / "s.json")
    return tmp_path / "s.json"


def test_json_has_all_pods_and_changes(quiet: Path, capsysbinary: Any) -> None:
    run(str(quiet), "--json")
    told = json.loads(capsysbinary.readouterr().out)
    assert told["evictions"] == 0
    assert len(told["runs"][0]["pods"]) == 30
    assert told["changes"][0]["what"] == "switch the protection PodsWithLocalStorage off"


def test_the_changed_snapshot_evicts(quiet: Path, tmp_path: Path) -> None:
    after = tmp_path / "after.yaml"
    run(str(quiet), "--changed", str(after))
    assert decide_snapshot(load(after)).evictions


def test_all_pods_are_listed_on_request(quiet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(str(quiet))
    assert "… and 10 more pods of these nodes" in capsys.readouterr().out
    run(str(quiet), "--all")
    shown = capsys.readouterr().out
    assert all(f"default/vm-{at} " in shown for at in range(30))


@pytest.mark.parametrize("arguments", [[], ["x.yaml", "--live"]], ids=["neither", "both"])
def test_a_file_or_live(arguments: list[str]) -> None:
    with pytest.raises(ConfigError, match="give the file of a snapshot, or --live"):
        run(*arguments)


def test_there_must_be_a_change_to_apply(tmp_path: Path) -> None:
    dump(a_snapshot({"n1": 80, "n2": 10}), tmp_path / "s.json")
    with pytest.raises(ConfigError, match="no single change to apply"):
        run(str(tmp_path / "s.json"), "--changed", str(tmp_path / "after.json"))
