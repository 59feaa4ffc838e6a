"""What KubeVirt's own objects say beside its VMs: limits, migrations, policies, webhooks."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from trimtab.kube.kubevirt import Vmim
from trimtab.kube.resources import Key, Namespace
from trimtab.model.snapshot import (
    SnapshotKubeVirt,
    SnapshotMigration,
    SnapshotMigrationPolicy,
)
from trimtab.observe import wire
from trimtab.virt.migration_policies import PolicySelectors, matching_policy
from trimtab.virt.slots import MigrationLimits

_ANY = "*"
_DEFAULTS = MigrationLimits()
_SELECTORS = "selectors"


def kubevirt_seen(
    installed: wire.KubeVirt,
    instances: Sequence[wire.Instance],
    migrations: Iterable[Vmim],
    policies: Iterable[wire.MigrationPolicy],
    webhooks: Iterable[wire.WebhookConfiguration],
) -> SnapshotKubeVirt:
    """The part of a snapshot that only KubeVirt has."""
    limits = installed.spec.configuration.migrations
    nodes = {each.metadata.key: each.status.node_name for each in instances}
    return SnapshotKubeVirt(
        migrations_per_cluster=limits.parallel_migrations_per_cluster or _DEFAULTS.cluster,
        migrations_per_node=limits.parallel_outbound_migrations_per_node or _DEFAULTS.node,
        migrations=tuple(_migrations(migrations, nodes)),
        policies=tuple(
            SnapshotMigrationPolicy(each.metadata.name, _changes(each)) for each in policies
        ),
        eviction_webhooks=tuple(
            each.metadata.name for each in webhooks if any(map(_is_asked, each.webhooks))
        ),
    )


def policies_of(
    instances: Iterable[wire.Instance],
    policies: Sequence[wire.MigrationPolicy],
    namespaces: Iterable[Namespace],
) -> dict[Key, str]:
    """The MigrationPolicy of each VM that has one."""
    selectors = [_selectors(each) for each in policies if _SELECTORS in each.spec]
    labels = {each.metadata.name: each.metadata.labels for each in namespaces}
    found = {}
    for instance in instances:
        meta = instance.metadata
        name = matching_policy(selectors, meta.labels, labels.get(meta.namespace, {}))
        if name:
            found[meta.key] = name
    return found


def _migrations(
    migrations: Iterable[Vmim], nodes: Mapping[Key, str]
) -> Iterator[SnapshotMigration]:
    for each in migrations:
        if not each.finished:
            meta, state = each.metadata, each.status.migration_state
            source = (state.source_node if state else "") or nodes.get(each.vmi_key, "")
            phase = each.status.phase or "Pending"
            yield SnapshotMigration(meta.namespace, each.spec.vmi_name, phase, source)


def _changes(policy: wire.MigrationPolicy) -> dict[str, str]:
    """The settings as JSON has them, numbers and quantities alike."""
    return {
        name: value if isinstance(value, str) else msgspec.json.encode(value).decode()
        for name, value in sorted(policy.spec.items())
        if name != _SELECTORS
    }


def _selectors(policy: wire.MigrationPolicy) -> PolicySelectors:
    given = policy.spec.get(_SELECTORS) or {}
    return PolicySelectors(
        policy.metadata.name,
        given.get("virtualMachineInstanceSelector") or {},
        given.get("namespaceSelector") or {},
    )


def _is_asked(webhook: wire.Webhook) -> bool:
    """Whether the API server asks it about an eviction of a pod."""
    return any(
        not {"", _ANY}.isdisjoint(rule.api_groups)
        and not {"CREATE", _ANY}.isdisjoint(rule.operations)
        and not {"pods/eviction", "pods/*", "*/eviction", "*/*"}.isdisjoint(rule.resources)
        for rule in webhook.rules
    )
