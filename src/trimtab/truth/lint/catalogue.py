"""Every kind of finding. docs/reference/lint.md is written from this file."""

from collections.abc import Iterator

from trimtab.truth.lint.catalogue_vms import ABOUT_VMS, CLUSTER
from trimtab.truth.lint.finding import DOCS, LintRule

PROMETHEUS = "the policy and --prometheus"
BOTH = "the policy, --kubeconfig and --prometheus"
RECORDS = "the policy and --rules or --prometheus"
VERSION = "the policy and --deployment, --descheduler-version or --kubeconfig"
GATE = "the policy and --deployment or --kubeconfig"

POLICY_REFUSED = LintRule(
    id="policy-refused",
    severity="error",
    title="The descheduler does not start with this policy",
    explanation="The file does not decode, does not validate, or a plugin cannot be built from it.",
    fix="Correct the field that is named.",
)
API_VERSION_MISSING = LintRule(
    id="api-version-missing",
    severity="error",
    title="The whole policy is read as an empty one",
    explanation="Without apiVersion the descheduler takes the file for an object of its internal "
    "type, whose fields have other names: it starts, says nothing, and runs no plugin.",
    fix="Start the file with apiVersion: descheduler/v1alpha2.",
)
USAGE_IS_REQUESTS = LintRule(
    id="usage-is-requests",
    severity="note",
    title="Usage is the sum of requests",
    explanation="Without metricsUtilization LowNodeUtilization adds up what pods request, whatever "
    "they really use: a busy node with small requests is idle to it.",
    fix="To balance measured load, set metricsUtilization and metricsProviders.",
)
PLUGIN_OPENSHIFT_ONLY = LintRule(
    id="plugin-openshift-only",
    severity="error",
    title="Only OpenShift's descheduler knows a plugin of this policy",
    explanation="OpenShift's operator writes KubevirtMigrationAware into its policies, and its own "
    "build of the descheduler has it. Upstream's does not start: the plugin is not registered.",
    fix="Run OpenShift's descheduler, or take the plugin out of the policy.",
)
FIELD_IGNORED = LintRule(
    id="field-ignored",
    severity="error",
    title="A field is dropped without a word",
    explanation="Around plugin arguments the descheduler reads leniently: a field it does not know "
    "there changes nothing, and nothing is logged.",
    fix="Correct the name; what belongs to a plugin goes into its args.",
)
NOTHING_ENABLED = LintRule(
    id="nothing-enabled",
    severity="error",
    title="A configured plugin is not enabled",
    explanation="pluginConfig only configures. A plugin runs if it is listed under "
    "plugins.balance.enabled (or deschedule) of the same profile.",
    fix="Add its name to plugins.balance.enabled.",
)
PROVIDER_MISSING = LintRule(
    id="provider-missing",
    severity="error",
    title="The usage source has no provider",
    explanation="The descheduler starts, and every cycle fails because the metrics client was "
    "never made.",
    fix="Add the source to metricsProviders, with its url for Prometheus.",
)
QUERY_NO_INSTANCE = LintRule(
    id="query-no-instance",
    severity="error",
    title="A sample has no label instance",
    explanation="Nodes are found by the label instance alone. One sample without it fails the "
    "whole cycle, whatever other labels it has.",
    fix='Keep the label in aggregations (by (instance)), or make it: label_replace(…, "instance", '
    '"$1", "node", "(.+)").',
    needs="the policy; more with --rules or --prometheus",
)
QUERY_OUT_OF_RANGE = LintRule(
    id="query-out-of-range",
    severity="error",
    title="A sample is outside [0, 1]",
    explanation="The descheduler expects shares, not percents. One sample below 0 or above 1, even "
    "of a node outside the selection, fails the whole cycle.",
    fix="Divide by 100, or bound it: clamp(…, 0, 1).",
    needs="the policy; more with --rules or --prometheus",
)
QUERY_NAN = LintRule(
    id="query-nan",
    severity="error",
    title="A sample is NaN",
    explanation="NaN passes the range check and becomes a number that depends on the processor: on "
    "amd64 the headroom overflows, on arm64 the node looks idle.",
    fix="Drop such samples in the rule: (…) >= 0.",
    needs=PROMETHEUS,
)
QUERY_FAILED = LintRule(
    id="query-failed",
    severity="error",
    title="The query gives no vector",
    explanation="The descheduler takes an instant vector only. An error, a scalar, a string or a "
    "range ends each cycle.",
    fix="Try the query in Prometheus and make it an instant vector.",
    needs=PROMETHEUS,
)
QUERY_NO_SAMPLES = LintRule(
    id="query-no-samples",
    severity="error",
    title="The query gives nothing",
    explanation="An empty vector means that every node lacks a sample, so every cycle fails.",
    fix="Look for the series in Prometheus; load the recording rules if it is a record.",
    needs=PROMETHEUS,
)
QUERY_UNKNOWN_RECORD = LintRule(
    id="query-unknown-record",
    severity="error",
    title="The query names a record that nothing records",
    explanation="A name with colons is by convention the result of a recording rule. No rule here "
    "has that name, so the query stays empty.",
    fix="Load the rules that record it (trimtab rules), or correct the name.",
    needs=RECORDS,
)
NODE_NO_SAMPLE = LintRule(
    id="node-no-sample",
    severity="error",
    title="A node has no sample",
    explanation="The descheduler acts on all selected nodes or on none: one ready node without a "
    "sample fails the whole cycle.",
    fix="Find out why the node is not scraped, or leave it out with the policy's nodeSelector.",
    needs=BOTH,
)
INSTANCE_NOT_NODE = LintRule(
    id="instance-not-node",
    severity="error",
    title="instance is not the node's name",
    explanation="instance must equal the node's name exactly. Scraped targets carry address and "
    "port there unless they are relabelled, so no node is found.",
    fix='Strip the rest: label_replace(…, "instance", "$1", "instance", "([^:]+).*"). Where it is '
    "an IP address, relabel the target from __meta_kubernetes_node_name, or take another label "
    'that holds the name: label_replace(…, "instance", "$1", "node", "(.+)").',
    needs=BOTH,
)
THRESHOLDS_SATURATE = LintRule(
    id="thresholds-saturate",
    severity="error",
    title="No node can be over-utilised",
    explanation="Deviation thresholds are clamped to 0…100. Where the mean plus targetThresholds "
    "reaches 100 nothing can be above it, and the descheduler is silently off.",
    fix="Lower targetThresholds, or choose a score that does not saturate (trimtab scores list).",
    needs="the policy; more with --prometheus",
)
NODE_LIMIT_MISSING = LintRule(
    id="node-limit-missing",
    severity="warning",
    title="One pod a node and cycle, whatever the policy's limit says",
    explanation="With a Prometheus query the usage of a pod is unknown, so the plugin stops after "
    "one pod unless its own evictionLimits.node is set. maxNoOfPodsToEvictPerNode does not raise "
    "it.",
    fix="Set evictionLimits.node in the arguments of LowNodeUtilization.",
)
URL_SCHEME = LintRule(
    id="url-scheme",
    severity="error",
    title="The address of Prometheus is neither http nor https",
    explanation="The descheduler takes any scheme when it starts, and fails in every cycle. "
    "prometheus:9090 reads as the scheme prometheus.",
    fix="Write http://host:port or https://host.",
)
URL_HTTPS_PORT = LintRule(
    id="url-https-port",
    severity="error",
    title="https with a port cannot be verified",
    explanation="The descheduler compares the certificate with host and port together, and no "
    "certificate names a port.",
    fix="Serve https on 443 and leave the port out, or use http inside the cluster.",
)
VERSION_NO_PROMETHEUS = LintRule(
    id="version-no-prometheus",
    severity="error",
    title="This version cannot ask Prometheus",
    explanation="The Prometheus source came with v0.33. In v0.35 the client is looked for before "
    "it is made, so the process ends at once.",
    fix="Use v0.36 or later, or v0.34.",
    needs=VERSION,
)
VERSION_HTTPS_ONLY = LintRule(
    id="version-https-only",
    severity="error",
    title="v0.33 takes https addresses only",
    explanation="v0.33 refuses an http address of Prometheus when it starts.",
    fix="Use v0.36 or later, or v0.34.",
    needs=VERSION,
)
SOFT_TAINTS = LintRule(
    id="soft-taints",
    severity="error",
    title="Soft taints keep every VM where it is",
    explanation="LowNodeUtilization treats PreferNoSchedule like any other effect: a pod must "
    "tolerate all taints of some destination, and have as many tolerations as it has taints.",
    fix="Take the taints off under-utilised nodes, or let the VMs tolerate them.",
    needs=CLUSTER,
)
BACKGROUND_OFF = LintRule(
    id="background-off",
    severity="error",
    title="EvictionsInBackground is off",
    explanation="KubeVirt answers an eviction with 429 and migrates the VM. Without the feature "
    "gate that is a failure: nothing is counted, and the descheduler goes on to the next VM until "
    "it has asked for all of the node.",
    fix="Start the descheduler with --feature-gates=EvictionsInBackground=true.",
    needs=GATE,
)
PDB_PROTECTS_ALL = LintRule(
    id="pdb-protects-all",
    severity="error",
    title="PodsWithoutPDB protects every pod",
    explanation="In v0.36 the list of budgets stays empty, so pods with a budget are refused as "
    "well; and KubeVirt makes no budgets for VMs since v1.6.",
    fix="Remove PodsWithoutPDB (or ignorePodsWithoutPDB).",
)
LOCAL_STORAGE = LintRule(
    id="local-storage",
    severity="warning",
    title="PodsWithLocalStorage protects every VM",
    explanation="Every virt-launcher pod has emptyDir volumes, so this default protection refuses "
    "them all.",
    fix="Add PodsWithLocalStorage to podProtections.defaultDisabled, or set "
    "evictLocalStoragePods: true.",
)
VMS_PROTECTED = LintRule(
    id="vms-protected",
    severity="error",
    title="No VM may be evicted",
    explanation="Every VM's pod on the selected nodes is refused by DefaultEvictor's filter.",
    fix="Switch off the protection that is named, or mark VMs with the annotation "
    "descheduler.alpha.kubernetes.io/evict.",
    needs=CLUSTER,
)
SAME_PERCENT = LintRule(
    id="same-percent",
    severity="warning",
    title="All scores are the same percent",
    explanation="Usage is cut to whole percents: scores that differ by less are the same to the "
    "descheduler, so all nodes are equal.",
    fix="Choose an amplified score, or amplify this one: clamp(3 * …, 0, 1).",
    needs=PROMETHEUS,
)
NODE_FIT_SELECTOR = LintRule(
    id="node-fit-selector",
    severity="error",
    title="nodeFit's nodeSelector cannot be read",
    explanation="The selector is parsed only when a pod is judged; one that cannot be parsed means "
    "that nothing fits anywhere, and nothing is evicted.",
    fix="Correct DefaultEvictor's nodeSelector: key=value, key in (a,b), !key.",
)
TWO_BALANCERS = LintRule(
    id="two-balancers",
    severity="error",
    title="Two balancers act",
    explanation="trimtab's balancer acts on this cluster while LowNodeUtilization evicts by other "
    "rules: each undoes what the other did, and VMs migrate to and fro.",
    fix="Disable LowNodeUtilization, or run the descheduler with --dry-run, or the balancer with "
    "--mode observe.",
    needs=CLUSTER,
)

CATALOGUE = (
    POLICY_REFUSED,
    API_VERSION_MISSING,
    PLUGIN_OPENSHIFT_ONLY,
    FIELD_IGNORED,
    NOTHING_ENABLED,
    PROVIDER_MISSING,
    USAGE_IS_REQUESTS,
    QUERY_NO_INSTANCE,
    INSTANCE_NOT_NODE,
    NODE_NO_SAMPLE,
    QUERY_OUT_OF_RANGE,
    QUERY_NAN,
    QUERY_FAILED,
    QUERY_NO_SAMPLES,
    QUERY_UNKNOWN_RECORD,
    SAME_PERCENT,
    THRESHOLDS_SATURATE,
    NODE_LIMIT_MISSING,
    URL_SCHEME,
    URL_HTTPS_PORT,
    VERSION_NO_PROMETHEUS,
    VERSION_HTTPS_ONLY,
    BACKGROUND_OFF,
    SOFT_TAINTS,
    PDB_PROTECTS_ALL,
    LOCAL_STORAGE,
    VMS_PROTECTED,
    NODE_FIT_SELECTOR,
    *ABOUT_VMS,
    TWO_BALANCERS,
)


# Writes docs/reference/lint.md from the catalogue.
_HEAD = """\
<!-- Written by `make generate` from src/trimtab/truth/lint/catalogue.py; change it there. -->
# What `trimtab lint` finds

```
trimtab lint POLICY [--rules FILE] [--prometheus URL] [--kubeconfig FILE]
```

`POLICY` is a policy file, a manifest of the ConfigMap that holds one, or `configmap`.
It judges by what it is given: the more, the more it finds.
The last line says how many checks ran, and which options the others need.
It exits with 1 if there is an error or a warning, otherwise with 0.
`--json` and `--sarif` print them for programs.

An *error* means that nothing is evicted, or that the descheduler does not start.
A *warning* means that it does less than the policy says.
A *note* is no fault: it says what is often taken for something else.

| id | severity | needs | |
|---|---|---|---|
"""


def generate() -> dict[str, str]:
    return {DOCS: page()}


def page() -> str:
    rows = (f"| [{r.id}](#{r.id}) | {r.severity} | {r.needs} | {r.title} |" for r in CATALOGUE)
    return _HEAD + "\n".join(rows) + "\n" + "\n".join(map(_section, CATALOGUE))


def _section(rule: LintRule) -> str:
    return "\n".join(_lines(rule)) + "\n"


def _lines(rule: LintRule) -> Iterator[str]:
    yield f"\n## {rule.id}\n"
    yield f"**{rule.title}** ({rule.severity}; needs {rule.needs})\n"
    yield from _sentences(rule.explanation)
    yield f"\nWhat to do: {rule.fix}"


def _sentences(text: str) -> Iterator[str]:
    """One a line, as in all our documents."""
    yield from text.replace(". ", ".\n").splitlines()
