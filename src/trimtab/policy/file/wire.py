"""The fields of a `descheduler/v1alpha2` policy file, as v0.36 reads them.

Every field may be missing or null; defaults are set where a policy is built. Go reads a null
inside a list or a map as the empty value of its type: `without_nulls` does that. The
descheduler is strict about plugin arguments and lenient about everything around them:
`unknown_fields` finds what it refuses in the one and drops in the other.
"""

from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from trimtab.model.snapshot import Match

Unsigned = Annotated[int, Meta(ge=0)]
Int32 = Annotated[int, Meta(ge=-(2**31), lt=2**31)]


class PluginSet(Struct, frozen=True):
    enabled: tuple[str, ...] | None = None
    disabled: tuple[str, ...] | None = None


class Plugins(Struct, frozen=True):
    """The keys are lower case throughout: `preEvictionFilter` is not read."""

    presort: PluginSet | None = None
    sort: PluginSet | None = None
    deschedule: PluginSet | None = None
    balance: PluginSet | None = None
    filter: PluginSet | None = None
    preevictionfilter: PluginSet | None = None


class PluginConfig(Struct, frozen=True):
    name: str | None = None
    args: Any = None


class ProfileObject(Struct, frozen=True, rename="camel"):
    name: str | None = None
    plugin_config: tuple[PluginConfig, ...] | None = None
    plugins: Plugins | None = None


class SecretReference(Struct, frozen=True):
    namespace: str | None = None
    name: str | None = None


class AuthToken(Struct, frozen=True, rename="camel"):
    secret_reference: SecretReference | None = None


class PrometheusServer(Struct, frozen=True, rename="camel"):
    url: str | None = None
    auth_token: AuthToken | None = None


class MetricsProvider(Struct, frozen=True):
    source: str | None = None
    prometheus: PrometheusServer | None = None


class MetricsCollector(Struct, frozen=True):
    enabled: bool | None = None


class PolicyFile(Struct, frozen=True, rename="camel"):
    api_version: str | None = None
    kind: str | None = None
    profiles: tuple[ProfileObject, ...] | None = None
    node_selector: str | None = None
    max_no_of_pods_to_evict_per_node: Unsigned | None = None
    max_no_of_pods_to_evict_per_namespace: Unsigned | None = None
    max_no_of_pods_to_evict_total: Unsigned | None = None
    eviction_failure_event_notification: bool | None = None
    metrics_collector: MetricsCollector | None = None
    metrics_providers: tuple[MetricsProvider, ...] | None = None
    grace_period_seconds: int | None = None


class Args(Struct, frozen=True, rename="camel"):
    """What every plugin's arguments may carry."""

    api_version: str | None = None
    kind: str | None = None


class Namespaces(Struct, frozen=True):
    include: tuple[str, ...] | None = None
    exclude: tuple[str, ...] | None = None


class EvictionLimitsObject(Struct, frozen=True):
    node: Unsigned | None = None


class PrometheusQuery(Struct, frozen=True):
    query: str | None = None


class MetricsUtilization(Struct, frozen=True, rename="camel"):
    metrics_server: bool | None = None
    source: str | None = None
    prometheus: PrometheusQuery | None = None


Percentages = dict[str, float | None]


class LowNodeUtilizationArgs(Args, frozen=True, rename="camel"):
    use_deviation_thresholds: bool | None = None
    thresholds: Percentages | None = None
    target_thresholds: Percentages | None = None
    number_of_nodes: int | None = None
    metrics_utilization: MetricsUtilization | None = None
    evictable_namespaces: Namespaces | None = None
    eviction_limits: EvictionLimitsObject | None = None


class HighNodeUtilizationArgs(Args, frozen=True, rename="camel"):
    thresholds: Percentages | None = None
    number_of_nodes: int | None = None
    eviction_modes: tuple[str, ...] | None = None
    evictable_namespaces: Namespaces | None = None


class MigrationAwareArgs(Args, frozen=True, rename="camel"):
    """KubevirtMigrationAware of OpenShift's descheduler."""

    migration_cooldown: str | None = None
    max_migration_cooldown: str | None = None
    migration_history_window: str | None = None


class PriorityThreshold(Struct, frozen=True):
    value: Int32 | None = None
    name: str | None = None


class ProtectedStorageClass(Struct, frozen=True):
    name: str | None = None


class PodsWithPVCConfig(Struct, frozen=True, rename="camel"):
    protected_storage_classes: tuple[ProtectedStorageClass, ...] | None = None


class PodProtectionsConfig(Struct, frozen=True, rename={"pods_with_pvc": "PodsWithPVC"}):
    pods_with_pvc: PodsWithPVCConfig | None = None


class PodProtections(Struct, frozen=True, rename="camel"):
    extra_enabled: tuple[str, ...] | None = None
    default_disabled: tuple[str, ...] | None = None
    config: PodProtectionsConfig | None = None


class DefaultEvictorArgs(Args, frozen=True, rename="camel"):
    node_selector: str | None = None
    label_selector: Match | None = None
    namespace_label_selector: Match | None = None
    priority_threshold: PriorityThreshold | None = None
    node_fit: bool | None = None
    min_replicas: Unsigned | None = None
    min_pod_age: str | None = None
    no_eviction_policy: str | None = None
    pod_protections: PodProtections | None = None
    evict_local_storage_pods: bool | None = None
    evict_daemon_set_pods: bool | None = None
    evict_system_critical_pods: bool | None = None
    ignore_pvc_pods: bool | None = None
    ignore_pods_without_pdb: bool | None = msgspec.field(default=None, name="ignorePodsWithoutPDB")
    evict_failed_bare_pods: bool | None = None


def unknown_fields(value: object, wanted: Any) -> Iterator[str]:
    """Paths in `value` that the struct `wanted` does not have, in the order of the file."""
    return _unknown(value, _type_info(wanted), "")


_type_info = cache(msgspec.inspect.type_info)


def _unknown(value: object, wanted: msgspec.inspect.Type, path: str) -> Iterator[str]:
    if isinstance(wanted, msgspec.inspect.UnionType):
        for alternative in wanted.types:
            yield from _unknown(value, alternative, path)
    elif isinstance(wanted, msgspec.inspect.VarTupleType) and isinstance(value, list):
        for at, item in enumerate(value):
            yield from _unknown(item, wanted.item_type, f"{path}[{at}]")
    elif isinstance(wanted, msgspec.inspect.StructType) and isinstance(value, dict):
        known = {field.encode_name: field.type for field in wanted.fields}
        for key, item in value.items():
            here = f"{path}.{key}" if path else str(key)
            if key in known:
                yield from _unknown(item, known[key], here)
            else:
                yield here


def without_nulls(value: Any, wanted: Any) -> Any:
    """`value` as Go fills `wanted` from it: a null field is missing, a null item is empty."""
    return _filled(value, _type_info(wanted))


def _filled(value: Any, wanted: msgspec.inspect.Type) -> Any:
    if isinstance(wanted, msgspec.inspect.UnionType):
        for alternative in wanted.types:
            value = _filled(value, alternative)
    elif isinstance(wanted, msgspec.inspect.VarTupleType) and isinstance(value, list):
        empty = _empty(wanted.item_type)
        return [_filled(empty if item is None else item, wanted.item_type) for item in value]
    elif isinstance(wanted, msgspec.inspect.DictType) and isinstance(value, dict):
        empty = _empty(wanted.value_type)
        return {key: empty if item is None else item for key, item in value.items()}
    elif isinstance(wanted, msgspec.inspect.StructType) and isinstance(value, dict):
        types = {field.encode_name: field.type for field in wanted.fields}
        return {
            key: _filled(item, types[key]) if key in types else item
            for key, item in value.items()
            if item is not None
        }
    return value


def _empty(wanted: msgspec.inspect.Type) -> Any:
    """The zero value of an item's type; None where null is a value of its own."""
    if isinstance(wanted, msgspec.inspect.StructType):
        return {}
    return "" if isinstance(wanted, msgspec.inspect.StrType) else None
