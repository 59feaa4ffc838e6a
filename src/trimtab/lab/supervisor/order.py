"""In which order units stop: whoever needs another stops before it."""

from trimtab.lab.component import Plan


def stop_waves(plan: Plan) -> list[list[str]]:
    """Groups that may stop at the same time, the first group first. The plan has no cycles."""
    needs = {name: set(unit.needs) for name, unit in plan.units.items()}
    waves: list[list[str]] = []
    while needs:
        needed = set().union(*needs.values())
        wave = sorted(needs.keys() - needed)
        waves.append(wave)
        needs = {name: others for name, others in needs.items() if name not in wave}
    return waves
