"""How KubeVirt is set up in a lab: what `lab up` was told, kept in `lab.json` for the next time."""

import re
from typing import Any

from msgspec import Struct, convert

from trimtab.errors import ConfigError
from trimtab.virt.precopy import DEFAULT_BANDWIDTH
from trimtab.virt.slots import MigrationLimits

STACK = "kubevirt"
NAMESPACE = "kubevirt"
CPU_VENDORS = ("Intel", "AMD")
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,61}")
_LIMITS = MigrationLimits()


class KubevirtSettings(Struct, frozen=True, kw_only=True):
    """One KubeVirt. Rates are bytes per second; `cpu_models` go round the nodes in turn.

    The limits are KubeVirt's own configuration; bandwidth and dirty rate are what the played
    handlers copy memory with.
    """

    bandwidth: float = DEFAULT_BANDWIDTH
    dirty_rate: float = 0.0
    parallel: int = _LIMITS.cluster
    parallel_per_node: int = _LIMITS.node
    cpu_models: tuple[str, ...] = ("Intel:Skylake-Server",)
    priority_queue: bool = False
    """KubeVirt's feature gate MigrationPriorityQueue: drains first, people's migrations last."""


def from_lab(kept: dict[str, Any]) -> KubevirtSettings:
    """What an earlier `lab up` wrote down."""
    return convert(kept, KubevirtSettings)


def check_cpu_model(text: str) -> str:
    """`VENDOR:MODEL`, if KubeVirt could label a node with it."""
    vendor, colon, model = text.partition(":")
    if not colon or vendor not in CPU_VENDORS or not _MODEL.fullmatch(model):
        raise ConfigError(
            f"--cpu-model {text}: write it like Intel:Skylake-Server or AMD:EPYC-Rome "
            f"(vendors: {', '.join(CPU_VENDORS)})"
        )
    return text
