"""What `lab up` asks of a lab that runs: try again what was given up, put the clock back.

A component that was given up is started at once. One that stays unhealthy after what it needs
is well again is restarted: after a long absence of etcd the API server's client waits for
minutes before it tries again.
"""

import asyncio
from typing import TYPE_CHECKING

import msgspec

from trimtab.errors import TrimtabError
from trimtab.lab.api import LabApiError
from trimtab.lab.components.component import Component, LabPlan
from trimtab.lab.components.objects import CLOCK_PATH, clock_map, wrong_clock
from trimtab.lab.spec import name_option
from trimtab.obs import get_logger

if TYPE_CHECKING:
    from trimtab.lab.supervisor.run import Supervisor


# Which units a new plan concerns, and in which order units stop: pure decisions.


def stop_waves(plan: LabPlan) -> list[list[str]]:
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


def changed_units(old: LabPlan, new: LabPlan) -> set[str]:
    """Units that are gone, new or different in the new plan.

    An API server at another address concerns everybody who needs it: the address is in their
    kubeconfigs, which they read once.
    """
    before, after = old.units, new.units
    changed = {n for n in before.keys() | after.keys() if before.get(n) != after.get(n)}
    if old.server == new.server:
        return changed
    return changed | _dependants(old, changed) | _dependants(new, changed)


def _dependants(plan: LabPlan, names: set[str]) -> set[str]:
    found: set[str] = set()
    while more := {
        name
        for name, unit in plan.units.items()
        if name not in found and not (found | names).isdisjoint(unit.needs)
    }:
        found |= more
    return found


log = get_logger()

HEALTH_GRACE_S = 20.0
"""How long a component may stay unhealthy before it is restarted."""
START_LIMIT_S = 120.0


async def repair(supervisor: "Supervisor") -> list[str]:
    """Begin to repair; what was found, in words. What takes long goes on after the answer."""
    given_up = [u.name for u in supervisor.states.units.values() if u.state == "gave-up"]
    for name in given_up:
        supervisor.revive(name)
    found = [f"{name} had been given up; it is tried again" for name in given_up]
    if supervisor.states.ready(["kube-apiserver"]) and (problem := await clock_problem(supervisor)):
        await _restore_clock(supervisor)
        found.append(f"{problem}; it was put back")
    supervisor.in_background("repair", _heal(supervisor))
    return found


async def _heal(supervisor: "Supervisor") -> None:
    """In the order of starts: whatever stays unhealthy is restarted."""
    for wave in reversed(stop_waves(supervisor.plan)):
        names = [n for n in wave if isinstance(supervisor.plan.units[n], Component)]
        await _settled(supervisor, names, ("ready", "gave-up", "unhealthy"), START_LIMIT_S)
        sick = [name for name in names if _state(supervisor, name) == "unhealthy"]
        await _settled(supervisor, sick, ("ready", "gave-up"), HEALTH_GRACE_S)
        for name in sick:
            if _state(supervisor, name) == "unhealthy":
                log.warning("unhealthy component restarted", unit=name)
                await supervisor.restart(name)
    if await clock_problem(supervisor):
        await _restore_clock(supervisor)


async def _settled(
    supervisor: "Supervisor", names: list[str], states: tuple[str, ...], limit_s: float
) -> None:
    """Wait until each of them has one of these states, or the time is over."""
    try:
        async with asyncio.timeout(limit_s):
            await supervisor.states.until(
                lambda: all(_state(supervisor, name) in (*states, "") for name in names)
            )
    except TimeoutError:
        return


def _state(supervisor: "Supervisor", name: str) -> str:
    """Empty for a component that a changed plan has removed meanwhile."""
    unit = supervisor.states.units.get(name)
    return unit.state if unit else ""


async def clock_problem(supervisor: "Supervisor") -> str:
    """What is wrong with the clock that everybody reads; nothing if that cannot be known now."""
    try:
        found = msgspec.json.decode(await supervisor.api.get(CLOCK_PATH)).get("data") or {}
    except LabApiError as error:
        found = None if error.status == 404 else clock_map(supervisor.spec.clock)["data"]
    except (TrimtabError, ValueError):
        return ""
    return wrong_clock(supervisor.spec.clock, found)


async def watch_clock(supervisor: "Supervisor") -> None:
    """Warn while the clock is gone or wrong."""
    if not supervisor.states.ready(["kube-apiserver", "objects"]):
        return
    problem = await clock_problem(supervisor)
    hint = f"put it back: trimtab lab up{name_option(supervisor.spec.name)}"
    supervisor.states.warn("clock", problem and f"{problem}; {hint}")


async def _restore_clock(supervisor: "Supervisor") -> None:
    try:
        await supervisor.api.apply(clock_map(supervisor.spec.clock))
    except TrimtabError as error:
        supervisor.states.warn("clock", f"the lab's clock could not be put back: {error}")
        return
    log.info("clock restored", scale=supervisor.spec.clock.scale)
    supervisor.states.warn("clock", "")
