"""Differences between KubeVirt and trimtab's own VMs that are known, with the reason for each.

Each covers as little as it can: what else follows from it must follow exactly.
docs/reference/kubevirt-conformance.md has the same list in a table.
"""

from collections.abc import Callable

from msgspec import Struct

from conformance.kubevirt.course import Course, Fate, Move
from conformance.kubevirt.scenario import Scenario
from trimtab.virt.migration_backoff import FINISHED_KEPT


class Aspect(Struct, frozen=True):
    """What may differ: an answer to a step, something of a VM, something of the whole."""

    name: str
    number: int = -1

    def __str__(self) -> str:
        if self.name == "answer":
            return f"answer to step {self.number}"
        if self.name.endswith("beyond"):
            return f"{self.name} the limit of {self.number}"
        return self.name if self.number < 0 else f"{self.name} of VM {self.number}"


class Pair(Struct, frozen=True):
    """One scenario, twice."""

    scenario: Scenario
    ours: Course
    theirs: Course

    def answers(self, step: int) -> tuple[str, str]:
        return self.ours.answers[step], self.theirs.answers[step]

    def fates(self, vm: int) -> tuple[Fate, Fate]:
        return self.ours.fates[vm], self.theirs.fates[vm]


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
    return _has_more(pair, aspect, IN_FLIGHT, Move("person", (*COPIED, "Succeeded")))


def _refused_later(pair: Pair, aspect: Aspect) -> bool:
    """Ours fails at once; KubeVirt does not let it be created."""
    if aspect.name == "answer":
        return pair.answers(aspect.number) == CANNOT
    return _has_more(pair, aspect, CANNOT, NEVER_BEGUN)


def _has_more(pair: Pair, aspect: Aspect, answers: tuple[str, str], extra: Move) -> bool:
    """Ours has one `extra` move for each step answered so, and all else of the VM follows."""
    steps = enumerate(pair.scenario.steps)
    if aspect.name not in ("moves", "moved", "at", "kept"):
        return False
    count = sum(
        step.on == aspect.number and step.deed == "migrate" and pair.answers(number) == answers
        for number, step in steps
    )
    ours, theirs = pair.fates(aspect.number)
    moved = count if extra.phases[-1] == "Succeeded" else 0
    rest = list(ours.moves)
    for _ in range(min(count, rest.count(extra))):
        rest.reverse()
        rest.remove(extra)  # the last one
        rest.reverse()
    return (
        count > 0
        and len(ours.moves) - len(rest) == count
        and tuple(rest) == theirs.moves
        and ours.moved - theirs.moved == moved
        and (pair.scenario.nodes > 2 or (ours.at != theirs.at) == (moved % 2 == 1))
        and ours.kept == min(FINISHED_KEPT, theirs.kept + count)
    )


def _target_of_a_marked_vm(pair: Pair, aspect: Aspect) -> bool:
    return aspect.name == "answer" and pair.answers(aspect.number) == (
        "429 target",
        "429 marked again",
    )


def _history_of_an_instance(pair: Pair, aspect: Aspect) -> bool:
    """Both have started anew equally often, and ours keeps all that ended."""
    if aspect.name != "kept":
        return False
    ours, theirs = pair.fates(aspect.number)
    ended = min(FINISHED_KEPT, len(ours.moves))
    return ours.lives == theirs.lives > 1 and ours.kept == ended > theirs.kept


def _lost_target(pair: Pair, aspect: Aspect) -> bool:
    """Up to the copy all is alike; then ours ends well, and KubeVirt's fails.

    KubeVirt tries an evacuation again, so the VM moves in the end; a person has to ask again.
    """
    if not any(step.deed == "lose" for step in pair.scenario.steps):
        return False
    ours, theirs = pair.fates(0)
    cause = pair.ours.fates[0].moves[0].cause if ours.moves else "person"
    well, badly = (Move(cause, (*COPIED, end)) for end in ("Succeeded", "Failed"))
    again = (well,) if cause == "eviction" else ()
    if ours.moves != (well,) or theirs.moves != (badly, *again):
        return False
    if aspect.name == "missed":
        return set(pair.ours.missed) - set(pair.theirs.missed) == _revivals(pair.scenario)
    return aspect.name in ("moves", "moved", "at", "kept", "backoff")


def _revivals(scenario: Scenario) -> set[int]:
    """Steps that wait for a failure which ours never has."""
    return {at for at, step in enumerate(scenario.steps) if step.when.kind == "failed"}


def _asked_in_time(pair: Pair, aspect: Aspect) -> bool:
    """Some overtakings in KubeVirt, not by all that people asked for, and never one of ours.

    virt-controller puts whoever found no slot back into its queue after 1, 3 or 5 s by priority,
    and several workers take from it; only an end of a migration wakes those with the highest
    priority, as many as the cluster's limit, whichever node they leave.
    """
    asked = sum(step.deed == "migrate" for step in pair.scenario.steps)
    return aspect.name == "overtaken" and pair.ours.overtaken == 0 < pair.theirs.overtaken < asked


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
    Known(
        "asked in time",
        "those who wait in KubeVirt ask again by timers of their own, and whoever asks first "
        "after a slot is free gets it; the queue's priorities decide only between those at hand",
        _asked_in_time,
    ),
)
