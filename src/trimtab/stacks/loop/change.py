"""Changing a loop while it runs: another score, another scenario.

The score goes into the ConfigMap, as with `kubectl apply`, and the projector says what became
of it. A scenario goes to the scenario service, which removes the old VMs first.
"""

import asyncio
import time

import msgspec
from msgspec import structs

from trimtab.errors import ConfigError, NotReady, TrimtabError, Unavailable
from trimtab.files.writing import write_private
from trimtab.kube.resources import CONFIG_MAPS, ConfigMap
from trimtab.kube.worlds import World
from trimtab.lab import control
from trimtab.lab.spec import name_option
from trimtab.model.scenarios.scenario import Scenario
from trimtab.stacks.loop.connection import Loop
from trimtab.stacks.loop.projector.policy_file import with_algorithm
from trimtab.stacks.loop.projector.projection import ACCEPTED, JUDGED, OUTCOME, digest
from trimtab.stacks.loop.scenario.objects import Script, script_of
from trimtab.stacks.loop.scenario.player import read_script
from trimtab.stacks.loop.settings import POLICY_KEY, POLICY_MAP, SCRIPT_FILE, STACK

LIMIT_S, LOOK_S = 150.0, 0.1
PATIENCE_S: dict[World, float] = {"trimtab": 0.0, "kubevirt": 600.0}
"""How much longer VMs may take to go and to come: KubeVirt has delays that do not scale."""
UNDER_WAY = frozenset(("waiting", "starting", "unhealthy"))


async def change_algorithm(loop: Loop, name: str) -> None:
    """Put another score into the policy and wait until the descheduler runs with it."""
    config = await _policy_map(loop)
    text = with_algorithm(
        config.data.get(POLICY_KEY, ""), name, "ConfigMap " + "/".join(POLICY_MAP)
    )
    await change_policy(loop, text)


async def change_policy(loop: Loop, text: str) -> None:
    """Put another policy into the ConfigMap; an error says why it was refused."""
    namespace, name = POLICY_MAP
    await loop.api.patch(CONFIG_MAPS, name, {"data": {POLICY_KEY: text}}, namespace)
    outcome = await _outcome(loop, digest(text))
    if outcome != ACCEPTED:
        raise TrimtabError(f"the policy was {outcome}; the old one keeps running")


async def _outcome(loop: Loop, mark: str) -> str:
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        annotations = (await _policy_map(loop)).metadata.annotations
        if annotations.get(JUDGED) == mark:
            return annotations.get(OUTCOME, "")
        await asyncio.sleep(LOOK_S)
    raise Unavailable("nobody took the new policy; look at: trimtab lab logs projector")


async def _policy_map(loop: Loop) -> ConfigMap:
    namespace, name = POLICY_MAP
    return await loop.api.get(CONFIG_MAPS, name, namespace)


def current_scenario(loop: Loop) -> Script:
    """The scenario whose VMs are there."""
    file = loop.lab.path / SCRIPT_FILE
    return read_script(file.read_bytes(), str(file))


def change_scenario(loop: Loop, scenario: Scenario | None) -> Script:
    """Start over with a scenario, or once more with the one that is there; returns when it runs."""
    file = loop.lab.path / SCRIPT_FILE
    old = current_scenario(loop)
    script = old if scenario is None else script_of(scenario)
    if len(script.nodes) > loop.spec.nodes:
        raise ConfigError(
            f"scenario {script.name} has {len(script.nodes)} nodes, the lab {loop.spec.nodes}; "
            f"first: trimtab lab up{name_option(loop.lab.name)} --nodes {len(script.nodes)}"
        )
    fresh = structs.replace(script, run=old.run + 1)
    write_private(file, msgspec.json.encode(fresh))
    _restart_scenario(loop)
    settings = structs.replace(loop.settings, scenario=script.name)
    kept = {**loop.spec.settings, STACK: msgspec.to_builtins(settings)}
    spec = structs.replace(loop.spec, settings=kept)
    write_private(loop.lab.spec_file, msgspec.json.format(msgspec.json.encode(spec)))
    return fresh


def _restart_scenario(loop: Loop) -> None:
    """Return when its VMs run. The supervisor answers after two minutes, done or not."""
    try:
        control.ask(loop.lab, control.RestartComponent("scenario"), LIMIT_S)
    except TrimtabError:
        if _scenario_state(loop) not in UNDER_WAY:
            raise
    deadline = time.monotonic() + PATIENCE_S[loop.world]
    while (state := _scenario_state(loop)) in UNDER_WAY and time.monotonic() < deadline:
        time.sleep(LOOK_S)
    if state != "ready":
        raise NotReady("its VMs do not run yet; look at: trimtab lab logs scenario")


def _scenario_state(loop: Loop) -> str:
    states = {unit.name: unit.state for unit in control.read_status(loop.lab).units}
    return states.get("scenario", "")
