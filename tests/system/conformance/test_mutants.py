"""Wrong variants of our function are noticed: the recorded cycles are sharp enough."""

from collections import Counter

import pytest

from conformance.descheduler.judge.chance import Orders, not_chance, orders_in
from conformance.descheduler.judge.compare import judge
from conformance.descheduler.recording import Recording
from conformance.descheduler.run import Tally
from conformance.descheduler.wrong.mutants import MUTANTS, Mutant
from trimtab.policy import SnapshotView

pytestmark = [pytest.mark.engines, pytest.mark.timeout(600)]


def test_there_are_enough_mutants() -> None:
    names = [mutant.name for mutant in MUTANTS]
    assert len(names) == len(set(names)) >= 25


@pytest.fixture(scope="session")
def seen(standard_run: Tally) -> list[tuple[Recording, SnapshotView]]:
    """All themes in turn: most variants are found sooner."""
    in_turn = sorted(standard_run.recordings, key=lambda r: (r.step, r.session))
    return [(recording, SnapshotView(recording.snapshot)) for recording in in_turn]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_wrong_variant_is_found(
    mutant: Mutant, seen: list[tuple[Recording, SnapshotView]]
) -> None:
    with mutant.at_work():
        assert is_found(seen, mutant.of_view), f"{mutant.rule}: nobody noticed"


def is_found(seen: list[tuple[Recording, SnapshotView]], anew: bool) -> bool:
    """Some cycle disagrees, or an order that is called chance is none."""
    orders: Orders = Counter()
    for recording, view in seen:
        judgement = judge(recording, None if anew else view)
        if judgement.problems:
            return True
        orders += orders_in(judgement)
    return bool(not_chance(orders))
