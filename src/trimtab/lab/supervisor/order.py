"""Which units a new plan concerns, and in which order units stop: pure decisions."""

from trimtab.lab.components.component import Plan


def stop_waves(plan: Plan) -> list[list[str]]:
    """Groups that may stop at the same time; a component stops before those that it needs.

    The plan has no cycles.
    """
    needs = {name: set(unit.needs) for name, unit in plan.units.items()}
    waves: list[list[str]] = []
    while needs:
        needed = set().union(*needs.values())
        wave = sorted(needs.keys() - needed)
        waves.append(wave)
        needs = {name: others for name, others in needs.items() if name not in wave}
    return waves


def changed_units(old: Plan, new: Plan) -> set[str]:
    """Units that are gone, new or different in the new plan.

    An API server at another address concerns everybody who needs it: the address is in their
    kubeconfigs, which they read once.
    """
    before, after = old.units, new.units
    changed = {n for n in before.keys() | after.keys() if before.get(n) != after.get(n)}
    if old.server == new.server:
        return changed
    return changed | _dependants(old, changed) | _dependants(new, changed)


def _dependants(plan: Plan, names: set[str]) -> set[str]:
    found: set[str] = set()
    while more := {
        name
        for name, unit in plan.units.items()
        if name not in found and not (found | names).isdisjoint(unit.needs)
    }:
        found |= more
    return found
