"""Random scenarios. Each theme is one kind of trouble; the seed and the number decide the rest."""

from collections.abc import Callable, Sequence
from random import Random
from typing import get_args

from conformance.kubevirt.scenario import LIMITS, Deed, Machine, Moment, Scenario, Step
from trimtab.virt.eviction import EvictionStrategy

Drawn = tuple[int, tuple[Machine, ...], tuple[Step, ...]]
STRATEGIES = get_args(EvictionStrategy)
WHILE_COPYING: Sequence[Deed] = ("evict", "evict-target", "migrate")


def evictions(chance: Random) -> Drawn:
    """Any VM is evicted, some of them again while they move."""
    machines = tuple(_any_machine(chance, node=0) for _ in range(chance.randint(1, 3)))
    when = Moment(chance.choice(("settled", "now")))
    steps = [Step("evict", at, when) for at in range(len(machines))]
    moving = [at for at, vm in enumerate(machines) if _migrates(vm)]
    if moving:
        vm = chance.choice(moving)
        steps.insert(vm + 1, Step(chance.choice(WHILE_COPYING), vm, Moment("copying", vm)))
    return chance.choice((2, 3)), machines, tuple(steps)


def people(chance: Random) -> Drawn:
    """Somebody migrates a VM, to anywhere or to a node, once or again and again."""
    machine = _any_machine(chance, node=0, movable=0.8)
    nodes, steps = chance.choice((2, 3)), []
    for turn in range(chance.randint(1, 2)):
        to = chance.choice((None, 1)) if turn == 0 else None
        steps.append(Step("migrate", 0, to=to))
        if machine.migratable and chance.random() < 0.5:
            steps.append(Step(chance.choice(WHILE_COPYING), 0, Moment("copying")))
    return nodes, (machine,), tuple(steps)


def failures(chance: Random) -> Drawn:
    """The target pod dies under the copy, up to three times; people may ask again, or a drain."""
    times: int = chance.choices((1, 2, 3), (6, 3, 1))[0]
    crash = Step("kill-target", 0, Moment("copying"))
    if chance.random() < 0.7:
        steps = [Step("evict", 0), *[crash] * times]
    else:
        again: Deed = chance.choice(("migrate", "evict"))
        steps = [Step("migrate", 0), crash, Step(again, 0), *[crash] * (times - 1)]
    return chance.choice((2, 3)), (Machine(),), tuple(steps)


def cancellations(chance: Random) -> Drawn:
    """A migration is deleted while it copies, or while its target finds no node."""
    first: Deed = chance.choice(("evict", "migrate"))
    if chance.random() < 0.5:
        return 2, (Machine(),), (Step(first, 0), Step("cancel", 0, Moment("copying")))
    stuck = Moment("scheduling")
    return (
        2,
        (Machine(),),
        (Step("cordon", 1), Step(first, 0), Step("cancel", 0, stuck), Step("uncordon", 1, stuck))
        if first == "evict"
        else (Step("cordon", 1), Step(first, 0), Step("cancel", 0, stuck), Step("uncordon", 1)),
    )


def endings(chance: Random) -> Drawn:
    """A VM is deleted or stopped, or loses its pod, in the course of a migration or at rest."""
    first: Deed = chance.choice(("evict", "migrate"))
    last: Deed = chance.choice(("delete", "stop", "kill-pod"))
    steps: tuple[Step, ...]
    match chance.choice(("copying", "scheduling", "settled")):
        case "copying":
            steps = (Step(first, 0), Step(last, 0, Moment("copying")))
        case "scheduling":
            stuck = Moment("scheduling")
            steps = (Step("cordon", 1), Step(first, 0), Step(last, 0, stuck), Step("uncordon", 1))
            if last == "kill-pod":  # the place has no other node for the new pod
                steps = (*steps[:3], Step("uncordon", 1, Moment("failed")))
        case _:
            steps = (Step(last, 0),)
    if last == "stop":
        steps = (*steps, Step("start", 0))
    return 2, (Machine(),), steps


def drains(chance: Random) -> Drawn:
    """A node is drained; a few VMs of any kind are on it, others elsewhere."""
    nodes = chance.choice((2, 3))
    machines = tuple(
        _any_machine(chance, node=0 if chance.random() < 0.8 else 1, movable=0.85)
        for _ in range(chance.randint(2, 5))
    )
    return nodes, machines, (Step("drain", 0), Step("uncordon", 0))


def crowds(chance: Random) -> Drawn:
    """People migrate some VMs of a node while others are evicted from it; one may be deleted."""
    machines = tuple(Machine(0) for _ in range(chance.randint(3, 5)))
    deeds: Sequence[Deed] = ("evict", "migrate")
    steps = [Step(chance.choice(deeds), at, Moment("now")) for at in range(len(machines))]
    if chance.random() < 0.4:
        steps.append(Step("delete", 0, Moment("copying", 0)))
    return chance.choice((2, 3)), machines, tuple(steps)


def stuck(chance: Random) -> Drawn:
    """No node takes the VM for a while; then one does."""
    first: Deed = chance.choice(("evict", "migrate"))
    between: list[Step] = []
    if chance.random() < 0.6:
        deed: Deed = chance.choice(WHILE_COPYING)
        between.append(Step(deed, 0, Moment("scheduling")))
    steps = (Step("cordon", 1), Step(first, 0), *between, Step("uncordon", 1, Moment("scheduling")))
    return 2, (Machine(),), steps


def losses(chance: Random) -> Drawn:
    """A node stops answering and comes back before anybody gives its VMs up."""
    first: Deed = chance.choice(("evict", "migrate"))
    lost = 1  # the target's
    steps = (
        Step(first, 0),
        Step("lose", lost, Moment("copying")),
        Step("revive", lost, Moment("failed")),
    )
    return 2, (Machine(),), steps


THEMES: dict[str, Callable[[Random], Drawn]] = {
    each.__name__: each
    for each in (evictions, people, failures, cancellations, endings, drains, crowds, stuck, losses)
}


def scenario(seed: int, number: int) -> Scenario:
    """The themes take turns, so that any few scenarios have all of them."""
    theme = list(THEMES)[number % len(THEMES)]
    nodes, machines, steps = THEMES[theme](Random(f"{seed} {number}"))
    return Scenario(seed, number, theme, nodes, machines, steps)


def limits(seed: int, number: int) -> Scenario:
    """Many VMs on three nodes want to leave at once: who waits for whom.

    The last one may fail or be deleted on its way; an earlier one could have arrived by then.
    """
    chance = Random(f"limits {seed} {number}")
    machines = tuple(Machine(chance.choice((0, 0, 1, 2))) for _ in range(chance.randint(9, 12)))
    deeds: Sequence[Deed] = chance.choice((("evict",), ("evict", "migrate"), ("migrate",)))
    turns = chance.sample(range(len(machines)), len(machines))
    steps = [Step(chance.choice(deeds), at, Moment("now")) for at in turns]
    if chance.random() < 0.5:
        deed: Deed = chance.choice(("kill-target", "delete"))
        steps.append(Step(deed, turns[-1], Moment("copying", turns[-1])))
    return Scenario(seed, number, LIMITS, 3, machines, tuple(steps))


def _any_machine(chance: Random, *, node: int, movable: float = 0.7) -> Machine:
    if chance.random() < movable:
        return Machine(node, chance.choice(("LiveMigrate", "LiveMigrateIfPossible")))
    return Machine(node, chance.choice(STRATEGIES), migratable=chance.random() < 0.4)


def _migrates(vm: Machine) -> bool:
    return vm.migratable and vm.strategy != "None"
