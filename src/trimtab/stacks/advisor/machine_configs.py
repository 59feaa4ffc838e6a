"""What a machine-config operator decides: which config a pool gets, and which node is next.

Pure. A rendered config joins all configs that a pool's selector takes, in the order of their
names: kernel arguments one after another, files and units with the last of a name. Nodes take
it one at a time, each out of service while it "reboots".
"""

from collections.abc import Mapping, Sequence
from hashlib import md5
from typing import Any, Literal

import msgspec
from msgspec import Struct

from trimtab.advisor.kinds import MACHINE_CONFIGS
from trimtab.advisor.plan.pools import taken
from trimtab.advisor.plan.profile import dig
from trimtab.kube.resources import Free, Node

_GROUP = "machineconfiguration.openshift.io"
CURRENT, DESIRED, STATE = (f"{_GROUP}/{n}" for n in ("currentConfig", "desiredConfig", "state"))
REASON = f"{_GROUP}/reason"
SINCE = "trimtab.dev/rebooting-since"
RENDERED = "rendered-"


class Begin(Struct, frozen=True):
    """Take a node out of service and let it reboot into `config`."""

    node: str
    config: str


class Finish(Struct, frozen=True):
    """A node has rebooted."""

    node: str
    config: str


class Adopt(Struct, frozen=True):
    """A node that is new here starts with `config`."""

    node: str
    config: str


Step = Begin | Finish | Adopt


class WaitForNode(Struct, frozen=True):
    seconds: float


def rendered(pool: Free, configs: Sequence[Free]) -> Free:
    """The config that a pool's nodes are to run, named by its contents."""
    parts = sources(pool, configs)
    spec = {
        "kernelArguments": [
            a for part in parts for a in dig(part, "spec", "kernelArguments") or ()
        ],
        "config": {
            "ignition": {"version": "3.2.0"},
            "storage": {"files": _joined(parts, "path", "storage", "files")},
            "systemd": {"units": _joined(parts, "name", "systemd", "units")},
        },
    }
    text = msgspec.json.encode(spec, order="deterministic")
    mark = md5(text, usedforsecurity=False).hexdigest()
    name = f"{RENDERED}{dig(pool, 'metadata', 'name')}-{mark}"
    return {
        "apiVersion": MACHINE_CONFIGS.api_version,
        "kind": MACHINE_CONFIGS.kind,
        "metadata": {"name": name},
        "spec": spec,
    }


def sources(pool: Free, configs: Sequence[Free]) -> list[Free]:
    """The configs that the pool's selector takes, in the order in which they apply."""
    written = [c for c in configs if not name_of(c).startswith(RENDERED) and taken(pool, c)]
    return sorted(written, key=name_of)


def configuration(pool: Free, configs: Sequence[Free]) -> Free:
    """What the pool's spec says of its config."""
    head = {"apiVersion": MACHINE_CONFIGS.api_version, "kind": MACHINE_CONFIGS.kind}
    names = [name_of(source) for source in sources(pool, configs)]
    source = [head | {"name": name} for name in names]
    return {"name": name_of(rendered(pool, configs)), "source": source}


def members(pool: Free, nodes: Sequence[Node]) -> list[Node]:
    """The pool's nodes by name; an empty selector selects none."""
    wanted: Mapping[str, str] = dig(pool, "spec", "nodeSelector", "matchLabels") or {}
    chosen = [n for n in nodes if wanted and wanted.items() <= n.metadata.labels.items()]
    return sorted(chosen, key=lambda node: node.metadata.name)


def next_step(
    pool: Free, nodes: Sequence[Node], target: str, now: float, reboot_s: float
) -> Step | WaitForNode | None:
    """One node at a time; a paused pool only finishes what it began."""
    for node in nodes:
        if CURRENT not in node.metadata.annotations:
            return Adopt(node.metadata.name, target)
    for node in nodes:
        if _state(node) == "Working":
            left = float(node.metadata.annotations.get(SINCE) or 0) + reboot_s - now
            config = node.metadata.annotations.get(DESIRED, target)
            return WaitForNode(left) if left > 0 else Finish(node.metadata.name, config)
    if dig(pool, "spec", "paused") or any(_state(node) == "Degraded" for node in nodes):
        return None
    behind = [node for node in nodes if _current(node) != target]
    return Begin(behind[0].metadata.name, target) if behind else None


def settled(pool: Free, nodes: Sequence[Node]) -> bool:
    """Is every node known, as in a cluster that has been installed?"""
    known = all(CURRENT in node.metadata.annotations for node in nodes)
    return known and dig(pool, "status", "machineCount") == len(nodes)


def patch_for(step: Step, now: float) -> Free:
    """What happens to the node."""
    match step:
        case Adopt(config=config):
            return _patch({CURRENT: config, DESIRED: config, STATE: "Done"})
        case Begin(config=config):
            notes = {DESIRED: config, STATE: "Working", SINCE: f"{now:.3f}"}
            return _patch(notes, unschedulable=True)
        case Finish(config=config):
            return _patch({CURRENT: config, STATE: "Done", SINCE: None}, unschedulable=None)


def status(pool: Free, nodes: Sequence[Node], wanted: Free) -> Free:
    """The pool's status; its config is the last one that all nodes had."""
    updated = [node for node in nodes if _current(node) == wanted["name"]]
    ready = [node for node in updated if _state(node) == "Done" and node.ready]
    degraded = [node for node in nodes if _state(node) == "Degraded"]
    complete = len(updated) == len(ready) == len(nodes) and not degraded
    working = not complete and not dig(pool, "spec", "paused") and not degraded
    why = degraded[0].metadata.annotations.get(REASON, "") if degraded else ""
    before = dig(pool, "status", "configuration")
    return {
        "configuration": wanted if complete or not before else before,
        "machineCount": len(nodes),
        "updatedMachineCount": len(updated),
        "readyMachineCount": len(ready),
        "unavailableMachineCount": len([n for n in nodes if n.spec.unschedulable or not n.ready]),
        "degradedMachineCount": len(degraded),
        "conditions": [
            _condition("Updated", complete),
            _condition("Updating", working),
            _condition("Degraded", bool(degraded), why),
        ],
    }


def _condition(kind: str, holds: bool, message: str = "") -> Free:
    return {"type": kind, "status": "True" if holds else "False", "message": message}


def _joined(parts: Sequence[Free], key: str, *path: str) -> list[Any]:
    by_name = {e[key]: e for part in parts for e in dig(part, "spec", "config", *path) or ()}
    return list(by_name.values())


def _patch(annotations: Mapping[str, str | None], **spec: bool | None) -> Free:
    return {"metadata": {"annotations": annotations}} | ({"spec": spec} if spec else {})


def _state(node: Node) -> Literal["Done", "Working", "Degraded"] | str:
    return node.metadata.annotations.get(STATE, "Done")


def _current(node: Node) -> str:
    return node.metadata.annotations.get(CURRENT, "")


def name_of(obj: Free) -> str:
    return str(dig(obj, "metadata", "name"))
