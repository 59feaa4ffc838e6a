"""From the arguments in a file to the settings that the rules use, with v0.36's defaults.

Rule ids in parentheses are explained in docs/reference/policy.md.
"""

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Literal

from trimtab.errors import ConfigError
from trimtab.model.selectors import EVERYTHING, LabelSelector, selector_of
from trimtab.model.snapshot import Match
from trimtab.policy.file.selector_text import parse_selector
from trimtab.policy.file.settings import (
    DEFAULT_PROTECTIONS,
    METRIC_RESOURCE,
    SYSTEM_CRITICAL,
    Evictor,
    HighNodeUtilization,
    LowNodeUtilization,
    Protection,
    Thresholds,
    UsageSource,
)
from trimtab.policy.file.wire import (
    DefaultEvictorArgs,
    HighNodeUtilizationArgs,
    LowNodeUtilizationArgs,
    MetricsUtilization,
    MigrationAwareArgs,
    Namespaces,
    Percentages,
    PodProtections,
    PolicyFile,
    PriorityThreshold,
)
from trimtab.policy.pods.migration_aware import MigrationAware

_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6}
_UNITS |= {"s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_DURATION = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)")


def build_low(args: LowNodeUtilizationArgs, file: PolicyFile, field: str) -> LowNodeUtilization:
    """LowNodeUtilization; the Prometheus source insists on its one resource only here."""
    metrics = args.metrics_utilization
    prometheus = metrics is not None and metrics.source == "Prometheus"
    if prometheus:
        _only_metric_resource(args, field)
    return LowNodeUtilization(
        low=_percentages(args.thresholds),
        high=_percentages(args.target_thresholds),
        deviation=bool(args.use_deviation_thresholds),
        number_of_nodes=args.number_of_nodes or 0,
        source=_source(metrics),
        query=(metrics and metrics.prometheus and metrics.prometheus.query) or "",
        broken=None if metrics is None else _broken(metrics, file),
        excluded=_excluded(args.evictable_namespaces),
        node_limit=args.eviction_limits.node if args.eviction_limits else None,
        thresholds_only=prometheus,
    )


def build_high(args: HighNodeUtilizationArgs) -> HighNodeUtilization:
    """HighNodeUtilization."""
    return HighNodeUtilization(
        low=_percentages(args.thresholds),
        number_of_nodes=args.number_of_nodes or 0,
        excluded=_excluded(args.evictable_namespaces),
        only_thresholding_resources=bool(args.eviction_modes),
    )


def build_migration_aware(args: MigrationAwareArgs, field: str) -> MigrationAware:
    """KubevirtMigrationAware; durations as everywhere in a policy."""
    given = {
        "cooldown_s": _duration(args.migration_cooldown, f"{field}.migrationCooldown"),
        "longest_cooldown_s": _duration(
            args.max_migration_cooldown, f"{field}.maxMigrationCooldown"
        ),
        "history_s": _duration(args.migration_history_window, f"{field}.migrationHistoryWindow"),
    }
    return MigrationAware(**{name: value for name, value in given.items() if value is not None})


def prometheus_url(file: PolicyFile) -> str:
    """Where the query is sent; empty without a provider."""
    for provider in file.metrics_providers or ():
        if provider.source == "Prometheus" and provider.prometheus:
            return provider.prometheus.url or ""
    return ""


def _only_metric_resource(args: LowNodeUtilizationArgs, field: str) -> None:
    for name, given in (
        ("thresholds", args.thresholds),
        ("targetThresholds", args.target_thresholds),
    ):
        if list(given or ()) != [METRIC_RESOURCE]:
            raise ConfigError(
                f"{field}.{name}: {name} are expected to specify a single instance of "
                f'"{METRIC_RESOURCE}" resource, got [{" ".join(given or ())}] instead'
            )


def _percentages(given: Percentages | None) -> Thresholds:
    return {name: float(percent or 0) for name, percent in (given or {}).items()}


def _excluded(namespaces: Namespaces | None) -> frozenset[str]:
    return frozenset((namespaces and namespaces.exclude) or ())


def _source(metrics: MetricsUtilization | None) -> UsageSource:
    if metrics is None:
        return UsageSource.REQUESTS
    if metrics.metrics_server or metrics.source == "KubernetesMetrics":
        return UsageSource.METRICS_SERVER
    return UsageSource.PROMETHEUS


def _broken(metrics: MetricsUtilization, file: PolicyFile) -> str | None:
    """What each cycle fails with although the descheduler starts (P11)."""
    if metrics.metrics_server or metrics.source == "KubernetesMetrics":
        collector = file.metrics_collector is not None and file.metrics_collector.enabled
        provided = any(p.source == "KubernetesMetrics" for p in file.metrics_providers or ())
        return None if collector or provided else "metrics client not initialized"
    if metrics.source == "Prometheus":
        return None if prometheus_url(file) else "prometheus client not initialized"
    return "unrecognized metrics source" if metrics.source else "metrics source is empty"


def build_evictor(
    args: DefaultEvictorArgs, field: str, priority_classes: Mapping[str, int]
) -> Evictor:
    """DefaultEvictor, from the old booleans or the new podProtections."""
    return Evictor(
        protections=_protections(args),
        priority_threshold=_priority(args.priority_threshold, field, priority_classes),
        no_eviction=_no_eviction(args.no_eviction_policy),
        storage_classes=_storage_classes(args.pod_protections),
        label_selector=_selector(args.label_selector, f"{field}.labelSelector"),
        min_replicas=args.min_replicas or 0,
        min_pod_age_s=_duration(args.min_pod_age, f"{field}.minPodAge"),
        node_fit=bool(args.node_fit),
        node_selector=_node_selector(args.node_selector, f"{field}.nodeSelector"),
        namespace_selector=_selector(
            args.namespace_label_selector, f"{field}.namespaceLabelSelector"
        ),
    )


def _protections(args: DefaultEvictorArgs) -> frozenset[Protection]:
    given = args.pod_protections or PodProtections()
    if given.extra_enabled or given.default_disabled:
        extra = {Protection(name) for name in given.extra_enabled or ()}
        disabled = {Protection(name) for name in given.default_disabled or ()}
        return (DEFAULT_PROTECTIONS - disabled) | extra
    flags = {
        Protection.LOCAL_STORAGE: not args.evict_local_storage_pods,
        Protection.DAEMON_SET: not args.evict_daemon_set_pods,
        Protection.SYSTEM_CRITICAL: not args.evict_system_critical_pods,
        Protection.FAILED_BARE: not args.evict_failed_bare_pods,
        Protection.PVC: bool(args.ignore_pvc_pods),
        Protection.WITHOUT_PDB: bool(args.ignore_pods_without_pdb),
    }
    return frozenset(protection for protection, on in flags.items() if on)


def _priority(
    threshold: PriorityThreshold | None, field: str, priority_classes: Mapping[str, int]
) -> int:
    if threshold is None or (threshold.value is None and not threshold.name):
        return SYSTEM_CRITICAL
    value = threshold.value
    if value is None:
        value = priority_classes.get(threshold.name or "")
    if value is None:
        raise ConfigError(
            f"{field}.priorityThreshold.name: unable to get priority value from the priority "
            f'class: "{threshold.name}" not found; create it, or give priorityThreshold.value'
        )
    if value > SYSTEM_CRITICAL:
        raise ConfigError(
            f"{field}.priorityThreshold: priority threshold can't be greater than {SYSTEM_CRITICAL}"
        )
    return value


def _no_eviction(text: str | None) -> Literal["", "Preferred", "Mandatory"]:
    return "Mandatory" if text == "Mandatory" else "Preferred" if text == "Preferred" else ""


def _storage_classes(protections: PodProtections | None) -> frozenset[str]:
    config = protections and protections.config and protections.config.pods_with_pvc
    listed = (config and config.protected_storage_classes) or ()
    return frozenset(storage_class.name or "" for storage_class in listed)


def _selector(match: Match | None, field: str) -> LabelSelector:
    return EVERYTHING if match is None else selector_of(match, field)


def _node_selector(text: str | None, field: str) -> LabelSelector | None:
    """A text that cannot be parsed is no error at start: nodeFit then fits nowhere."""
    try:
        return parse_selector(text or "", field)
    except ConfigError:
        return None


def _duration(text: str | None, field: str) -> float | None:
    """Seconds of a Go duration: `90s`, `1h30m`, `1.5h`, `0`."""
    if text is None:
        return None
    negative, unsigned = text[:1] == "-", text[1:] if text[:1] in ("+", "-") else text
    parts = _DURATION.findall(unsigned)
    if unsigned != "0" and (not parts or "".join(map("".join, parts)) != unsigned):
        raise ConfigError(
            f"{field}: invalid duration {text!r}; use the units h, m, s and ms, as in 1h30m"
        )
    nanoseconds = sum((Fraction(number) * _UNITS[unit] for number, unit in parts), Fraction(0))
    if nanoseconds >= 2**63 + negative:  # Go counts nanoseconds in 64 bits
        raise ConfigError(f"{field}: invalid duration {text!r}; 292 years (2562047h) are the most")
    return float(nanoseconds / 10**9) * (-1 if negative else 1)
