"""The cases in cases/*.score, worked out by hand, on both back ends."""

from pathlib import Path

import numpy as np
import pytest

from builders.labs.promtool import Timeline
from builders.values.score_cases import Case, read_case
from trimtab.scores import CATALOG, RuleSettings, evaluate
from trimtab.scores.prometheus.rules import recording_rules

CASES = {path.stem: read_case(path) for path in sorted(Path(__file__).parent.glob("cases/*.score"))}
each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


@each_case
def test_numpy_agrees_with_the_case(case: Case) -> None:
    for expected in case.expected:
        result = evaluate(CATALOG[expected.score], case.window, mode=expected.mode)[0]
        error = f"{expected.score} {expected.mode}"
        np.testing.assert_allclose(result, expected.values, atol=1e-9, rtol=0, err_msg=error)


@pytest.mark.engines
@each_case
def test_prometheus_agrees_with_the_case(case: Case, tmp_path: Path) -> None:
    time = Timeline(case.step_s)
    last = [time.step(case.nodes, sample) for sample in case.window.values[0]][-1]
    for expected in case.expected:
        values = np.array(expected.values)
        time.want(expected.score, expected.mode, case.nodes, last, values)
    scores = [CATALOG[name] for name in dict.fromkeys(e.score for e in case.expected)]
    assert time.check(recording_rules(scores, RuleSettings(nodes=len(case.nodes))), tmp_path) == ""


def test_every_score_has_a_case() -> None:
    assert set(CATALOG) == {e.score for case in CASES.values() for e in case.expected}
