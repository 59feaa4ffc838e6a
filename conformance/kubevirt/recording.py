"""What became of scenarios in one world or both, kept in a directory: one line of JSON for each.

The two worlds have a file each, so that they can be played at different times. A run goes on
where an earlier one stopped, and what was played is compared anew, without labs, when the rules
of the comparison change. What the real KubeVirt did is also kept beside this file, so that ours
can be held against it without a second lab.
"""

import lzma
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct, json

from conformance.kubevirt.compare import Compared, compare
from conformance.kubevirt.course import Course
from conformance.kubevirt.scenario import LIMITS, Scenario
from trimtab.virt.slots import MigrationLimits

Side = Literal["ours", "theirs"]
Courses = dict[Scenario, Course]
WIDE = 10_000
"""Migrations at a time in the cluster, where scenarios are not about that limit."""


RECORDED = Path(__file__).with_name("courses.xz")


class Played(Struct, frozen=True):
    """One scenario in one world."""

    scenario: Scenario
    course: Course


def limits_of(scenario: Scenario) -> MigrationLimits:
    """KubeVirt's own; scenarios side by side must not wait for each other's slots."""
    return MigrationLimits() if scenario.theme == LIMITS else MigrationLimits(cluster=WIDE)


def load(directory: Path, side: Side) -> Courses:
    """What was played so far; nothing if there is no such file."""
    path = directory / f"{side}.jsonl"
    return decoded(path.read_bytes()) if path.exists() else {}


def decoded(lines: bytes) -> Courses:
    """The last course of each scenario."""
    return _courses(json.decode(line, type=Played) for line in lines.splitlines())


def recorded() -> Courses:
    """What the real KubeVirt made of many scenarios."""
    return decoded(lzma.decompress(RECORDED.read_bytes()))


def record(theirs: Courses) -> None:
    lines = [json.encode(Played(each, theirs[each])) for each in sorted(theirs, key=_order)]
    RECORDED.write_bytes(lzma.compress(b"\n".join(lines), preset=9))


def _order(scenario: Scenario) -> tuple[bool, int, int]:
    return scenario.theme == LIMITS, scenario.seed, scenario.number


def append(directory: Path, side: Side, played: Played) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / f"{side}.jsonl").open("ab") as file:
        file.write(json.encode(played) + b"\n")


def left_over(wanted: Iterable[Scenario], known: Mapping[Scenario, Course]) -> list[Scenario]:
    """Scenarios that were not played yet."""
    return [each for each in wanted if each not in known]


def compared(ours: Courses, theirs: Courses) -> list[Compared]:
    """All scenarios that were played in both worlds."""
    return [
        compare(scenario, ours[scenario], course, limits_of(scenario))
        for scenario, course in theirs.items()
        if scenario in ours
    ]


def _courses(played: Iterable[Played]) -> Courses:
    return {each.scenario: each.course for each in played}
