"""When to start a dead component again: a pure decision."""

from msgspec import Struct

from trimtab.lab.components.component import Restart


class Again(Struct, frozen=True):
    """Start it after `wait_s`; `quick_deaths` is what to remember."""

    wait_s: float
    quick_deaths: int


class GiveUp(Struct, frozen=True):
    """It died too often too soon: somebody must look."""

    quick_deaths: int


def after_death(rule: Restart, quick_deaths: int, lived_s: float) -> Again | GiveUp:
    """A long life forgives everything; quick deaths double the wait until there are too many."""
    if lived_s >= rule.quick_s:
        return Again(rule.first_s, 0)
    count = quick_deaths + 1
    if count >= rule.give_up_after:
        return GiveUp(count)
    return Again(min(rule.longest_s, rule.first_s * 2 ** (count - 1)), count)
