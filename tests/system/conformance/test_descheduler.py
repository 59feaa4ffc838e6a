"""The real descheduler and `trimtab.policy` decide alike: numbers, classes, orders, victims."""

import os
from pathlib import Path

import pytest

from builders.examples import FULL
from conformance.descheduler.judge.chance import not_chance
from conformance.descheduler.judge.rules import REQUIRED
from conformance.descheduler.recording import load, save
from conformance.descheduler.run import Tally, judged, numbers_for, run

pytestmark = [pytest.mark.engines, pytest.mark.timeout(5400)]
_ENOUGH = 5
CYCLES = 1000 if FULL else 100


@pytest.fixture(scope="module")
def tally() -> Tally:
    """Every second theme; in the full tier all of them many times, with the seed TRIMTAB_SEED.

    All themes of the first seed are also replayed from a file (tests/unit/policy).
    """
    if FULL:
        seed = int(os.environ.get("TRIMTAB_SEED", "2"))
        return run(seed, numbers_for(CYCLES, seed), keep=True)
    return run(1, numbers_for(120, 1)[::2], keep=True)


def told(found: Tally, directory: Path) -> str:
    """Disagreements with the commands that show them again."""
    paths = save([recording for recording, _ in found.disagreements], directory)
    return "\n".join(
        f"scripts/conformance --replay {path}\n  " + "\n  ".join(problems)
        for path, (_, problems) in zip(paths, found.disagreements, strict=True)
    )


def test_every_cycle_agrees_with_the_real_one(tally: Tally, tmp_path: Path) -> None:
    assert tally.failures == []
    assert tally.cycles >= CYCLES
    assert not tally.disagreements, told(tally, tmp_path)


@pytest.mark.full
def test_every_rule_decided_something_in_five_cycles(tally: Tally) -> None:
    rare = {rule: tally.rules[rule] for rule in REQUIRED}
    assert {rule: times for rule, times in rare.items() if times < _ENOUGH} == {}


def test_many_cycles_evict(tally: Tally) -> None:
    assert tally.evicting >= 0.4 * tally.cycles


def test_what_is_called_chance_is_chance(tally: Tally) -> None:
    assert not_chance(tally.orders) == []


def test_a_saved_case_is_judged_like_the_run(tally: Tally, tmp_path: Path) -> None:
    evicting = next(r for r in tally.recordings if r.calls)
    (path,) = save([evicting], tmp_path)
    assert load(path) == evicting
    assert judged([load(path)]).disagreements == []
