"""How many VMs may move at once: the options, or what HyperConverged lets migrate, with a margin.

Each limit is chosen on its own. Limits that come from HyperConverged are scaled down, so that
the descheduler alone never uses up every migration that people may want to start.
"""

from typing import Any, get_args

from msgspec import Struct

from trimtab.advisor.api import Deviation, LoadAwareOptions, TargetRef
from trimtab.advisor.kinds import HYPERCONVERGED, HYPERCONVERGED_V1
from trimtab.advisor.plan.profile import ClusterFacts, OptionError, dig

DEFAULT_TOTAL, DEFAULT_NODE = 5, 2
TOTAL_INPUT = "hyperconverged.liveMigrationConfig.parallelMigrationsPerCluster"
NODE_INPUT = "hyperconverged.liveMigrationConfig.parallelOutboundMigrationsPerNode"
HYPERCONVERGED_REFS: tuple[TargetRef, ...] = (HYPERCONVERGED, HYPERCONVERGED_V1)


class DerivedLimits(Struct, frozen=True):
    """`inputs` holds the values of HyperConverged that these limits come from, by name."""

    total: int
    node: int
    inputs: dict[str, int | None]

    @property
    def doubt(self) -> str | None:
        """What a reviewer should know: a derived node limit may exceed the total one."""
        if self.node <= self.total:
            return None
        return (
            f"the limit per node, {self.node}, comes from HyperConverged and is above the total "
            f"of {self.total}, which therefore decides"
        )


def scaled(value: int) -> int:
    """Up to 10 as it is, above that four fifths of the rest."""
    return value if value < 10 else 10 + (value - 10) * 4 // 5


def eviction_limits(
    options: LoadAwareOptions, facts: ClusterFacts, *, per_node: bool
) -> DerivedLimits:
    """Both limits; OptionError if the user's own limit per node is above the total."""
    config = migration_config(facts)
    inputs: dict[str, int | None] = {}
    total, node = options.eviction_limit_total, options.eviction_limit_node
    if total is None:
        total, inputs[TOTAL_INPUT] = _derived(config, "parallelMigrationsPerCluster", DEFAULT_TOTAL)
    if node is None:
        node, found = _derived(config, "parallelOutboundMigrationsPerNode", DEFAULT_NODE)
        if per_node:  # otherwise it changes nothing in the plan, and drift of it does not matter
            inputs[NODE_INPUT] = found
    elif node > total:
        raise OptionError(
            f"options.loadAware.evictionLimitNode {node} is above the total limit of {total}; "
            "lower it, or raise evictionLimitTotal"
        )
    return DerivedLimits(total, node, inputs)


def migration_config(facts: ClusterFacts) -> dict[str, Any]:
    """HyperConverged's migration limits in whichever version it is served; {} without it."""
    old, new = facts.get(HYPERCONVERGED), facts.get(HYPERCONVERGED_V1)
    found = dig(old, "spec", "liveMigrationConfig")
    return found or dig(new, "spec", "virtualization", "liveMigrationConfig") or {}


def _derived(config: dict[str, Any], key: str, default: int) -> tuple[int, int | None]:
    """The limit, and the value it comes from (None: none that can be used)."""
    value = config.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        return default, None
    return scaled(value), value


# What the names of deviation thresholds mean: points of percent around the average load.
_DISTANCES = {"Low": 10, "Medium": 20, "High": 30}


def thresholds(deviation: str) -> tuple[int, int]:
    """Points below and above the mean; asymmetric ones begin at the mean."""
    high = _DISTANCES[deviation.removeprefix("Asymmetric")]
    return (0 if deviation.startswith("Asymmetric") else high), high


def in_words(deviation: str) -> str:
    """When a node counts as loaded, and where VMs may go."""
    low, high = thresholds(deviation)
    below = f"more than {low} points below it" if low else "below it"
    return (
        f"{deviation}: a node more than {high} percentage points above the average load is "
        f"overloaded, one {below} takes VMs"
    )


def all_in_words() -> dict[str, str]:
    return {name: in_words(name) for name in get_args(Deviation)}
