"""What lint and explain say of VMs that an eviction does not simply migrate."""

import pytest

from builders.values import vm_lint_cases as vms
from builders.values.lint_cases import facts
from builders.values.vm_lint_cases import a_vm, migrations, with_kubevirt, with_vms
from builders.worlds.snapshots import a_launcher
from trimtab.model.snapshot import Snapshot, SnapshotVm
from trimtab.truth.explain.explanation import explain
from trimtab.truth.lint import LintFinding, lint


def only(cluster: Snapshot) -> LintFinding:
    (found,) = lint(facts(cluster=cluster))
    return found


def test_causes_are_told_in_words_the_most_frequent_first() -> None:
    found = only(
        with_vms(
            a_vm("a", not_migratable="HostDeviceNotLiveMigratable"),
            a_vm("b", not_migratable="DisksNotLiveMigratable"),
            a_vm("c", not_migratable="DisksNotLiveMigratable"),
            a_vm("d", not_migratable="SomethingNew"),
            a_vm("e"),
        )
    )
    assert found.severity == "warning"
    assert found.message == (
        "4 of 5 VMs cannot migrate: a disk is not shared, or cannot be migrated "
        "(DisksNotLiveMigratable): default/b, default/c; it has a device of its node "
        "(HostDeviceNotLiveMigratable): default/a; SomethingNew: default/d"
    )


def test_a_cluster_in_which_no_vm_can_migrate_has_an_error() -> None:
    assert only(with_vms(a_vm("a", not_migratable="NotMigratable"))).severity == "error"


@pytest.mark.parametrize(
    ("vm", "found"),
    [
        pytest.param(a_vm("a", eviction_strategy="None"), ["vm-stops-when-evicted"], id="None"),
        pytest.param(
            a_vm("a", eviction_strategy="None", not_migratable="X"),
            ["vm-stops-when-evicted"],
            id="None that cannot migrate either",
        ),
        pytest.param(a_vm("a", eviction_strategy="LiveMigrateIfPossible"), [], id="if possible"),
        pytest.param(
            a_vm("a", eviction_strategy="LiveMigrateIfPossible", not_migratable="X"),
            ["vm-stops-when-evicted"],
            id="if possible, and it is not",
        ),
        pytest.param(
            a_vm("a", eviction_strategy="External", not_migratable="X"),
            ["vm-moved-by-others"],
            id="External is marked even if it cannot migrate",
        ),
        pytest.param(a_vm("a", eviction_strategy="", not_migratable="X"), [], id="nobody tells"),
    ],
)
def test_an_eviction_strategy_decides(vm: SnapshotVm, found: list[str]) -> None:
    assert [each.id for each in lint(facts(cluster=with_vms(vm)))] == found


def test_vms_of_nodes_that_the_policy_leaves_out_do_not_count() -> None:
    cluster = vms.with_launcher(a_launcher("a", "elsewhere"), a_vm("a", eviction_strategy="None"))
    assert lint(facts(cluster=cluster)) == ()


@pytest.mark.parametrize(
    ("webhooks", "severity"),
    [
        pytest.param(("trimtab-eviction", "virt-api-validator"), "warning", id="both VM worlds"),
        pytest.param(("strimzi-drain-cleaner", "virt-api-validator"), "note", id="somebody else's"),
    ],
)
def test_a_second_webhook_weighs_by_whose_it_is(webhooks: tuple[str, ...], severity: str) -> None:
    found = only(with_kubevirt(eviction_webhooks=webhooks))
    assert (found.id, found.severity) == ("two-eviction-webhooks", severity)
    assert all(name in found.message for name in webhooks)


@pytest.mark.parametrize(
    ("phases", "messages"),
    [
        pytest.param({"a": "Pending n1"}, [], id="a slot is free"),
        pytest.param(
            {"a": "Running n1", "b": "TargetReady n1", "c": "Pending n1", "d": "Pending n2"},
            ["1 waits while 2 of 2 leave node n1"],
            id="behind the node's limit only",
        ),
        pytest.param(
            {
                **{f"r{n}": f"Running n{n}" for n in range(5)},
                "a": "Pending n1",
                "b": "Pending n7",
            },
            ["2 wait while 5 of 5 run in the cluster"],
            id="behind the cluster's limit",
        ),
        pytest.param({f"r{n}": f"Running n{n}" for n in range(5)}, [], id="full, nobody waits"),
    ],
)
def test_migrations_wait_behind_the_limit_that_is_named(
    phases: dict[str, str], messages: list[str]
) -> None:
    cluster = with_kubevirt(migrations=migrations(**phases))
    assert [each.message for each in lint(facts(cluster=cluster))] == messages


def test_a_policy_is_told_with_its_settings_and_vms() -> None:
    found = only(vms.with_policy(allowPostCopy="true", bandwidthPerMigration="64Mi"))
    assert found.message == (
        "slow sets allowPostCopy true, bandwidthPerMigration 64Mi for default/a"
    )


def test_a_bound_launcher_is_a_note_where_nodefit_does_not_ask() -> None:
    found = only(vms.bound(vms.FREED))
    assert (found.id, found.severity) == ("launcher-keeps-hostname", "note")


@pytest.mark.parametrize(
    ("cluster", "said"),
    [
        pytest.param(
            with_vms(a_vm("a", eviction_strategy="None"), a_vm("b")),
            "An eviction stops VMs instead of migrating them: an eviction stops default/a",
            id="a VM that stops",
        ),
        pytest.param(
            with_kubevirt(
                migrations=migrations(a="Running n1", b="Running n1", c="Pending n1"),
            ),
            "Migrations wait for a slot: 1 waits while 2 of 2 leave node n1",
            id="migrations that wait",
        ),
        pytest.param(with_vms(a_vm("a")), "", id="nothing to say"),
        pytest.param(vms.with_completed("Succeeded"), "", id="a note stays with lint"),
    ],
)
def test_explain_says_under_its_verdict_what_kubevirt_does(cluster: Snapshot, said: str) -> None:
    about = [r for r in explain(cluster).explanation.remarks if "igrat" in r]
    assert bool(about) == bool(said)
    assert all(remark.startswith(said) for remark in about)
