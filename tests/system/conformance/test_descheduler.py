"""The real descheduler and `trimtab.policy` decide alike: numbers, classes, orders, victims."""

import os
from pathlib import Path

import pytest

from builders.examples import FULL
from conformance.descheduler.judge.chance import not_chance
from conformance.descheduler.judge.rules import REQUIRED
from conformance.descheduler.recording import load, save
from conformance.descheduler.run import Tally, judged, numbers_for, run

pytestmark = [pytest.mark.engines, pytest.mark.timeout(3600)]
_ENOUGH = 5
SEED = 1


@pytest.fixture(scope="module")
def standard_run() -> Tally:
    """Every second theme, in the full tier every one; all recordings are kept.

    All themes of this seed are also replayed from a file (tests/unit/policy).
    """
    return run(SEED, numbers_for(120, SEED)[:: 1 if FULL else 2], keep=True)


@pytest.fixture(scope="module")
def full_run() -> Tally:
    """A thousand cycles with another seed each time it is asked for by TRIMTAB_SEED."""
    seed = int(os.environ.get("TRIMTAB_SEED", "2"))
    return run(seed, numbers_for(1000, seed))


def told(tally: Tally, directory: Path) -> str:
    """Disagreements with the commands that show them again."""
    paths = save([recording for recording, _ in tally.disagreements], directory)
    return "\n".join(
        f"scripts/conformance --replay {path}\n  " + "\n  ".join(problems)
        for path, (_, problems) in zip(paths, tally.disagreements, strict=True)
    )


def test_every_cycle_agrees_with_the_real_one(standard_run: Tally, tmp_path: Path) -> None:
    assert standard_run.failures == []
    assert standard_run.cycles >= 100
    assert not standard_run.disagreements, told(standard_run, tmp_path)


@pytest.mark.full
def test_every_rule_decided_something_in_five_cycles(standard_run: Tally) -> None:
    rare = {rule: standard_run.rules[rule] for rule in REQUIRED}
    assert {rule: times for rule, times in rare.items() if times < _ENOUGH} == {}


def test_many_cycles_evict(standard_run: Tally) -> None:
    assert standard_run.evicting >= 0.4 * standard_run.cycles


def test_what_is_called_chance_is_chance(standard_run: Tally) -> None:
    assert not_chance(standard_run.orders) == []


def test_a_saved_case_is_judged_like_the_run(standard_run: Tally, tmp_path: Path) -> None:
    evicting = next(r for r in standard_run.recordings if r.calls)
    (path,) = save([evicting], tmp_path)
    assert load(path) == evicting
    assert judged([load(path)]).disagreements == []


@pytest.mark.full
@pytest.mark.timeout(5400)
def test_a_thousand_cycles_agree(full_run: Tally, tmp_path: Path) -> None:
    assert full_run.failures == []
    assert full_run.cycles >= 1000
    assert not full_run.disagreements, told(full_run, tmp_path)
    assert not_chance(full_run.orders) == []
