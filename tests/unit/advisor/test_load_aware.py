"""What `load-aware-rebalancing` wants of a cluster, release by release."""

from typing import Any

import pytest

from builders.worlds.openshift import (
    LOAD_AWARE,
    a_cluster,
    added,
    changed,
    drafted,
    load_aware,
    planned,
    running_with,
    said,
    with_migrations,
    with_profiles,
)
from trimtab.advisor.api import Options
from trimtab.advisor.cluster.offline import Directory
from trimtab.advisor.kinds import DESCHEDULER, HYPERCONVERGED, KUBE_DESCHEDULERS, NAMESPACES
from trimtab.advisor.mocks.baseline import hyperconverged_v1
from trimtab.advisor.mocks.kube_descheduler import RELEASES, Release
from trimtab.advisor.plan.profile import MissingError, OptionError
from trimtab.advisor.profiles.descheduling import ITEM
from trimtab.advisor.profiles.eviction_limits import NODE_INPUT, TOTAL_INPUT, scaled
from trimtab.advisor.profiles.psi import DEV, FALLBACK, GA, Capabilities, capabilities
from trimtab.advisor.profiles.registry import built_in
from trimtab.kube.resources import Free

CUSTOMIZED = {
    "devEnableEvictionsInBackground": True,
    "devEnableSoftTainter": True,
    "devDeviationThresholds": "AsymmetricLow",
}


def descheduler(cluster: Directory, options: Options | None = None) -> Free:
    spec: Free = drafted(cluster, options).desired_objects[-1].desired["spec"]
    return spec


def test_by_default_psi_comes_first_and_the_descheduler_waits_for_it() -> None:
    psi, descheduling = planned(a_cluster()).items
    assert (psi.name, str(psi.target_ref)) == (
        "enable-psi-metrics",
        "MachineConfig 99-worker-psi-karg",
    )
    assert psi.impact_severity == "High"
    assert "reboots the 3 machines of pool 'worker'" in psi.impact
    assert psi.managed_fields == ("spec.kernelArguments",)
    assert "PSI" in psi.message
    for line in (
        "+  kernelArguments:",
        "+  - psi=1",
        "+    machineconfiguration.openshift.io/role: worker",
    ):
        assert line in psi.diff.splitlines()
    assert descheduling.name == ITEM
    assert descheduling.target_ref == DESCHEDULER
    assert descheduling.depends_on == ("enable-psi-metrics",)
    assert {item.state for item in (psi, descheduling)} == {"Pending"}
    assert descheduling.message == (
        "KubeDescheduler 'cluster' will be configured with profile 'KubeVirtRelieveAndMigrate'"
    )
    assert descheduling.managed_fields == (
        "spec.managementState",
        "spec.deschedulingIntervalSeconds",
        "spec.mode",
        "spec.profiles",
        "spec.profileCustomizations",
        "spec.evictionLimits",
    )


def test_the_diff_shows_what_the_seed_shows() -> None:
    diff = planned(a_cluster()).items[-1].diff
    assert diff.startswith("--- cluster (KubeDescheduler)\n+++ cluster (KubeDescheduler)\n@@ -")
    changes = {line.strip() for line in diff.splitlines() if line[0] in "+-"}
    assert "-  - LifecycleAndUtilization" in changes
    assert "+  - KubeVirtRelieveAndMigrate" in changes
    assert "+  deschedulingIntervalSeconds: 60" in changes
    assert "+  mode: Automatic" in changes
    assert "   - AffinityAndTaints" in diff.splitlines()


@pytest.mark.parametrize(
    ("release", "profile", "customizations", "limits"),
    [
        pytest.param("5.10", FALLBACK, None, None, id="5.10 has no KubeVirt profile"),
        pytest.param("5.14", DEV, CUSTOMIZED, {"total": 5}, id="5.14 has the preview"),
        pytest.param("5.21", DEV, CUSTOMIZED, {"total": 5}, id="5.21 has the preview"),
        pytest.param("5.32", GA, CUSTOMIZED, {"total": 5, "node": 2}, id="5.32 has the profile"),
    ],
)
def test_each_release_gets_what_its_schema_offers(
    release: Release, profile: str, customizations: Free | None, limits: Free | None
) -> None:
    spec = descheduler(a_cluster(release))
    assert spec["profiles"] == ["AffinityAndTaints", "SoftTopologyAndDuplicates", profile]
    assert spec.get("profileCustomizations") == customizations
    assert spec.get("evictionLimits") == limits
    assert (spec["managementState"], spec["mode"]) == ("Managed", "Automatic")


@pytest.mark.parametrize("release", RELEASES)
def test_simulate_only_means_simulate_only(release: Release) -> None:
    wanted = drafted(a_cluster(release), load_aware(mode="Predictive")).desired_objects[-1]
    assert wanted.desired["spec"]["mode"] == "Predictive"
    assert "nothing is evicted" in wanted.impact


def test_evictions_that_begin_are_announced() -> None:
    assert "evictions begin with this plan" in said(drafted(a_cluster()))
    running = changed(a_cluster(), DESCHEDULER, mode="Automatic")
    assert "evictions begin" not in said(drafted(running))


@pytest.mark.parametrize("release", ["5.14", "5.21", "5.32"])
def test_thresholds_of_ones_own_are_used(release: Release) -> None:
    spec = descheduler(a_cluster(release), load_aware(dev_deviation_thresholds="High"))
    assert spec["profileCustomizations"]["devDeviationThresholds"] == "High"


@pytest.mark.parametrize(
    ("wanted", "used"), [(60, 60), (900, 900), (3600, 3600), (7200, 7200), (0, 60), (-5, 60)]
)
def test_the_interval_is_the_users_unless_it_makes_no_sense(wanted: int, used: int) -> None:
    spec = descheduler(a_cluster(), load_aware(descheduling_interval_seconds=wanted))
    assert spec["deschedulingIntervalSeconds"] == used


def test_without_psi_the_descheduler_is_all_there_is() -> None:
    options = load_aware(enable_psi_metrics=False, descheduling_interval_seconds=900)
    (wanted,) = drafted(a_cluster(), options).desired_objects
    assert (wanted.name, wanted.depends_on) == (ITEM, ())
    assert wanted.desired["spec"]["deschedulingIntervalSeconds"] == 900
    needs = built_in().get(LOAD_AWARE).needs(options)
    assert [need.resource.kind for need in needs] == ["KubeDescheduler"]
    with_psi = built_in().get(LOAD_AWARE).needs(None)
    assert [need.resource.kind for need in with_psi] == ["KubeDescheduler", "MachineConfig"]


def test_psi_that_is_neither_on_nor_wanted_is_a_warning() -> None:
    options = load_aware(enable_psi_metrics=False)
    assert "until nodes run with psi=1" in said(drafted(a_cluster(), options))
    assert "psi=1" not in said(drafted(running_with(a_cluster(), "psi=1"), options))
    assert "psi=1" not in said(drafted(a_cluster("5.10"), options))


@pytest.mark.parametrize(
    ("there", "kept"),
    [
        pytest.param([], [], id="none"),
        pytest.param(["AffinityAndTaints"], ["AffinityAndTaints"], id="one to keep"),
        pytest.param(
            ["SoftTopologyAndDuplicates", "AffinityAndTaints"],
            ["SoftTopologyAndDuplicates", "AffinityAndTaints"],
            id="both, in their order",
        ),
        pytest.param(["LifecycleAndUtilization", "TopologyAndDuplicates"], [], id="contradictory"),
        pytest.param(
            ["CompactAndScale", "AffinityAndTaints", "LongLifecycle", "EvictPodsWithPVC"],
            ["AffinityAndTaints"],
            id="a mix",
        ),
        pytest.param([DEV, GA, "AffinityAndTaints"], ["AffinityAndTaints"], id="earlier variants"),
        pytest.param(["AffinityAndTaints"] * 2, ["AffinityAndTaints"], id="duplicates"),
    ],
)
def test_profiles_that_do_not_contradict_stay(there: list[str], kept: list[str]) -> None:
    assert descheduler(with_profiles(a_cluster(), *there))["profiles"] == [*kept, GA]


def test_a_new_descheduler_has_our_profile_alone() -> None:
    wanted = drafted(a_cluster(without=[DESCHEDULER])).desired_objects[-1]
    assert wanted.desired["spec"]["profiles"] == [GA]
    assert wanted.severity == "Medium"
    assert drafted(a_cluster()).desired_objects[-1].severity == "Low"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, 1),
        (5, 5),
        (9, 9),
        (10, 10),
        (11, 10),
        (13, 12),
        (15, 14),
        (20, 18),
        (25, 22),
        (50, 42),
        (100, 82),
    ],
)
def test_migration_limits_leave_people_some(value: int, expected: int) -> None:
    assert scaled(value) == expected


@pytest.mark.parametrize(
    ("hco", "options", "expected"),
    [
        pytest.param((5, 2), {}, (5, 2), id="small limits as they are"),
        pytest.param((20, 15), {}, (18, 14), id="large ones scaled"),
        pytest.param((25, 15), {}, (22, 14), id="larger ones too"),
        pytest.param(
            (20, 15),
            {"eviction_limit_total": 10, "eviction_limit_node": 7},
            (10, 7),
            id="both given",
        ),
        pytest.param((12, 3), {"eviction_limit_node": 8}, (11, 8), id="node given, total derived"),
        pytest.param((5, 12), {"eviction_limit_total": 8}, (8, 11), id="total given, node derived"),
        pytest.param((10, None), {}, (10, 2), id="one is missing"),
        pytest.param((None, None), {}, (5, 2), id="both are missing"),
        pytest.param((0, -3), {}, (5, 2), id="senseless values"),
    ],
)
def test_limits_come_from_the_options_or_from_hyperconverged(
    hco: tuple[int | None, int | None], options: dict[str, Any], expected: tuple[int, int]
) -> None:
    spec = descheduler(with_migrations(a_cluster(), *hco), load_aware(**options))
    assert spec["evictionLimits"] == dict(zip(("total", "node"), expected, strict=True))


def test_hyperconverged_is_optional() -> None:
    alone = a_cluster(without=[HYPERCONVERGED])
    assert descheduler(alone)["evictionLimits"] == {"total": 5, "node": 2}
    assert "was not found" in said(drafted(alone))


def test_hyperconverged_v1_keeps_its_limits_deeper() -> None:
    new = hyperconverged_v1()
    new["spec"]["virtualization"]["liveMigrationConfig"] = {
        "parallelMigrationsPerCluster": 20,
        "parallelOutboundMigrationsPerNode": 1,
    }
    cluster = added(a_cluster(without=[HYPERCONVERGED]), new)
    assert descheduler(cluster)["evictionLimits"] == {"total": 18, "node": 1}


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        pytest.param("5.10", {}, id="no limits, no inputs"),
        pytest.param("5.14", {TOTAL_INPUT: 5}, id="only the total"),
        pytest.param("5.21", {TOTAL_INPUT: 5}, id="only the total again"),
        pytest.param("5.32", {TOTAL_INPUT: 5, NODE_INPUT: 2}, id="both"),
    ],
)
def test_only_values_that_shape_the_plan_are_inputs(release: Release, expected: Free) -> None:
    inputs = drafted(a_cluster(release)).inputs
    assert {name: inputs[name] for name in inputs if "hyperconverged" in name} == expected


def test_limits_of_ones_own_make_hyperconverged_irrelevant() -> None:
    inputs = drafted(a_cluster(), load_aware(eviction_limit_total=4, eviction_limit_node=2)).inputs
    assert not [name for name in inputs if "hyperconverged" in name]


def test_an_upgraded_definition_is_another_input() -> None:
    before, after = (drafted(a_cluster(release)).inputs for release in ("5.21", "5.32"))
    assert before["descheduler.profile"] == DEV
    assert after["descheduler.profile"] == GA


@pytest.mark.parametrize("release", RELEASES)
def test_a_plan_that_was_applied_is_not_its_own_input(release: Release) -> None:
    cluster = a_cluster(release)
    plan = planned(cluster)
    wanted = [item.desired_state for item in plan.items if item.desired_state]
    done = running_with(added(cluster, *wanted), "psi=1")
    assert planned(done).inputs == plan.inputs
    hand_changed = changed(done, DESCHEDULER, evictionLimits={"total": 99})
    assert planned(hand_changed).inputs == plan.inputs


@pytest.mark.parametrize(
    ("release", "silent"),
    [
        pytest.param(
            "5.10",
            ["devDeviationThresholds", "evictionLimitTotal", "evictionLimitNode"],
            id="5.10 has none of them",
        ),
        pytest.param("5.14", ["evictionLimitNode"], id="5.14 has no limit per node"),
        pytest.param("5.21", ["evictionLimitNode"], id="5.21 has no limit per node"),
        pytest.param("5.32", [], id="5.32 has all"),
    ],
)
def test_options_without_effect_are_named(release: Release, silent: list[str]) -> None:
    options = load_aware(
        dev_deviation_thresholds="High", eviction_limit_total=9, eviction_limit_node=3
    )
    text = said(drafted(a_cluster(release), options))
    for name in ("devDeviationThresholds", "evictionLimitTotal", "evictionLimitNode"):
        assert (f"options.loadAware.{name} has no effect" in text) == (name in silent)


def test_a_limit_per_node_above_the_total_is_refused() -> None:
    with pytest.raises(OptionError, match="evictionLimitNode 9 is above the total limit of 4"):
        drafted(a_cluster(), load_aware(eviction_limit_total=4, eviction_limit_node=9))
    with pytest.raises(OptionError, match="above the total limit of 5"):
        drafted(a_cluster(), load_aware(eviction_limit_node=9))
    derived = drafted(with_migrations(a_cluster(), 3, 8))
    assert "above the total of 3" in said(derived)


def test_long_lifecycle_warns_and_offers_background_evictions() -> None:
    plain = drafted(a_cluster("5.10"))
    assert "backgroundEvictions: true" in said(plain)
    assert "profileCustomizations" not in plain.desired_objects[-1].desired["spec"]
    chosen = drafted(a_cluster("5.10"), load_aware(background_evictions=True))
    assert chosen.desired_objects[-1].desired["spec"]["profileCustomizations"] == {
        "devEnableEvictionsInBackground": True
    }
    assert "backgroundEvictions: true" not in said(chosen)
    assert "spec.profileCustomizations" in chosen.desired_objects[-1].managed_fields


def test_what_the_descheduler_operator_would_refuse_is_said_before() -> None:
    lingering = changed(
        a_cluster("5.21"),
        DESCHEDULER,
        profileCustomizations={"devLowNodeUtilizationThresholds": "Medium"},
    )
    text = said(drafted(lingering))
    assert "devLowNodeUtilizationThresholds is set" in text
    assert "devEnableSoftTainter is deprecated" in text
    assert "devActualUtilizationProfile is not set" in text
    assert "deprecated" not in said(drafted(a_cluster("5.14")))


def test_a_scheduler_that_packs_contradicts_long_lifecycle() -> None:
    scheduler = {
        "apiVersion": "config.openshift.io/v1",
        "kind": "Scheduler",
        "metadata": {"name": "cluster"},
        "spec": {"profile": "HighNodeUtilization"},
    }
    assert "HighNodeUtilization" in said(drafted(added(a_cluster("5.10"), scheduler)))


def test_a_missing_namespace_is_a_prerequisite() -> None:
    home = NAMESPACES.ref("openshift-kube-descheduler-operator")
    with pytest.raises(MissingError, match="openshift-kube-descheduler-operator does not exist"):
        drafted(a_cluster(without=[home]))


@pytest.mark.parametrize(
    "crd",
    [
        pytest.param(None, id="no definition"),
        pytest.param({}, id="an empty one"),
        pytest.param({"spec": {"versions": [{"name": "v1"}]}}, id="one without a schema"),
    ],
)
def test_a_definition_that_tells_nothing_gets_todays_profile(crd: Free | None) -> None:
    assert capabilities(crd) == Capabilities(profile=GA)


def test_fields_that_a_definition_does_not_have_are_not_written() -> None:
    cluster = a_cluster()
    crd = cluster.crds[KUBE_DESCHEDULERS.crd]
    spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    del spec["properties"]["profileCustomizations"]["properties"]["devEnableSoftTainter"]
    assert "devEnableSoftTainter" not in descheduler(cluster)["profileCustomizations"]
