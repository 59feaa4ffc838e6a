"""What a lab is: the contents of its `lab.json`, written once at `up` and read by everything else.

A lab's processes are not in here: they are in `plan.json`, which is made from this file and
the lab's stacks, and can be made again at any time.
"""

import re
from typing import Any, Literal

from msgspec import Struct, field

from trimtab.errors import ConfigError

VERSION = 1
LOOPBACK = "127.0.0.1"
DEFAULT_NAME = "default"
MIN_SCALE, MAX_SCALE = 1, 15

Placement = Literal["spread", "binpack"]

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")
_QUANTITY = re.compile(r"[0-9]+(\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?")


class NodeSize(Struct, frozen=True, kw_only=True):
    """What one node offers, as Kubernetes quantities."""

    cpu: str = "32"
    memory: str = "128Gi"
    pods: int = 110


class LabClock(Struct, frozen=True):
    """The lab's time: `scale` seconds pass in it per real second, counted from `epoch`.

    Everybody in the lab reads it from the ConfigMap trimtab-system/clock.
    """

    epoch: float
    scale: int = 1

    def rescaled(self, scale: int, now: float) -> "LabClock":
        """The same lab time at `now`, going on at another pace: load curves never jump."""
        check_scale(scale)
        return LabClock(now - (now - self.epoch) * self.scale / scale, scale)


class LabSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One lab. `settings` holds what each stack wants to find again when the lab is resumed."""

    name: str
    created: str
    clock: LabClock
    version: int = VERSION
    stacks: tuple[str, ...] = ("none",)
    nodes: int = 5
    node_size: NodeSize = NodeSize()
    placement: Placement = "spread"
    own_scheduler_config: bool = False
    listen: str = LOOPBACK
    hosts: tuple[str, ...] = ()  # further names in the API server's certificate
    ports: dict[str, int] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)


def name_option(name: str) -> str:
    """How a command is told which lab is meant, for messages that name a command."""
    return "" if name == DEFAULT_NAME else f" --name {name}"


def check_name(name: str) -> str:
    """The name, if it can be a directory, a host name and part of a title at once."""
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f'lab name "{name}": use 1 to 40 lower-case letters, digits and inner hyphens'
        )
    return name


def check_scale(scale: int) -> None:
    if not MIN_SCALE <= scale <= MAX_SCALE:
        raise ConfigError(f"--scale {scale}: use {MIN_SCALE} to {MAX_SCALE}")


def check_spec(spec: LabSpec) -> LabSpec:
    """The spec, if a lab can be made from it; otherwise one line on the first thing wrong."""
    check_name(spec.name)
    check_scale(spec.clock.scale)
    if not 1 <= spec.nodes <= 5000:
        raise ConfigError(f"--nodes {spec.nodes}: use 1 to 5000")
    if spec.node_size.pods < 1:
        raise ConfigError(f"--node-pods {spec.node_size.pods}: use 1 or more")
    for option, text in (("cpu", spec.node_size.cpu), ("memory", spec.node_size.memory)):
        if not _QUANTITY.fullmatch(text):
            raise ConfigError(f'--node-{option} "{text}": not a quantity; write 32, 500m or 128Gi')
    return spec
