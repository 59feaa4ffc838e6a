"""Policy texts: choose the score, and turn a cluster's policy into one that a lab can run.

In a lab there is no cluster DNS and no pod to take a token from, so addresses of services in
the cluster mean the lab's Prometheus, and the token is the lab's secret. Times are divided by
the scale. Everything else stays as it was written.
"""

import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from trimtab.errors import ConfigError
from trimtab.model.duration import format_duration, parse_duration
from trimtab.policy.file.reader import read_policy
from trimtab.policy.file.settings import queries
from trimtab.policy.file.yaml_text import dump_yaml, load_yaml
from trimtab.scores import CATALOG, RuleSettings, find_score, rule_groups
from trimtab.scores.prometheus.files import render
from trimtab.scores.prometheus.records import score_record

SERVICE = "http://prometheus.monitoring.svc:9090"
"""The lab's own Prometheus, by the name that a service of a cluster would have."""
TOKEN_SECRET = {"namespace": "kube-descheduler", "name": "prometheus-token"}
_DURATIONS = ("minPodAge",)
_SECONDS = ("maxPodLifeTimeSeconds", "minPodLifetimeSeconds")
_AVERAGE = re.compile(r"descheduler:node:(.+):avg1m")


def algorithm_of(query: str) -> str:
    """The name of the score that a query asks for; a query of one's own is shown as it is."""
    match = _AVERAGE.fullmatch(query.strip())
    if match is None:
        return query
    try:
        return find_score(match[1]).name
    except ConfigError:
        return match[1]


def with_algorithm(text: str, name: str, where: str = "policy") -> str:
    """The same text with another score in each query; comments stay."""
    query = score_record(find_score(name).name, "avg1m")
    old = queries(read_policy(text, where))
    if not old:
        raise ConfigError(f"{where}: it asks Prometheus nothing, so it has no algorithm to change")
    for each in old:
        if each not in text:
            raise ConfigError(f"{where}: the query spans several lines; change it with an editor")
        text = text.replace(each, query)
    return text


def for_lab(text: str, scale: float, prometheus: str, where: str = "policy") -> str:
    """What the lab's descheduler reads; a ConfigError says why it would refuse the text."""
    read_policy(text, where)
    tree = load_yaml(text, where)
    for provider in tree.get("metricsProviders") or ():
        if provider.get("source") == "Prometheus":
            _localise(provider.setdefault("prometheus", {}), prometheus)
    for profile in tree.get("profiles") or ():
        for config in profile.get("pluginConfig") or ():
            _hasten(config.get("args") or {}, scale)
    return dump_yaml(tree)


def with_service_address(text: str, where: str = "policy") -> str:
    """The same policy that asks whatever Prometheus the cluster has, with no token of its own.

    For the policy of another cluster: a lab must not ask that one's Prometheus, and cannot have
    the secret that its token is in.
    """
    tree = load_yaml(text, where)
    for provider in tree.get("metricsProviders") or ():
        if provider.get("source") == "Prometheus":
            provider["prometheus"] = {"url": SERVICE}
    return dump_yaml(tree)


def _localise(source: dict[str, Any], prometheus: str) -> None:
    if is_in_cluster(str(source.get("url", ""))):
        source["url"] = prometheus
    if not source.get("authToken"):
        source["authToken"] = {"secretReference": dict(TOKEN_SECRET)}


def is_in_cluster(url: str) -> bool:
    """Whether an address is a service's name, which only a cluster's DNS knows."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or ":" in host or host.replace(".", "").isdigit():
        return False
    return "." not in host or host.endswith((".svc", ".svc.cluster.local")) or host.count(".") == 1


def _hasten(args: dict[str, Any], scale: float) -> None:
    for key in _DURATIONS:
        if key in args:
            args[key] = format_duration(parse_duration(args[key], key) / scale)
    for key in _SECONDS:
        if key in args:
            args[key] = max(1, round(args[key] / scale))


# Rule files: what a lab starts with, and what it makes of the one in its ConfigMap.
LIMIT_S = 60.0


def shipped_rules(nodes: int) -> str:
    """All scores and alerts at their unscaled settings, for a cluster of up to `nodes`."""
    settings = RuleSettings(nodes=max(nodes, RuleSettings().nodes))
    return render(rule_groups(list(CATALOG.values()), settings))


def check_rules(text: str, promtool: Path) -> None:
    """Prometheus' own opinion, asked before the file is put in its place."""
    with tempfile.NamedTemporaryFile("w", suffix=".rules.yaml") as file:
        file.write(text)
        file.flush()
        done = subprocess.run(
            [promtool, "check", "rules", file.name],
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        if done.returncode:
            told = (done.stderr or done.stdout).replace(file.name, "rules")
            raise ConfigError(" ".join(told.split()))
