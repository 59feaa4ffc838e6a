"""Policy files that descheduler v0.36 refuses, and some that it surprisingly takes.

The unit tests read them with `trimtab.policy`, the contract tests start the real program
with them: both must say the same.
"""

from typing import Any

import pytest
import yaml

from trimtab.policy.file.settings import SYSTEM_CRITICAL
from trimtab.policy.file.yaml_text import dump_yaml, load_yaml

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
    """A policy file. As YAML: the descheduler reads a file of JSON more strictly."""
    configs = [{"name": plugin, "args": args}]
    if evictor is not None:
        configs.append({"name": "DefaultEvictor", "args": evictor})
    profile = {
        "name": "p",
        "pluginConfig": configs,
        "plugins": plugins if plugins is not None else {"balance": {"enabled": [plugin]}},
    }
    header = {"apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy"}
    tree = {**header, "profiles": [profile], **policy}
    text: str = yaml.dump(tree, Dumper=yaml.CSafeDumper, sort_keys=False)
    return text


def labelled(label: str) -> str:
    """With a label that stands in the file exactly so."""
    selector = {"matchLabels": {"WORD": "x"}}
    return a_file(evictor={"labelSelector": selector}).replace("WORD: x", label)


_PLUGIN_NOBODY_HAS = a_file(plugin="Bogus")
UNVERSIONED = {
    "no apiVersion": _PLUGIN_NOBODY_HAS.replace("apiVersion: descheduler/v1alpha2\n", ""),
    "an empty apiVersion": _PLUGIN_NOBODY_HAS.replace("descheduler/v1alpha2", "''"),
    "apiVersion is null": _PLUGIN_NOBODY_HAS.replace("descheduler/v1alpha2", "null"),
    "a misspelt apiVersion": _PLUGIN_NOBODY_HAS.replace("apiVersion", "apiVersions"),
}
"""Files that are read as an empty policy: with an unknown plugin, which nobody then misses."""

# What trimtab says of each; mostly the words of the descheduler.
REFUSED = [
    pytest.param(a_file([]), "profiles[0].pluginConfig[0].args: Expected object", id="args"),
    pytest.param("[]", "a policy is an object", id="a list"),
    pytest.param("a: [}", "not YAML: line 1", id="no YAML"),
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
    pytest.param(labelled("app: y"), "matchLabels", id="y is no text"),
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
    pytest.param(a_file(evictor={"minPodAge": "--1s"}), "invalid duration '--1s'", id="two signs"),
    pytest.param(
        a_file(evictor={"minPodAge": "10000000h"}),
        "invalid duration '10000000h'",
        id="longer than 64 bits of nanoseconds",
    ),
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

# Refused as well, but only when the plugins are built: the real program reads these files.
REFUSED_LATER = {
    "node selector",
    "a query with another resource",
    "enabled plugin",
    "wrong extension point",
    "enabled but not configured",
    "selector operator",
}

# Where Go's decoders have other words.
IN_GO = {
    "args": "cannot unmarshal array",
    "a list": "cannot unmarshal array",
    "no YAML": "yaml: did not find expected node content",
    "version": 'no kind "DeschedulerPolicy" is registered for version "descheduler/v1alpha1"',
    "kind": 'no kind "Other" is registered',
    "negative": "cannot unmarshal number -1",
    "a fraction": "cannot unmarshal number 2.5",
    "a text": "cannot unmarshal string",
    "unknown fields in args": 'unknown field "bogus", unknown field "evictionLimits.total"',
    "unknown, deeper": 'unknown field "labelSelector.matchLabel"',
    "a text for a percentage": "cannot unmarshal string",
    "y is no text": "cannot unmarshal bool",
    "no thresholds": "thresholds config is not valid: no resource threshold is configured",
    "no int32": "cannot unmarshal number 2147483648",
    "negative replicas": "cannot unmarshal number -1",
    "an age without a unit": "cannot unmarshal number",
    "days": 'unknown unit "d"',
    "two signs": 'invalid duration "--1s"',
    "longer than 64 bits of nanoseconds": 'invalid duration "10000000h"',
    "a URL without scheme": "first path segment in URL cannot contain colon",
}

ACCEPTED = [
    pytest.param("", id="an empty file does nothing"),
    pytest.param(a_file().replace("kind: DeschedulerPolicy\n", ""), id="no kind"),
    pytest.param(a_file().replace("apiVersion", "APIversion"), id="letter case of apiVersion"),
    *(pytest.param(text, id=name) for name, text in UNVERSIONED.items()),
    pytest.param(a_file(metricsProviders=[None]), id="an empty provider"),
    pytest.param(
        a_file({**LEVELS, "evictableNamespaces": {"exclude": ["a", None]}}), id="null name"
    ),
    pytest.param(a_file(evictor={"minPodAge": "-2562047h47m16.854775808s"}), id="the longest age"),
    pytest.param(a_file(maxNoOfPodsToEvictTotal=2.0), id="2.0 is an integer"),
    pytest.param(dump_yaml(load_yaml(labelled("app: 'y'"), "f")), id="y in quotes"),
    pytest.param(labelled("y: x"), id="a key of y"),
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
