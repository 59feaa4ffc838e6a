"""Two courses of one scenario: what differs, and what of it is known and why. Pure.

A known difference is a rule of `differences`; anything else is a fault of one of the two.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec import Struct

from conformance.kubevirt.course import Course, Fate, Move
from conformance.kubevirt.differences import KNOWN, Aspect, Pair
from conformance.kubevirt.scenario import LIMITS, Scenario
from trimtab.virt.slots import MigrationLimits

Found = tuple[Aspect, object, object]
ABOUT_SLOTS = ("leaving", "together", "overtaken")
"""Compared where a scenario has the cluster's slots to itself and wants more than there are."""


class Difference(Struct, frozen=True):
    """Something that the two worlds do not have in common; `why` is empty if nobody knows why."""

    aspect: Aspect
    ours: str
    theirs: str
    why: str = ""

    def __str__(self) -> str:
        said = f" ({self.why})" if self.why else ""
        return f"{self.aspect}: trimtab {self.ours}, KubeVirt {self.theirs}{said}"


class Compared(Struct, frozen=True):
    scenario: Scenario
    ours: Course
    theirs: Course
    differences: tuple[Difference, ...]

    @property
    def unexplained(self) -> tuple[Difference, ...]:
        return tuple(each for each in self.differences if not each.why)


def compare(scenario: Scenario, ours: Course, theirs: Course, limits: MigrationLimits) -> Compared:
    """`limits` are those of both labs."""
    pair = Pair(scenario, ours, theirs)
    explained = []
    for aspect, mine, other in [*_differing(pair), *_beyond(ours, theirs, limits)]:
        why = next((known.name for known in KNOWN if known.covers(pair, aspect)), "")
        explained.append(Difference(aspect, _text(mine), _text(other), why))
    return Compared(scenario, ours, theirs, tuple(explained))


def _differing(pair: Pair) -> Iterator[Found]:
    scenario, ours, theirs = pair.scenario, pair.ours, pair.theirs
    for number in range(len(scenario.steps)):
        mine, other = ours.answers[number], theirs.answers[number]
        if mine != other:
            yield Aspect("answer", number), mine, other
    for name in ("missed", "settled", *(ABOUT_SLOTS if scenario.theme == LIMITS else ())):
        mine, other = getattr(ours, name), getattr(theirs, name)
        if mine != other:
            yield Aspect(name), mine, other
    for number, fates in enumerate(zip(ours.fates, theirs.fates, strict=True)):
        for name in _names_of(scenario, max(fate.lives for fate in fates)):
            mine, other = (getattr(fate, name) for fate in fates)
            if mine != other:
                yield Aspect(name, number), mine, other


def _names_of(scenario: Scenario, lives: int) -> list[str]:
    """With two nodes it is sure where a VM moves; else, or for a new start, the scheduler says."""
    names = list(Fate.__struct_fields__)
    if scenario.nodes > 2 or lives > 1:
        names.remove("at")
    return names


def _beyond(ours: Course, theirs: Course, limits: MigrationLimits) -> Iterator[Found]:
    for name, limit in (("leaving", limits.node), ("together", limits.cluster)):
        mine, other = getattr(ours, name), getattr(theirs, name)
        if max(mine, other) > limit:
            yield Aspect(f"{name} beyond", limit), mine, other


def _text(value: object) -> str:
    if isinstance(value, tuple) and value and all(isinstance(each, Move) for each in value):
        return "; ".join(f"{each.cause} {'>'.join(each.phases)}" for each in value)
    return str(value)


# What many comparisons say together: how many scenarios of each theme agree, and what differs.


def table(compared: Iterable[Compared]) -> Iterator[str]:
    """A Markdown table with a row for each theme, and one for all."""
    every = list(compared)
    themes = list(dict.fromkeys(each.scenario.theme for each in every))
    names = [known.name for known in KNOWN]
    yield f"| theme | scenarios | agree | {' | '.join(names)} | unexplained |"
    yield "|---|" + "---|" * (len(names) + 3)
    for theme in themes:
        yield _row(theme, [each for each in every if each.scenario.theme == theme], names)
    yield _row("all", every, names)


def _row(theme: str, compared: list[Compared], names: list[str]) -> str:
    by_rule = Counter(why for each in compared for why in {d.why for d in each.differences} if why)
    cells = [
        len(compared),
        sum(not each.differences for each in compared),
        *(by_rule[name] for name in names),
        sum(bool(each.unexplained) for each in compared),
    ]
    return f"| {theme} | {' | '.join(map(str, cells))} |"


def by_kind(compared: Iterable[Compared]) -> Counter[str]:
    """Differences by what differs: an answer, the moves of a VM and so on."""
    return Counter(difference.aspect.name for each in compared for difference in each.differences)


def answers(compared: Iterable[Compared]) -> Counter[str]:
    """What KubeVirt answered to the steps."""
    return Counter(answer for each in compared for answer in each.theirs.answers)


def waits(compared: Iterable[Compared]) -> Counter[int]:
    """Waits after failures that KubeVirt took, in seconds."""
    return Counter(
        int(20 * 2.0**power)
        for each in compared
        for fate in each.theirs.fates
        for power in fate.backoff
    )
