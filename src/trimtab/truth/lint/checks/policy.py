"""Findings that the policy's text alone gives, and those about the program that reads it."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from trimtab.model.snapshot import REQUEST_EVICT_ONLY
from trimtab.policy.file.settings import (
    METRIC_RESOURCE,
    LowNodeUtilization,
    Plugin,
    Policy,
    Protection,
    UsageSource,
)
from trimtab.policy.file.yaml_text import load_yaml
from trimtab.truth.lint import catalogue as rules
from trimtab.truth.lint.facts import DeschedulerProgram, Facts
from trimtab.truth.lint.finding import LintFinding, finding

_BALANCE = ("LowNodeUtilization", "HighNodeUtilization")


def plugins_of(policy: Policy) -> Iterator[tuple[int, str, Plugin]]:
    """Number of the profile, name, plugin."""
    for at, profile in enumerate(policy.profiles):
        for name, plugin in profile.plugins:
            yield at, name, plugin


def asks_prometheus(policy: Policy) -> bool:
    return any(
        isinstance(plugin, LowNodeUtilization) and plugin.source is UsageSource.PROMETHEUS
        for _, _, plugin in plugins_of(policy)
    )


def args_field(facts: Facts, at: int, name: str) -> str:
    """Where the arguments of a plugin stand in the file."""
    profile = (_tree(facts.policy).get("profiles") or ())[at]
    for index, config in enumerate(profile.get("pluginConfig") or ()):
        if config.get("name") == name:
            return f"profiles[{at}].pluginConfig[{index}].args"
    return f"profiles[{at}]"


@lru_cache(maxsize=1)
def _tree(text: str) -> dict[str, Any]:
    """Read only: several checks look at the same text."""
    tree: dict[str, Any] = load_yaml(text, "policy")
    return tree


def check_policy(facts: Facts, policy: Policy) -> Iterator[LintFinding]:
    """Everything that needs no cluster."""
    if policy.unversioned:
        what = "it has no apiVersion" if _tree(facts.policy) else "the file is empty"
        yield finding(rules.API_VERSION_MISSING, "apiVersion", f"{what}: no plugin runs")
        return
    for field in policy.ignored:
        yield finding(rules.FIELD_IGNORED, field, f"{field} is not a field there")
    yield from _enabled(facts)
    for at, name, plugin in plugins_of(policy):
        if isinstance(plugin, LowNodeUtilization):
            yield from _source(facts, policy, at, name, plugin)
            yield from _levels(facts, at, name, plugin)
    yield from _address(policy)
    yield from _protections(facts, policy)


def _enabled(facts: Facts) -> Iterator[LintFinding]:
    """The text is looked at: a plugin that is not enabled leaves no trace in the policy."""
    tree = _tree(facts.policy)
    for at, profile in enumerate(tree.get("profiles") or ()):
        points = (profile.get("plugins") or {}).values()
        enabled = {n for point in points for n in (point or {}).get("enabled") or ()}
        for index, config in enumerate(profile.get("pluginConfig") or ()):
            name = config.get("name")
            if name in _BALANCE and name not in enabled:
                field = f"profiles[{at}].pluginConfig[{index}]"
                yield finding(rules.NOTHING_ENABLED, field, f"{name} is configured, not enabled")


def _source(
    facts: Facts, policy: Policy, at: int, name: str, plugin: LowNodeUtilization
) -> Iterator[LintFinding]:
    field = args_field(facts, at, name)
    if plugin.broken:
        where = f"{field}.metricsUtilization"
        yield finding(rules.PROVIDER_MISSING, where, f"every cycle fails: {plugin.broken}")
    if plugin.source is UsageSource.REQUESTS:
        yield finding(rules.USAGE_IS_REQUESTS, field, "it has no metricsUtilization")
    if plugin.source is UsageSource.PROMETHEUS and plugin.node_limit is None:
        limit = policy.max_per_node
        said = f", although maxNoOfPodsToEvictPerNode is {limit}" if limit and limit > 1 else ""
        message = f"evictionLimits.node is not set: one pod a node and cycle{said}"
        yield finding(rules.NODE_LIMIT_MISSING, field, message)


def _levels(facts: Facts, at: int, name: str, plugin: LowNodeUtilization) -> Iterator[LintFinding]:
    """With a query nothing is ever above 100 %; requests may be."""
    high = plugin.high.get(METRIC_RESOURCE)
    if plugin.source is UsageSource.PROMETHEUS and high is not None and high >= 100:
        field = f"{args_field(facts, at, name)}.targetThresholds.{METRIC_RESOURCE}"
        yield finding(rules.THRESHOLDS_SATURATE, field, f"nothing can be above {high:g} %")


def _address(policy: Policy) -> Iterator[LintFinding]:
    url, field = policy.prometheus_url, "metricsProviders"
    if not url:
        return
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return
    if parts.scheme.lower() not in ("http", "https"):
        yield finding(rules.URL_SCHEME, field, f"{url} is neither http:// nor https://")
    elif parts.scheme.lower() == "https" and port is not None:
        host = parts.hostname
        message = f"{url}: a certificate for {host} is not one for {host}:{port}"
        yield finding(rules.URL_HTTPS_PORT, field, message)


def _protections(facts: Facts, policy: Policy) -> Iterator[LintFinding]:
    about_vms = "kubevirt.io" in facts.policy or asks_prometheus(policy)
    for at, profile in enumerate(policy.profiles):
        if not profile.plugins:
            continue
        evictor, field = profile.evictor, args_field(facts, at, "DefaultEvictor")
        if Protection.WITHOUT_PDB in evictor.protections:
            message = "no pod passes, with or without a PodDisruptionBudget"
            yield finding(rules.PDB_PROTECTS_ALL, field, message)
        # with a cluster at hand its VMs are asked instead
        unseen = facts.cluster is None
        if unseen and about_vms and Protection.LOCAL_STORAGE in evictor.protections:
            message = "virt-launcher pods have emptyDir volumes, so no VM passes"
            yield finding(rules.LOCAL_STORAGE, field, message)
        if evictor.node_fit and evictor.node_selector is None:
            where = f"{field}.nodeSelector"
            yield finding(rules.NODE_FIT_SELECTOR, where, "it is not a label selector")


def check_program(facts: Facts, policy: Policy) -> Iterator[LintFinding]:
    """Traps of versions, and the feature gate that VMs need."""
    program, release = facts.program, facts.program.release
    where = program.name or "descheduler"
    if policy.openshift_only and not program.openshift:
        yield _openshift_only(policy, program, where)
    if release is not None and asks_prometheus(policy):
        if release < (0, 33) or release == (0, 35):
            message = f"{program.version} cannot use the policy's query"
            yield finding(rules.VERSION_NO_PROMETHEUS, where, message)
        if release == (0, 33) and policy.prometheus_url.startswith("http:"):
            message = f"{program.version} refuses {policy.prometheus_url}"
            yield finding(rules.VERSION_HTTPS_ONLY, where, message)
    if program.in_background is False and _moves_vms(facts):
        message = "the feature gate EvictionsInBackground is not on"
        yield finding(rules.BACKGROUND_OFF, where, message)


def _openshift_only(policy: Policy, program: DeschedulerProgram, where: str) -> LintFinding:
    """An error where the program is known, otherwise a note."""
    names = ", ".join(policy.openshift_only)
    if program.openshift is None:
        message = f"{names}: fine if OpenShift's descheduler reads it; which one does is not known"
        return finding(rules.PLUGIN_OPENSHIFT_ONLY, where, message, severity="note")
    return finding(rules.PLUGIN_OPENSHIFT_ONLY, where, f"{names}: this is not OpenShift's build")


def _moves_vms(facts: Facts) -> bool:
    """Whether some pod asks for evictions in background; without a cluster one must assume so."""
    if facts.cluster is None:
        return True
    return any(REQUEST_EVICT_ONLY in pod.annotations for pod in facts.cluster.pods)
