"""Policy files: what v0.36 accepts, refuses (in its own words) and drops (T6)."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from builders.values.policy_files import (
    ACCEPTED,
    LEVELS,
    QUERY,
    REFUSED,
    SERVER,
    UNVERSIONED,
    a_file,
)
from builders.worlds.policy import default_policy
from trimtab.errors import ConfigError
from trimtab.policy.file.default import DEFAULT_POLICY
from trimtab.policy.file.reader import load_policy, read_policy
from trimtab.policy.file.settings import (
    DEFAULT_PROTECTIONS,
    SYSTEM_CRITICAL,
    Evictor,
    HighNodeUtilization,
    LowNodeUtilization,
    Policy,
    Protection,
    UsageSource,
)

EXAMPLES = Path(__file__).parents[3] / "examples" / "policies"


def low(text: str) -> LowNodeUtilization:
    ((_, plugin),) = read_policy(text).profiles[0].plugins
    assert isinstance(plugin, LowNodeUtilization)
    return plugin


def evictor_of(args: Any, **classes: int) -> Evictor:
    return read_policy(a_file(evictor=args), priority_classes=classes).profiles[0].evictor


def test_defaults() -> None:
    """Nothing but thresholds: requests, levels, no limits, four protections."""
    policy = read_policy(a_file())
    assert low(a_file()) == LowNodeUtilization(low={"cpu": 10.0}, high={"cpu": 20.0})
    assert low(a_file()).resources == ("cpu", "memory", "pods")
    assert policy.profiles[0].evictor == Evictor()
    assert Evictor().protections == DEFAULT_PROTECTIONS
    assert Evictor().priority_threshold == SYSTEM_CRITICAL
    assert (policy.max_total, policy.max_per_node, policy.max_per_namespace) == (None, None, None)
    assert policy.node_selector.matches({})


def test_everything_at_policy_level() -> None:
    policy = read_policy(
        a_file(
            nodeSelector="role in (a, b)",
            maxNoOfPodsToEvictTotal=5,
            maxNoOfPodsToEvictPerNode=2,
            maxNoOfPodsToEvictPerNamespace=0,
            gracePeriodSeconds=7,
            evictionFailureEventNotification=True,
            **SERVER,
        )
    )
    assert (policy.max_total, policy.max_per_node, policy.max_per_namespace) == (5, 2, 0)
    assert (policy.grace_period_s, policy.prometheus_url) == (7, "http://p")
    assert policy.node_selector.matches({"role": "b"})
    assert not policy.node_selector.matches({"role": "c"})


def test_a_prometheus_query() -> None:
    args = {
        **QUERY,
        "useDeviationThresholds": True,
        "numberOfNodes": 3,
        "evictionLimits": {"node": 2},
        "evictableNamespaces": {"exclude": ["kube-system"]},
    }
    plugin = low(a_file(args, **SERVER))
    assert (plugin.source, plugin.query, plugin.broken) == (UsageSource.PROMETHEUS, "up", None)
    assert plugin.resources == ("MetricResource",)
    assert (plugin.deviation, plugin.number_of_nodes, plugin.node_limit) == (True, 3, 2)
    assert plugin.excluded == {"kube-system"}


@pytest.mark.parametrize(
    ("metrics", "policy", "source", "broken"),
    [
        pytest.param(
            {"source": "KubernetesMetrics"},
            {"metricsProviders": [{"source": "KubernetesMetrics"}]},
            UsageSource.METRICS_SERVER,
            None,
            id="metrics server",
        ),
        pytest.param(
            {"metricsServer": True},
            {"metricsCollector": {"enabled": True}},
            UsageSource.METRICS_SERVER,
            None,
            id="metrics server, the old way",
        ),
        pytest.param(
            {"source": "KubernetesMetrics"},
            {},
            UsageSource.METRICS_SERVER,
            "metrics client not initialized",
            id="metrics server without provider",
        ),
        pytest.param(
            {"source": "Other"},
            {},
            UsageSource.PROMETHEUS,
            "unrecognized metrics source",
            id="unknown",
        ),
        pytest.param({}, {}, UsageSource.PROMETHEUS, "metrics source is empty", id="empty"),
    ],
)
def test_sources_that_start_and_may_fail_each_cycle(
    metrics: Any, policy: Any, source: UsageSource, broken: str | None
) -> None:
    """P11."""
    plugin = low(a_file({**LEVELS, "metricsUtilization": metrics}, **policy))
    assert (plugin.source, plugin.broken) == (source, broken)


def test_a_prometheus_source_without_provider_fails_each_cycle() -> None:
    assert low(a_file(QUERY)).broken == "prometheus client not initialized"


def test_metric_resource_is_accepted_for_requests() -> None:
    """Its usage is zero everywhere."""
    args = {"thresholds": {"MetricResource": 10}, "targetThresholds": {"MetricResource": 20}}
    assert low(a_file(args)).resources == ("MetricResource", "cpu", "memory", "pods")


def test_high_node_utilization() -> None:
    args = {"thresholds": {"cpu": 20}, "evictionModes": ["OnlyThresholdingResources"]}
    ((_, plugin),) = read_policy(a_file(args, plugin="HighNodeUtilization")).profiles[0].plugins
    assert plugin == HighNodeUtilization(low={"cpu": 20.0}, only_thresholding_resources=True)
    assert plugin.high == {"cpu": 100.0}


@pytest.mark.parametrize(
    ("args", "protections"),
    [
        pytest.param({}, DEFAULT_PROTECTIONS, id="default"),
        pytest.param(
            {"evictLocalStoragePods": True, "ignorePvcPods": True, "ignorePodsWithoutPDB": True},
            DEFAULT_PROTECTIONS - {Protection.LOCAL_STORAGE}
            | {Protection.PVC, Protection.WITHOUT_PDB},
            id="old booleans",
        ),
        pytest.param(
            {
                "evictDaemonSetPods": True,
                "evictSystemCriticalPods": True,
                "evictFailedBarePods": True,
            },
            {Protection.LOCAL_STORAGE},
            id="the other old booleans",
        ),
        pytest.param(
            {
                "podProtections": {
                    "defaultDisabled": ["DaemonSetPods", "SystemCriticalPods"],
                    "extraEnabled": ["PodsWithResourceClaims"],
                }
            },
            {
                Protection.LOCAL_STORAGE,
                Protection.FAILED_BARE,
                Protection.RESOURCE_CLAIMS,
            },
            id="podProtections",
        ),
        pytest.param(
            {
                "evictLocalStoragePods": True,
                "podProtections": {
                    "config": {"PodsWithPVC": {"protectedStorageClasses": [{"name": ""}]}}
                },
            },
            DEFAULT_PROTECTIONS - {Protection.LOCAL_STORAGE},
            id="a config alone does not switch to the new way, nor is it checked",
        ),
    ],
)
def test_protections(args: Any, protections: set[Protection]) -> None:
    assert evictor_of(args).protections == protections


def test_the_rest_of_the_evictor() -> None:
    evictor = evictor_of(
        {
            "nodeFit": True,
            "nodeSelector": "a=b",
            "minReplicas": 2,
            "minPodAge": "1h30m0.5s",
            "noEvictionPolicy": "Mandatory",
            "labelSelector": {"matchLabels": {"app": "x"}},
            "namespaceLabelSelector": {
                "matchExpressions": [{"key": "tier", "operator": "Exists"}],
            },
            "priorityThreshold": {"value": -3},
            "podProtections": {
                "extraEnabled": ["PodsWithPVC"],
                "config": {"PodsWithPVC": {"protectedStorageClasses": [{"name": "fast"}]}},
            },
        }
    )
    assert (evictor.node_fit, evictor.min_replicas, evictor.min_pod_age_s) == (True, 2, 5400.5)
    assert (evictor.no_eviction, evictor.priority_threshold) == ("Mandatory", -3)
    assert evictor.storage_classes == {"fast"}
    assert evictor.label_selector.matches({"app": "x"})
    assert not evictor.namespace_selector.matches({})


def test_a_priority_class_is_looked_up() -> None:
    """At start, once."""
    named = {"priorityThreshold": {"name": "gold"}}
    assert evictor_of(named, gold=500).priority_threshold == 500
    with pytest.raises(ConfigError, match='"gold" not found'):
        evictor_of(named)


def test_an_unreadable_node_selector_of_the_evictor_is_no_error() -> None:
    assert evictor_of({"nodeFit": True, "nodeSelector": "a in"}).node_selector is None


@pytest.mark.parametrize("age", ["1.5h", "90m", "5400s", "5400000ms", "+1h30m", "89m60s0us"])
def test_durations_are_gos(age: str) -> None:
    assert evictor_of({"minPodAge": age}).min_pod_age_s == pytest.approx(5400.0)


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_refusals_name_file_field_and_reason(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_policy(text, "a_file")
    assert message in str(refused.value)
    assert str(refused.value).startswith("a_file: ")
    assert "\n" not in str(refused.value)


def test_all_problems_of_the_evictor_are_reported_at_once() -> None:
    with pytest.raises(ConfigError) as refused:
        evictor_of({"noEvictionPolicy": "No", "podProtections": {"extraEnabled": ["A", "A"]}})
    assert str(refused.value).count("extraEnabled: ") == 3
    assert "noEvictionPolicy accepts only" in str(refused.value)


@pytest.mark.parametrize("text", UNVERSIONED.values(), ids=UNVERSIONED.keys())
def test_without_an_api_version_nothing_is_read(text: str) -> None:
    policy = read_policy(text)
    assert policy.unversioned
    assert policy.profiles == ()


def test_the_letter_case_of_the_header_does_not_matter() -> None:
    policy = read_policy(a_file().replace("apiVersion", "APIversion").replace("kind", "Kind"))
    assert not policy.unversioned
    assert policy.ignored == ()


@pytest.mark.parametrize("text", ACCEPTED)
def test_what_the_descheduler_accepts_is_accepted(text: str) -> None:
    assert isinstance(read_policy(text), Policy)


def test_numbers_may_be_written_with_an_exponent() -> None:
    text = a_file().replace("cpu: 10", "cpu: 1e1")
    assert low(text).low == {"cpu": 10.0}


def test_unknown_fields_outside_args_are_dropped_but_not_by_us() -> None:
    """The descheduler starts with `maxNoOfPodsToEvictPerNodes: 3` and has no limit."""
    text = a_file(maxNoOfPodsToEvictPerNodes=3, plugins={"preEvictionFilter": {"enabled": ["X"]}})
    policy = read_policy(text)
    assert policy.max_per_node is None
    assert policy.ignored == (
        "profiles[0].plugins.preEvictionFilter",
        "maxNoOfPodsToEvictPerNodes",
    )


def test_plugins_that_are_not_reproduced_are_named() -> None:
    text = a_file(
        {"maxPodLifeTimeSeconds": 5},
        plugin="PodLifeTime",
        plugins={"deschedule": {"enabled": ["PodLifeTime"]}},
    )
    assert read_policy(text).unmodelled == ("PodLifeTime",)


def test_of_two_configs_for_one_plugin_the_first_counts() -> None:
    second = {"name": "LowNodeUtilization", "args": {**LEVELS, "numberOfNodes": 9}}
    tree = yaml.safe_load(a_file())
    tree["profiles"][0]["pluginConfig"].append(second)
    assert low(yaml.safe_dump(tree)).number_of_nodes == 0


def test_a_profile_without_pluginconfig_for_the_evictor_has_its_defaults() -> None:
    text = a_file(plugins={"balance": {"enabled": []}, "filter": {"enabled": ["DefaultEvictor"]}})
    assert read_policy(text).profiles[0].evictor == Evictor()


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_examples_are_read_without_remainder(path: Path) -> None:
    policy = load_policy(path)
    assert policy.profiles[0].plugins
    assert (policy.ignored, policy.unmodelled) == ((), ())


def test_the_default_policy_is_the_example() -> None:
    assert load_policy(EXAMPLES / "default.yaml") == default_policy()
    (profile,) = default_policy().profiles
    ((_, plugin),) = profile.plugins
    assert isinstance(plugin, LowNodeUtilization)
    assert (dict(plugin.low), dict(plugin.high)) == ({"MetricResource": 0}, {"MetricResource": 10})
    assert (default_policy().max_total, default_policy().max_per_node, plugin.node_limit) == (
        5,
        2,
        2,
    )
    assert plugin.query in DEFAULT_POLICY


def test_the_ten_ten_example_forgets_the_plugins_limit() -> None:
    ((_, plugin),) = load_policy(EXAMPLES / "deviation-10-10.yaml").profiles[0].plugins
    assert isinstance(plugin, LowNodeUtilization)
    assert plugin.node_limit is None


def test_thresholds_and_limits_can_be_replaced() -> None:
    policy = default_policy().with_thresholds(5, 15).with_limits(7, 3)
    ((_, plugin),) = policy.profiles[0].plugins
    assert isinstance(plugin, LowNodeUtilization)
    assert (dict(plugin.low), dict(plugin.high)) == ({"MetricResource": 5}, {"MetricResource": 15})
    assert (policy.max_total, policy.max_per_node, plugin.node_limit) == (7, 3, 3)


def test_a_file_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.yaml: cannot be read: No such file"):
        load_policy(tmp_path / "none.yaml")
