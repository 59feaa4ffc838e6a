"""Policy files: what v0.36 accepts, refuses (in its own words) and drops (T6, 9.13)."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from trimtab.errors import ConfigError
from trimtab.policy import DEFAULT_POLICY, Policy, default_policy, load_policy, read_policy
from trimtab.policy.settings import (
    DEFAULT_PROTECTIONS,
    SYSTEM_CRITICAL,
    Evictor,
    HighNodeUtilization,
    LowNodeUtilization,
    Protection,
    Source,
)

EXAMPLES = Path(__file__).parents[3] / "examples" / "policies"
LEVELS = {"thresholds": {"cpu": 10}, "targetThresholds": {"cpu": 20}}
QUERY = {
    "thresholds": {"MetricResource": 10},
    "targetThresholds": {"MetricResource": 20},
    "metricsUtilization": {"source": "Prometheus", "prometheus": {"query": "up"}},
}
SERVER: dict[str, Any] = {
    "metricsProviders": [{"source": "Prometheus", "prometheus": {"url": "http://p"}}]
}


def a_file(
    args: Any = LEVELS,
    *,
    plugin: str = "LowNodeUtilization",
    evictor: Any = None,
    plugins: Any = None,
    **policy: Any,
) -> str:
    """A policy file; JSON is YAML."""
    configs = [{"name": plugin, "args": args}]
    if evictor is not None:
        configs.append({"name": "DefaultEvictor", "args": evictor})
    profile = {
        "name": "p",
        "pluginConfig": configs,
        "plugins": plugins if plugins is not None else {"balance": {"enabled": [plugin]}},
    }
    header = {"apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy"}
    return msgspec.json.encode({**header, "profiles": [profile], **policy}).decode()


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
    assert (plugin.source, plugin.query, plugin.broken) == (Source.PROMETHEUS, "up", None)
    assert plugin.resources == ("MetricResource",)
    assert (plugin.deviation, plugin.number_of_nodes, plugin.node_limit) == (True, 3, 2)
    assert plugin.excluded == {"kube-system"}


@pytest.mark.parametrize(
    ("metrics", "policy", "source", "broken"),
    [
        pytest.param(
            {"source": "KubernetesMetrics"},
            {"metricsProviders": [{"source": "KubernetesMetrics"}]},
            Source.METRICS_SERVER,
            None,
            id="metrics server",
        ),
        pytest.param(
            {"metricsServer": True},
            {"metricsCollector": {"enabled": True}},
            Source.METRICS_SERVER,
            None,
            id="metrics server, the old way",
        ),
        pytest.param(
            {"source": "KubernetesMetrics"},
            {},
            Source.METRICS_SERVER,
            "metrics client not initialized",
            id="metrics server without provider",
        ),
        pytest.param(
            {"source": "Other"}, {}, Source.PROMETHEUS, "unrecognized metrics source", id="unknown"
        ),
        pytest.param({}, {}, Source.PROMETHEUS, "metrics source is empty", id="empty"),
    ],
)
def test_sources_that_start_and_may_fail_each_cycle(
    metrics: Any, policy: Any, source: Source, broken: str | None
) -> None:
    """P11."""
    plugin = low(a_file({**LEVELS, "metricsUtilization": metrics}, **policy))
    assert (plugin.source, plugin.broken) == (source, broken)


def test_a_prometheus_source_without_provider_fails_each_cycle() -> None:
    """9.13."""
    assert low(a_file(QUERY)).broken == "prometheus client not initialized"


def test_metric_resource_is_accepted_for_requests() -> None:
    """9.13: its usage is zero everywhere."""
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
    """9.5: at start, once."""
    named = {"priorityThreshold": {"name": "gold"}}
    assert evictor_of(named, gold=500).priority_threshold == 500
    with pytest.raises(ConfigError, match='"gold" not found'):
        evictor_of(named)


def test_an_unreadable_node_selector_of_the_evictor_is_no_error() -> None:
    assert evictor_of({"nodeFit": True, "nodeSelector": "a in"}).node_selector is None


@pytest.mark.parametrize("age", ["1.5h", "90m", "5400s", "5400000ms", "+1h30m", "89m60s0us"])
def test_durations_are_gos(age: str) -> None:
    assert evictor_of({"minPodAge": age}).min_pod_age_s == pytest.approx(5400.0)


REFUSED = [
    pytest.param(a_file([]), "profiles[0].pluginConfig[0].args: Expected object", id="args"),
    pytest.param("[]", "a policy is an object", id="a list"),
    pytest.param("a: [", "not YAML: line 1", id="no YAML"),
    pytest.param(
        a_file().replace("v1alpha2", "v1alpha1"), "apiVersion: 'descheduler/v1alpha1'", id="version"
    ),
    pytest.param(a_file().replace("DeschedulerPolicy", "Other"), "kind: 'Other'", id="kind"),
    pytest.param(a_file(maxNoOfPodsToEvictTotal=-1), "maxNoOfPodsToEvictTotal", id="negative"),
    pytest.param(a_file(maxNoOfPodsToEvictTotal=2.5), "maxNoOfPodsToEvictTotal", id="a fraction"),
    pytest.param(a_file(maxNoOfPodsToEvictTotal="2"), "maxNoOfPodsToEvictTotal", id="a text"),
    pytest.param(a_file(nodeSelector="a=b,,"), "nodeSelector: 'a=b,,'", id="node selector"),
    pytest.param(
        a_file({**LEVELS, "evictionLimits": {"total": 3}, "bogus": 1}),
        'args: strict decoding error: unknown field "bogus", unknown field "evictionLimits.total"',
        id="unknown fields in args",
    ),
    pytest.param(
        a_file({"Thresholds": {}, **LEVELS}), 'unknown field "Thresholds"', id="letter case"
    ),
    pytest.param(
        a_file(evictor={"labelSelector": {"matchLabel": {}}}), "matchLabel", id="unknown, deeper"
    ),
    pytest.param(
        a_file({"thresholds": {"cpu": "10"}, "targetThresholds": {"cpu": 20}}),
        "args.thresholds",
        id="a text for a percentage",
    ),
    pytest.param(
        a_file({}),
        "thresholds: thresholds config is not valid: no resource threshold is configured",
        id="no thresholds",
    ),
    pytest.param(
        a_file(None), "thresholds config is not valid: no resource threshold", id="no args at all"
    ),
    pytest.param(
        a_file({"thresholds": {"cpu": 10}}),
        "targetThresholds config is not valid: no resource threshold is configured",
        id="no targets",
    ),
    pytest.param(
        a_file({"thresholds": {"cpu": -1}, "targetThresholds": {"cpu": 2}}),
        "thresholds config is not valid: cpu threshold not in [0, 100] range",
        id="below zero",
    ),
    pytest.param(
        a_file({"thresholds": {"cpu": 1}, "targetThresholds": {"cpu": 100.1}}),
        "targetThresholds config is not valid: cpu threshold not in [0, 100] range",
        id="above a hundred",
    ),
    pytest.param(
        a_file({"thresholds": {"cpu": 1}, "targetThresholds": {"memory": 2}}),
        "thresholds and targetThresholds configured different resources",
        id="different resources",
    ),
    pytest.param(
        a_file({"thresholds": {"cpu": 3}, "targetThresholds": {"cpu": 2}}),
        "thresholds' cpu percentage is greater than targetThresholds'",
        id="low above high",
    ),
    pytest.param(
        a_file({**LEVELS, "evictableNamespaces": {"include": ["a"]}}),
        "only Exclude namespaces can be set, inclusion is not supported",
        id="included namespaces",
    ),
    pytest.param(
        a_file({**LEVELS, "metricsUtilization": {"source": "Prometheus"}}),
        'prometheus query is required when metrics source is set to "Prometheus"',
        id="no query",
    ),
    pytest.param(
        a_file(
            {
                **LEVELS,
                "metricsUtilization": {"source": "KubernetesMetrics", "metricsServer": True},
            }
        ),
        'it is not allowed to set both "KubernetesMetrics" source and metricsServer',
        id="metrics server twice",
    ),
    pytest.param(
        a_file({**LEVELS, "metricsUtilization": {"source": "KubernetesMetrics", "prometheus": {}}}),
        'prometheus configuration is not allowed to set when source is set to "KubernetesMetrics"',
        id="metrics server with a query",
    ),
    pytest.param(
        a_file({**QUERY, **LEVELS}, **SERVER),
        'thresholds are expected to specify a single instance of "MetricResource"',
        id="a query with another resource",
    ),
    pytest.param(
        a_file({"thresholds": {"cpu": 1}, "evictionModes": ["X"]}, plugin="HighNodeUtilization"),
        "invalid eviction mode X",
        id="eviction mode",
    ),
    pytest.param(
        a_file(LEVELS, plugin="HighNodeUtilization"),
        'unknown field "targetThresholds"',
        id="HighNodeUtilization has no targets",
    ),
    pytest.param(
        a_file(LEVELS, plugin="Bogus"), "plugin Bogus in pluginConfig not registered", id="plugin"
    ),
    pytest.param(
        a_file(plugins={"balance": {"enabled": ["Bogus"]}}),
        'profile "p" configures balance extension point of non-existing plugins: Bogus',
        id="enabled plugin",
    ),
    pytest.param(
        a_file(plugins={"deschedule": {"enabled": ["LowNodeUtilization"]}}),
        "configures deschedule extension point of non-existing plugins: LowNodeUtilization",
        id="wrong extension point",
    ),
    pytest.param(
        a_file(plugins={"balance": {"enabled": ["HighNodeUtilization"]}}),
        'unable to find "HighNodeUtilization" plugin config',
        id="enabled but not configured",
    ),
    pytest.param(
        a_file(
            evictor={
                "evictLocalStoragePods": True,
                "podProtections": {"defaultDisabled": ["PodsWithLocalStorage"]},
            }
        ),
        "cannot use Deprecated fields alongside PodProtections",
        id="old and new protections",
    ),
    pytest.param(
        a_file(evictor={"podProtections": {"extraEnabled": ["DaemonSetPods"]}}),
        'invalid pod protection policy in ExtraEnabled: "DaemonSetPods". Valid options are: '
        "[PodsWithPVC PodsWithoutPDB PodsWithResourceClaims]",
        id="a default protection as an extra",
    ),
    pytest.param(
        a_file(evictor={"podProtections": {"defaultDisabled": ["DaemonSetPods"] * 2}}),
        "PodProtections.DefaultDisabled contains duplicate entries",
        id="a protection twice",
    ),
    pytest.param(
        a_file(
            evictor={
                "podProtections": {
                    "extraEnabled": ["PodsWithPVC"],
                    "config": {"PodsWithPVC": {"protectedStorageClasses": [{"name": ""}]}},
                }
            }
        ),
        "ProtectedStorageClasses[0] name cannot be empty",
        id="a storage class without name",
    ),
    pytest.param(
        a_file(evictor={"noEvictionPolicy": "Never"}), "noEvictionPolicy accepts only", id="no"
    ),
    pytest.param(
        a_file(evictor={"priorityThreshold": {"value": 1, "name": "a"}}),
        "priority threshold misconfigured, only one of priorityThreshold fields can be set",
        id="priority twice",
    ),
    pytest.param(
        a_file(evictor={"priorityThreshold": {"value": SYSTEM_CRITICAL + 1}}),
        "priority threshold can't be greater than 2000000000",
        id="priority too high",
    ),
    pytest.param(
        a_file(evictor={"priorityThreshold": {"value": 2**31}}),
        "priorityThreshold.value",
        id="no int32",
    ),
    pytest.param(a_file(evictor={"minReplicas": -1}), "minReplicas", id="negative replicas"),
    pytest.param(a_file(evictor={"minPodAge": 5}), "minPodAge", id="an age without a unit"),
    pytest.param(a_file(evictor={"minPodAge": "1d"}), "invalid duration '1d'", id="days"),
    pytest.param(
        a_file(evictor={"labelSelector": {"matchExpressions": [{"key": "a", "operator": "X"}]}}),
        "'X' is not a valid label selector operator",
        id="selector operator",
    ),
    pytest.param(
        a_file(metricsProviders=[{"source": "KubernetesMetrics"}] * 2),
        'metric provider "KubernetesMetrics" is already configured',
        id="a provider twice",
    ),
    pytest.param(
        a_file(
            metricsProviders=[{"source": "KubernetesMetrics"}], metricsCollector={"enabled": True}
        ),
        "it is not allowed to combine metrics provider when metrics collector is enabled",
        id="provider and collector",
    ),
    pytest.param(
        a_file(metricsProviders=[{"source": "Prometheus"}]),
        "prometheus configuration is required when prometheus source is enabled",
        id="a provider without server",
    ),
    pytest.param(
        a_file(metricsProviders=[{"source": "Prometheus", "prometheus": {}}]),
        "prometheus URL is required when prometheus is enabled",
        id="no URL",
    ),
    pytest.param(
        a_file(metricsProviders=[{"source": "Prometheus", "prometheus": {"url": "1.2.3.4:9090"}}]),
        "error parsing prometheus URL: first path segment in URL cannot contain colon",
        id="a URL without scheme",
    ),
    pytest.param(
        a_file(
            metricsProviders=[
                {"source": "Prometheus", "prometheus": {"url": "http://a", "authToken": {}}}
            ]
        ),
        "prometheus authToken secret is expected to be set when authToken field is",
        id="a token without secret",
    ),
]


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


ACCEPTED = [
    pytest.param("", id="an empty file does nothing"),
    pytest.param(a_file().replace('"kind":"DeschedulerPolicy",', ""), id="no kind"),
    pytest.param(a_file(maxNoOfPodsToEvictTotal=2.0), id="2.0 is an integer"),
    pytest.param(a_file(maxNoOfPodsToEvictTotal=None), id="null is not set"),
    pytest.param(
        a_file({"thresholds": {"cpu": None}, "targetThresholds": {"cpu": 1}}), id="null is zero"
    ),
    pytest.param(
        a_file(
            {
                "useDeviationThresholds": True,
                "thresholds": {"cpu": 3},
                "targetThresholds": {"cpu": 2},
            }
        ),
        id="low may exceed high with deviations",
    ),
    pytest.param(a_file({**LEVELS, "numberOfNodes": -3}), id="negative numberOfNodes"),
    pytest.param(
        a_file({"apiVersion": "a/b", "kind": "LowNodeUtilizationArgs", **LEVELS}), id="typed args"
    ),
    pytest.param(
        a_file(metricsProviders=[{"source": "Prometheus", "prometheus": {"url": "ftp://a"}}]),
        id="an ftp server",
    ),
    pytest.param(
        a_file(metricsProviders=[{"source": "Prometheus", "prometheus": {"url": "prom:9090"}}]),
        id="a host name before the colon passes for a scheme",
    ),
    pytest.param(a_file(evictor={"minPodAge": "-5s"}), id="a negative age"),
    pytest.param(a_file(evictor={"priorityThreshold": {}}), id="an empty priority"),
    pytest.param(a_file() + "\n---\nother: document\n", id="a second document is not read"),
]


@pytest.mark.parametrize("text", ACCEPTED)
def test_what_the_descheduler_accepts_is_accepted(text: str) -> None:
    assert isinstance(read_policy(text), Policy)


def test_numbers_may_be_written_with_an_exponent() -> None:
    text = a_file().replace('"cpu":10', '"cpu":1e1')
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
    tree = msgspec.json.decode(a_file())
    tree["profiles"][0]["pluginConfig"].append(second)
    assert low(msgspec.json.encode(tree).decode()).number_of_nodes == 0


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
