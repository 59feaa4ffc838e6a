"""`trimtab fidelity`: what it refuses before it starts a lab, and what it shows."""

from math import inf
from pathlib import Path

import pytest

from builders.worlds.fidelity import SCORE, a_run, doing_nothing
from trimtab.cli.simulation.fidelity import fidelity
from trimtab.errors import ConfigError
from trimtab.fidelity.runs import RunFigures, ranges
from trimtab.fidelity.table import show_verdict
from trimtab.fidelity.verdict import Subject, judge, judge_steps
from trimtab.scores import find_score

EXAMPLES = Path(__file__).parents[3] / "examples"
HOT = str(EXAMPLES / "scenarios/one-hot-node.yaml")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        pytest.param({"runs": 0}, "--runs must be 1 or more", id="no runs"),
        pytest.param({"cycles": 3}, "--cycles 4 or more", id="too few cycles"),
        pytest.param({"algorithm": "no-such"}, "no-such", id="no such score"),
        pytest.param({"algorithm": "in_flight_aware"}, "VMs in flight", id="VMs in flight"),
        pytest.param(
            {"policy": EXAMPLES / "policies/requests.yaml"},
            "asks Prometheus nothing",
            id="requests",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused_at_once(options: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        fidelity(HOT, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("scenario", "words"),
    [
        pytest.param("arrivals-and-failures", "its events come at the lab's own time", id="events"),
        pytest.param("zones-and-rules", "does not play constraints", id="constraints"),
    ],
)
def test_a_scenario_that_the_lab_plays_otherwise_is_refused(scenario: str, words: str) -> None:
    with pytest.raises(ConfigError, match=f"{words}.*leave them out"):
        fidelity(str(EXAMPLES / f"scenarios/{scenario}.yaml"))


def test_a_lab_that_exists_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "trimtab/labs/fidelity").mkdir(parents=True)
    (tmp_path / "trimtab/labs/fidelity/lab.json").write_text("{}")
    with pytest.raises(ConfigError, match="there is a lab fidelity"):
        fidelity(HOT)


def test_a_verdict_is_shown_with_both_parts(capsys: pytest.CaptureFixture[str]) -> None:
    steps = [judge_steps(a_run(), find_score(SCORE))] * 2
    known = [RunFigures(16, 120.0, 0.2), RunFigures(18, inf, 0.3)] * 20
    show_verdict(judge(Subject("by hand", SCORE), steps, ranges(known, [known[0]] * 2), 40))
    out, err = capsys.readouterr()
    assert "each cycle beside its prediction" in out
    assert "40 simulated ones" in out
    assert "2 of 2" in out
    assert "never" in out
    assert "the lab does what was predicted" in err


def test_a_wrong_prediction_is_shown_with_what_is_wrong(
    capsys: pytest.CaptureFixture[str],
) -> None:
    steps = [judge_steps(a_run(), find_score(SCORE), doing_nothing)]
    show_verdict(judge(Subject("by hand", SCORE), steps))
    out, err = capsys.readouterr()
    assert "run 1: cycle 0: 2 evictions are not the predicted number" in out
    assert "the prediction is wrong" in err
