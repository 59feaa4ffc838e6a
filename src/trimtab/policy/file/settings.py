"""A descheduler policy as the rules use it: read, defaulted, validated (see `reader`).

Only what decides is here. `Policy.unmodelled` and `Policy.ignored` say what the file holds
beyond that, so that nobody believes it was taken into account.

Rule ids in parentheses are explained in docs/reference/policy.md.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from trimtab.model.selectors import EVERYTHING, LabelSelector
from trimtab.policy.pods.migration_aware import MigrationAware

METRIC_RESOURCE = "MetricResource"
"""The one resource of a Prometheus query: a percentage, of 100."""

SYSTEM_CRITICAL = 2_000_000_000

Thresholds = Mapping[str, float]
"""Resource name → percent, or percentage points from the mean."""


class UsageSource(Enum):
    """Where LowNodeUtilization reads the usage of nodes."""

    REQUESTS = "requests"
    METRICS_SERVER = "metrics-server"
    PROMETHEUS = "prometheus"


class Protection(Enum):
    """Reasons of DefaultEvictor to leave a pod alone; the first four are on by default."""

    LOCAL_STORAGE = "PodsWithLocalStorage"
    SYSTEM_CRITICAL = "SystemCriticalPods"
    FAILED_BARE = "FailedBarePods"
    DAEMON_SET = "DaemonSetPods"
    PVC = "PodsWithPVC"
    WITHOUT_PDB = "PodsWithoutPDB"
    RESOURCE_CLAIMS = "PodsWithResourceClaims"


DEFAULT_PROTECTIONS = frozenset(
    {
        Protection.LOCAL_STORAGE,
        Protection.SYSTEM_CRITICAL,
        Protection.FAILED_BARE,
        Protection.DAEMON_SET,
    }
)


class LowNodeUtilization(Struct, frozen=True, kw_only=True):
    """Moves pods from over-utilised to under-utilised nodes."""

    low: Thresholds
    high: Thresholds
    deviation: bool = False
    """Thresholds are distances from the mean, in percentage points (T4), not levels (T3)."""
    number_of_nodes: int = 0
    source: UsageSource = UsageSource.REQUESTS
    query: str = ""
    broken: str | None = None
    """The error that every cycle ends with, because of how the usage source is configured (P11)."""
    excluded: frozenset[str] = frozenset()
    """Namespaces whose pods stay (E7c)."""
    node_limit: int | None = None
    """evictionLimits.node: without it a Prometheus policy evicts one pod a node and cycle (E7f)."""

    thresholds_only: bool = False
    """Count no usage but that of the thresholds' resources: so with a Prometheus source."""

    @property
    def resources(self) -> tuple[str, ...]:
        """Everything whose usage counts: the thresholds' resources, and cpu, memory and pods."""
        return tuple(self.low) if self.thresholds_only else extended(self.low)


class HighNodeUtilization(Struct, frozen=True, kw_only=True):
    """Empties nodes below the thresholds, so that fewer are used. Requests only (1.7)."""

    low: Thresholds
    number_of_nodes: int = 0
    excluded: frozenset[str] = frozenset()
    only_thresholding_resources: bool = False

    @property
    def high(self) -> Thresholds:
        return dict.fromkeys(self.low, 100.0)

    @property
    def resources(self) -> tuple[str, ...]:
        return extended(self.low)


def extended(thresholds: Thresholds) -> tuple[str, ...]:
    """The thresholds' resources with cpu, memory and pods."""
    return tuple(dict.fromkeys((*thresholds, "cpu", "memory", "pods")))


Plugin = LowNodeUtilization | HighNodeUtilization


class Evictor(Struct, frozen=True, kw_only=True):
    """DefaultEvictor: which pods may be evicted at all (2.1, 2.2)."""

    protections: frozenset[Protection] = DEFAULT_PROTECTIONS
    priority_threshold: int = SYSTEM_CRITICAL
    no_eviction: Literal["", "Preferred", "Mandatory"] = ""
    storage_classes: frozenset[str] = frozenset()
    """With PodsWithPVC: only claims of these classes protect; empty means any claim does."""
    label_selector: LabelSelector = EVERYTHING
    min_replicas: int = 0
    min_pod_age_s: float | None = None
    node_fit: bool = False
    node_selector: LabelSelector | None = EVERYTHING
    """For nodeFit. None: it cannot be parsed, which the descheduler notices only then."""
    namespace_selector: LabelSelector = EVERYTHING
    migration_aware: MigrationAware | None = None
    """OpenShift's second filter, where the profile enables it."""


class Profile(Struct, frozen=True, kw_only=True):
    """A named set of plugins that share one evictor."""

    name: str = ""
    evictor: Evictor = Evictor()
    plugins: tuple[tuple[str, Plugin], ...] = ()
    """Enabled balance plugins in order, with their names."""


class Policy(Struct, frozen=True, kw_only=True):
    """The whole policy. Limits are None when not set."""

    profiles: tuple[Profile, ...]
    node_selector: LabelSelector = EVERYTHING
    max_total: int | None = None
    max_per_node: int | None = None
    max_per_namespace: int | None = None
    grace_period_s: int | None = None
    prometheus_url: str = ""
    unmodelled: tuple[str, ...] = ()
    """Enabled plugins that trimtab does not reproduce."""
    unversioned: bool = False
    """The file has no apiVersion: the descheduler takes it for an object of its internal type,
    whose fields have other names, starts, and runs nothing. So the policy is an empty one."""
    openshift_only: tuple[str, ...] = ()
    """Plugins it names that only OpenShift's descheduler has: any other does not start with it."""
    ignored: tuple[str, ...] = ()
    """Fields that the descheduler drops without a word (it is strict about plugin args only)."""

    def with_thresholds(self, low: float, high: float) -> "Policy":
        """The same policy with other thresholds for every LowNodeUtilization plugin."""
        return self._with_plugins(
            lambda plugin: replace(
                plugin, low=dict.fromkeys(plugin.low, low), high=dict.fromkeys(plugin.high, high)
            )
        )

    def with_limits(self, total: int | None, per_node: int | None) -> "Policy":
        """The same policy with other limits; per node both at policy and at plugin level."""
        limited = self._with_plugins(lambda plugin: replace(plugin, node_limit=per_node))
        return replace(limited, max_total=total, max_per_node=per_node)

    def _with_plugins(self, change: Callable[[LowNodeUtilization], LowNodeUtilization]) -> "Policy":
        def changed(profile: Profile) -> Profile:
            plugins = tuple(
                (name, change(plugin) if isinstance(plugin, LowNodeUtilization) else plugin)
                for name, plugin in profile.plugins
            )
            return replace(profile, plugins=plugins)

        return replace(self, profiles=tuple(map(changed, self.profiles)))


def queries(policy: Policy) -> list[str]:
    """The Prometheus queries of a policy, in order."""
    plugins = (plugin for profile in policy.profiles for _, plugin in profile.plugins)
    return [p.query for p in plugins if isinstance(p, LowNodeUtilization) and p.query]
