"""Differences between KubeVirt and trimtab's own VMs that are known, with the reason for each.

Each covers as little as it can: what else follows from it must follow exactly.
docs/reference/kubevirt-conformance.md has the same list in a table.
"""

from collections.abc import Callable

from msgspec import Struct

from conformance.kubevirt.course import Course, Move
from conformance.kubevirt.scenario import Scenario


class Aspect(Struct, frozen=True):
    """What may differ: an answer to a step, something of a VM, something of the whole."""

    name: str
    number: int = -1

    def __str__(self) -> str:
        if self.name == "answer":
            return f"answer to step {self.number}"
        if self.name == "leaving":
            return f"migrations from one node (limit {self.number})"
        return self.name if self.number < 0 else f"{self.name} of VM {self.number}"


class Pair(Struct, frozen=True):
    """One scenario, twice."""

    scenario: Scenario
    ours: Course
    theirs: Course

    def answers(self, step: int) -> tuple[str, str]:
        return self.ours.answers[step], self.theirs.answers[step]

    def moves(self, vm: int) -> tuple[tuple[Move, ...], tuple[Move, ...]]:
        return self.ours.fates[vm].moves, self.theirs.fates[vm].moves


class Known(Struct, frozen=True):
    """`covers` says whether an aspect differs for this reason."""

    name: str
    reason: str
    covers: Callable[[Pair, Aspect], bool]


IN_FLIGHT = ("done", "400 in flight")
CANNOT = ("done", "400 cannot migrate")
COPIED = ("Pending", "Scheduling", "Copying")
NEVER_BEGUN = Move("person", ("Pending", "Failed"))


def _second_migration(pair: Pair, aspect: Aspect) -> bool:
    """Ours waits for its turn and is carried out; KubeVirt refuses it."""
    if aspect.name == "answer":
        return pair.answers(aspect.number) == IN_FLIGHT
    extra = _requests(pair, aspect.number, IN_FLIGHT)
    if not extra or aspect.name not in ("moves", "moved", "at", "kept"):
        return False
    ours, theirs = pair.moves(aspect.number)
    rest = list(ours)
    for move in reversed(ours):
        if move.cause == "person" and extra:
            rest.remove(move)
            extra -= 1
    return tuple(rest) == theirs


def _refused_later(pair: Pair, aspect: Aspect) -> bool:
    """Ours fails at once; KubeVirt does not let it be created."""
    if aspect.name == "answer":
        return pair.answers(aspect.number) == CANNOT
    extra = _requests(pair, aspect.number, CANNOT)
    if not extra or aspect.name not in ("moves", "kept"):
        return False
    ours, theirs = pair.moves(aspect.number)
    return tuple(move for move in ours if move != NEVER_BEGUN) == theirs


def _requests(pair: Pair, vm: int, answers: tuple[str, str]) -> int:
    """How many of a VM's steps were answered so."""
    steps = enumerate(pair.scenario.steps)
    return sum(step.on == vm and pair.answers(number) == answers for number, step in steps)


def _target_of_a_marked_vm(pair: Pair, aspect: Aspect) -> bool:
    return aspect.name == "answer" and pair.answers(aspect.number) == (
        "429 target",
        "429 marked again",
    )


def _history_of_an_instance(pair: Pair, aspect: Aspect) -> bool:
    if aspect.name != "kept":
        return False
    ours, theirs = (side.fates[aspect.number] for side in (pair.ours, pair.theirs))
    return ours.lives == theirs.lives > 1 and ours.kept > theirs.kept


def _lost_target(pair: Pair, aspect: Aspect) -> bool:
    """Up to the copy all is alike; then ours ends well, and KubeVirt's fails."""
    if not any(step.deed == "lose" for step in pair.scenario.steps) or aspect.name == "answer":
        return False
    ours, theirs = (moves[0] for moves in pair.moves(0))
    return (
        ours.cause == theirs.cause
        and ours.phases == (*COPIED, "Succeeded")
        and theirs.phases == (*COPIED, "Failed")
    )


KNOWN: tuple[Known, ...] = (
    Known(
        "second migration",
        "KubeVirt refuses a migration of a VM that has an unfinished one; ours has no webhook "
        "for migrations and lets it wait for its turn",
        _second_migration,
    ),
    Known(
        "refused later",
        "KubeVirt refuses a migration of a VM that cannot migrate; ours creates it and fails it",
        _refused_later,
    ),
    Known(
        "target of a marked VM",
        "ours says that the pod is a target, so that nobody counts its eviction as under way",
        _target_of_a_marked_vm,
    ),
    Known(
        "history of an instance",
        "KubeVirt deletes the migrations of a VMI with it; ours belong to the VM and stay",
        _history_of_an_instance,
    ),
    Known(
        "lost target",
        "a copy to a node that stops answering fails in KubeVirt at once; our controller follows "
        "pods and no nodes, so it ends there, and the VM starts again when its pod is given up",
        _lost_target,
    ),
)
