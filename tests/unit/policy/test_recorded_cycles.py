"""Cycles of the real descheduler, recorded once, are decided alike by `trimtab.policy` today.

`make test` compares with the running program as well (tests/system/conformance). The file is
written by `scripts/conformance -n 120 -s 1 --record conformance/descheduler/cycles.xz`.
"""

import pytest

from builders.examples import QUICK
from conformance.descheduler import RECORDED
from conformance.descheduler.draws.themes import THEMES
from conformance.descheduler.judge.compare import Judgement, judge
from conformance.descheduler.judge.coverage import coverage, evicts
from conformance.descheduler.judge.rules import REQUIRED
from conformance.descheduler.recording import Recording, load_together


@pytest.fixture(scope="module")
def judged() -> list[tuple[Recording, Judgement]]:
    """All cycles; where somebody waits for an answer, every fourth."""
    step = 4 if QUICK else 1
    return [(recording, judge(recording)) for recording in load_together(RECORDED)[::step]]


def test_every_recorded_cycle_agrees(judged: list[tuple[Recording, Judgement]]) -> None:
    problems = {recording.name: judgement.problems for recording, judgement in judged}
    assert {name: found for name, found in problems.items() if found} == {}


def test_every_theme_was_recorded(judged: list[tuple[Recording, Judgement]]) -> None:
    assert {recording.session for recording, _ in judged} == set(range(len(THEMES)))


@pytest.mark.skipif(QUICK, reason="counts over all recorded cycles: `make test`")
def test_every_rule_decided_something(judged: list[tuple[Recording, Judgement]]) -> None:
    touched = coverage(judged)
    assert [rule for rule in REQUIRED if touched[rule] < 5] == []
    assert sum(evicts(judgement) for _, judgement in judged) >= 0.4 * len(judged)
