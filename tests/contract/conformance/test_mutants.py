"""Wrong variants of our function are noticed: the recorded cycles are sharp enough.

Each is put in place of the right one, and the recorded cycles are judged again.
"""

import pytest

from conformance.descheduler import RECORDED
from conformance.descheduler.recording import load_together
from conformance.descheduler.selection import Seen, in_turn, is_found
from conformance.descheduler.wrong.mutants import MUTANTS, Mutant


def test_there_are_enough_mutants() -> None:
    names = [mutant.name for mutant in MUTANTS]
    assert len(names) == len(set(names)) >= 25


@pytest.fixture(scope="module")
def seen() -> list[Seen]:
    return in_turn(load_together(RECORDED))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_wrong_variant_is_found(mutant: Mutant, seen: list[Seen]) -> None:
    assert is_found(mutant, seen), f"{mutant.rule}: nobody noticed"
