"""Scenarios as they were played in both worlds, kept in a file: one line of JSON for each.

A run goes on where an earlier one stopped, and what was played is compared anew, without labs,
when the rules of the comparison change.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct, json

from conformance.kubevirt.compare import Compared, compare
from conformance.kubevirt.course import Course
from conformance.kubevirt.scenario import LIMITS, Scenario
from trimtab.virt.slots import MigrationLimits

WIDE = 10_000
"""Migrations at a time in the cluster, where scenarios are not about that limit."""


class Played(Struct, frozen=True):
    """One scenario and its two courses."""

    scenario: Scenario
    ours: Course
    theirs: Course

    def compared(self) -> Compared:
        return compare(self.scenario, self.ours, self.theirs, limits_of(self.scenario))


def limits_of(scenario: Scenario) -> MigrationLimits:
    """KubeVirt's own; scenarios side by side must not wait for each other's slots."""
    return MigrationLimits() if scenario.theme == LIMITS else MigrationLimits(cluster=WIDE)


def load(path: Path) -> list[Played]:
    """What was played so far; nothing if there is no such file."""
    if not path.exists():
        return []
    return [json.decode(line, type=Played) for line in path.read_bytes().splitlines()]


def append(path: Path, played: Played) -> None:
    with path.open("ab") as file:
        file.write(json.encode(played) + b"\n")


def left_over(wanted: Iterable[Scenario], known: Iterable[Played]) -> Iterator[Scenario]:
    """Scenarios that were not played yet."""
    done = {each.scenario for each in known}
    return (each for each in wanted if each not in done)
