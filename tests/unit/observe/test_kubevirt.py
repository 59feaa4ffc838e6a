"""What a snapshot keeps of KubeVirt's own objects."""

from typing import Any

import msgspec
import pytest

from trimtab.kube.kubevirt import Vmim
from trimtab.kube.resources import Key, Namespace
from trimtab.model.snapshot import (
    SnapshotKubeVirt,
    SnapshotMigration,
    SnapshotMigrationPolicy,
    SnapshotVm,
)
from trimtab.observe import wire
from trimtab.observe.eviction_answers import kubevirt_machines, with_rules
from trimtab.observe.kubevirt import kubevirt_seen, policies_of

WEB = Key("default", "web")
META = {"name": "web", "namespace": "default", "labels": {"app": "db"}}


def an_instance(**status: Any) -> wire.Instance:
    given = {"metadata": META, "status": {"nodeName": "n1", **status}}
    return msgspec.convert(given, wire.Instance)


def a_migration(phase: str, **state: str) -> Vmim:
    given = {
        "metadata": {"name": "m", "namespace": "default"},
        "spec": {"vmiName": "web"},
        "status": {"phase": phase} | ({"migrationState": state} if state else {}),
    }
    return msgspec.convert(given, Vmim)


def a_webhook(name: str, group: str, operation: str, resource: str) -> wire.WebhookConfiguration:
    rule = {"apiGroups": [group], "operations": [operation], "resources": [resource]}
    given = {"metadata": {"name": name}, "webhooks": [{"name": "w", "rules": [rule]}]}
    return msgspec.convert(given, wire.WebhookConfiguration)


def seen(installed: dict[str, Any], *migrations: Vmim) -> SnapshotKubeVirt:
    kubevirt = msgspec.convert({"spec": {"configuration": installed}}, wire.KubeVirt)
    return kubevirt_seen(kubevirt, [an_instance()], migrations, [], [])


@pytest.mark.parametrize(
    ("installed", "cluster", "node"),
    [
        pytest.param({}, 5, 2, id="KubeVirt's defaults"),
        pytest.param({"migrations": {"parallelMigrationsPerCluster": 9}}, 9, 2, id="one is set"),
        pytest.param(
            {"migrations": {"parallelOutboundMigrationsPerNode": 4}}, 5, 4, id="the other is set"
        ),
    ],
)
def test_limits_are_those_of_the_kubevirt_object(
    installed: dict[str, Any], cluster: int, node: int
) -> None:
    found = seen(installed)
    assert (found.migrations_per_cluster, found.migrations_per_node) == (cluster, node)


@pytest.mark.parametrize(
    ("migration", "kept"),
    [
        pytest.param(a_migration("Succeeded"), None, id="one that ended is left out"),
        pytest.param(a_migration(""), ("Pending", "n1"), id="one that nobody has looked at waits"),
        pytest.param(
            a_migration("Running", sourceNode="n7"), ("Running", "n7"), id="its own source"
        ),
    ],
)
def test_migrations_that_have_not_ended_are_kept(
    migration: Vmim, kept: tuple[str, str] | None
) -> None:
    expected = () if kept is None else (SnapshotMigration("default", "web", *kept),)
    assert seen({}, migration).migrations == expected


@pytest.mark.parametrize(
    ("group", "operation", "resource", "asked"),
    [
        pytest.param("", "CREATE", "pods/eviction", True, id="evictions"),
        pytest.param("*", "*", "*/*", True, id="everything"),
        pytest.param("", "CREATE", "pods", False, id="pods alone"),
        pytest.param("", "DELETE", "pods/eviction", False, id="another verb"),
        pytest.param("apps", "CREATE", "pods/eviction", False, id="another group"),
    ],
)
def test_webhooks_that_are_asked_about_evictions(
    group: str, operation: str, resource: str, asked: bool
) -> None:
    webhook = a_webhook("mine", group, operation, resource)
    found = kubevirt_seen(wire.KubeVirt(), [], [], [], [webhook])
    assert found.eviction_webhooks == (("mine",) if asked else ())


def test_a_policy_is_kept_with_its_settings_and_found_by_labels() -> None:
    spec = {
        "selectors": {
            "virtualMachineInstanceSelector": {"app": "db"},
            "namespaceSelector": {"team": "a"},
        },
        "bandwidthPerMigration": "64Mi",
        "allowPostCopy": True,
        "completionTimeoutPerGiB": 10,
    }
    policy = msgspec.convert({"metadata": {"name": "slow"}, "spec": spec}, wire.MigrationPolicy)
    space = {"metadata": {"name": "default", "labels": {"team": "a"}}}
    namespaces = [msgspec.convert(space, Namespace)]
    changes = {
        "allowPostCopy": "true",
        "bandwidthPerMigration": "64Mi",
        "completionTimeoutPerGiB": "10",
    }
    assert kubevirt_seen(wire.KubeVirt(), [], [], [policy], []).policies == (
        SnapshotMigrationPolicy("slow", changes),
    )
    assert policies_of([an_instance()], [policy], namespaces) == {WEB: "slow"}
    assert policies_of([an_instance()], [policy], []) == {}


def test_a_vm_carries_why_it_cannot_migrate_and_what_an_eviction_does() -> None:
    cannot = {"type": "LiveMigratable", "status": "False", "reason": "DisksNotLiveMigratable"}
    machines = kubevirt_machines([an_instance(conditions=[cannot])], "LiveMigrate")
    (vm,) = with_rules([SnapshotVm("default", "web", "u")], machines, {WEB: "slow"})
    assert (vm.eviction_strategy, vm.not_migratable) == ("LiveMigrate", "DisksNotLiveMigratable")
    assert vm.migration_policy == "slow"
