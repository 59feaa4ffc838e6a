"""The same profile on plain Kubernetes: the upstream descheduler's policy and recording rules.

Both are ConfigMaps, which a lab's projector or a Deployment turns into effect. Of a policy
that is there already two things stay, since only its author knows them: where Prometheus is
and which nodes count. A text that means the same as ours is left as it is written.
"""

from hashlib import sha256
from typing import Any

from trimtab.advisor.api import LoadAwareOptions, TargetRef
from trimtab.advisor.kinds import POLICY, RULES, UPSTREAM_DESCHEDULER
from trimtab.advisor.plan.profile import (
    ClusterFacts,
    DesiredObject,
    Draft,
    OptionError,
    dig,
    manifest_head,
)
from trimtab.advisor.profiles.eviction_limits import (
    DerivedLimits,
    eviction_limits,
    in_words,
    thresholds,
)
from trimtab.errors import ConfigError
from trimtab.kube.resources import Free
from trimtab.policy.file.default import DEFAULT_POLICY, DEFAULT_QUERY
from trimtab.policy.file.yaml_text import dump_yaml, load_yaml
from trimtab.scores import RuleSettings, Score, find_score, rule_groups
from trimtab.scores.prometheus.files import KEY as RULES_KEY
from trimtab.scores.prometheus.files import render
from trimtab.scores.prometheus.records import score_record

POLICY_KEY = "policy.yaml"
DEFAULT_ALGORITHM = "linear_amplified_ippd_k3"
POLICY_ITEM, RULES_ITEM = "configure-descheduler-policy", "configure-recording-rules"
DEPLOYMENT_ITEM = "configure-descheduler-deployment"
RESTART_NOTE = "trimtab-policy"
"""Annotation of the pod template, without dots so that a path can name it: a changed policy
restarts the descheduler, which reads it only once."""
_KEPT = ("nodeSelector", "metricsProviders")
_CONTAINER = "descheduler"


def upstream_draft(options: LoadAwareOptions, facts: ClusterFacts) -> Draft:
    """Policy and rules, and the Deployment where there is one."""
    score = _score(options)
    limits = eviction_limits(options, facts, per_node=True)
    policy = policy_text(options, score, limits, _text(facts, POLICY, POLICY_KEY))
    deployment = facts.get(UPSTREAM_DESCHEDULER)
    if deployment is None and options.mode == "Predictive":
        raise OptionError(
            "options.loadAware.mode Predictive: there is no Deployment "
            f"{UPSTREAM_DESCHEDULER.namespace}/{UPSTREAM_DESCHEDULER.name} to run with --dry-run, "
            "so evictions would be real; use Automatic, or install the descheduler as one"
        )
    desired_objects = [_rules_object(score, facts), _policy_object(score, policy, facts, options)]
    if deployment is not None:
        desired_objects.append(_deployment_object(options, policy, deployment))
    return Draft(
        desired_objects=tuple(desired_objects),
        inputs={"descheduler.deployment": deployment is not None} | limits.inputs,
        warnings=tuple(_warnings(options, deployment is not None, limits)),
    )


def policy_text(options: LoadAwareOptions, score: Score, limits: DerivedLimits, live: str) -> str:
    """The policy; the live text itself if it means the same."""
    there = _parsed(live)
    tree = _parsed(DEFAULT_POLICY)
    tree |= {key: there[key] for key in _KEPT if key in there}
    tree["maxNoOfPodsToEvictTotal"] = limits.total
    tree["maxNoOfPodsToEvictPerNode"] = limits.node
    args = tree["profiles"][0]["pluginConfig"][0]["args"]
    low, high = thresholds(options.dev_deviation_thresholds)
    args["thresholds"], args["targetThresholds"] = ({"MetricResource": n} for n in (low, high))
    args["metricsUtilization"]["prometheus"]["query"] = query_of(score)
    args["evictionLimits"] = {"node": limits.node}
    if tree == there:
        return live
    return dump_yaml(tree)


def query_of(score: Score) -> str:
    """The record to ask for; the default score keeps the name that shipped policies use."""
    return DEFAULT_QUERY if score.name == DEFAULT_ALGORITHM else score_record(score.name, "avg1m")


def rules_text(score: Score, live: str) -> str:
    """Rules that record the score; the live text itself if it records the same already."""
    groups = rule_groups([score], RuleSettings())
    text = render(groups)
    there = {(r.get("record"), r.get("expr")) for r in _rules(live)}
    wanted = {(r["record"], r["expr"]) for r in _rules(text) if "record" in r}
    return live if wanted <= there else text


def arguments(options: LoadAwareOptions, there: list[str]) -> list[str]:
    """The descheduler's command line with our interval and mode, all else as it was."""
    interval = f"--descheduling-interval={max(1, options.descheduling_interval_seconds)}s"
    others = [
        a for a in there if a.partition("=")[0] not in ("--descheduling-interval", "--dry-run")
    ]
    simulate = ["--dry-run=true"] if options.mode == "Predictive" else []
    before = next((i for i, a in enumerate(there) if a.startswith("--descheduling-interval")), None)
    position = len(others) if before is None else min(before, len(others))
    return [*others[:position], interval, *simulate, *others[position:]]


def _score(options: LoadAwareOptions) -> Score:
    try:
        return find_score(options.algorithm or DEFAULT_ALGORITHM)
    except ConfigError as error:
        raise OptionError(f"options.loadAware.algorithm: {error}") from error


def _policy_object(
    score: Score, text: str, facts: ClusterFacts, options: LoadAwareOptions
) -> DesiredObject:
    exists = facts.get(POLICY) is not None
    return DesiredObject(
        name=POLICY_ITEM,
        desired=_config_map(POLICY, POLICY_KEY, text),
        managed_fields=("data",),
        severity="Low" if exists else "Medium",
        impact="VMs will be live-migrated away from loaded nodes"
        if options.mode == "Automatic"
        else "evictions are only simulated",
        message=f"ConfigMap '{POLICY.name}' will make the descheduler go by '{score.name}'",
        depends_on=(RULES_ITEM,),
        reasons={
            "data": f"the policy asks for the score {score.name}; "
            f"{in_words(options.dev_deviation_thresholds)}"
        },
    )


def _rules_object(score: Score, facts: ClusterFacts) -> DesiredObject:
    exists = facts.get(RULES) is not None
    return DesiredObject(
        name=RULES_ITEM,
        desired=_config_map(RULES, RULES_KEY, rules_text(score, _text(facts, RULES, RULES_KEY))),
        managed_fields=("data",),
        severity="Low" if exists else "Medium",
        impact="Prometheus records the node score",
        message=f"ConfigMap '{RULES.name}' will record '{score.name}'",
        reasons={"data": "the policy can only ask Prometheus for a score that is recorded"},
    )


def _deployment_object(options: LoadAwareOptions, policy: str, live: Free) -> DesiredObject:
    containers = dig(live, "spec", "template", "spec", "containers") or ()
    there = next((c for c in containers if c.get("name") == _CONTAINER), None)
    if there is None:
        raise OptionError(
            f"Deployment {UPSTREAM_DESCHEDULER.namespace}/{UPSTREAM_DESCHEDULER.name} has no "
            f"container '{_CONTAINER}'; rename it, or remove the Deployment"
        )
    container = {"name": _CONTAINER, "args": arguments(options, there.get("args") or [])}
    mark = sha256(policy.encode()).hexdigest()[:16]
    template = {
        "metadata": {"annotations": {RESTART_NOTE: mark}},
        "spec": {"containers": [container]},
    }
    return DesiredObject(
        name=DEPLOYMENT_ITEM,
        desired={**manifest_head(UPSTREAM_DESCHEDULER), "spec": {"template": template}},
        managed_fields=(
            f"spec.template.metadata.annotations.{RESTART_NOTE}",
            "spec.template.spec.containers",
        ),
        severity="Low",
        impact="restarts the descheduler",
        message=f"Deployment '{UPSTREAM_DESCHEDULER.name}' will run with the new policy",
        depends_on=(POLICY_ITEM,),
        reasons={
            f"spec.template.metadata.annotations.{RESTART_NOTE}": "the descheduler reads its "
            "policy only once: another policy restarts it",
            "spec.template.spec.containers": "the interval and --dry-run are options of the "
            "command line",
        },
    )


def _warnings(options: LoadAwareOptions, has_deployment: bool, limits: DerivedLimits) -> list[str]:
    said = [limits.doubt] if limits.doubt else []
    usual = LoadAwareOptions().descheduling_interval_seconds
    if not has_deployment and options.descheduling_interval_seconds != usual:
        said.append(
            "options.loadAware.deschedulingIntervalSeconds has no effect: there is no Deployment "
            "of the descheduler; in a lab use: trimtab lab up --interval"
        )
    return said


def _config_map(ref: TargetRef, key: str, text: str) -> Free:
    return {**manifest_head(ref), "data": {key: text}}


def _text(facts: ClusterFacts, ref: TargetRef, key: str) -> str:
    return str(dig(facts.get(ref), "data", key) or "")


def _rules(text: str) -> list[dict[str, Any]]:
    groups = _parsed(text).get("groups") or ()
    return [rule for group in groups for rule in group.get("rules") or ()]


def _parsed(text: str) -> dict[str, Any]:
    """What the text says; a text that is no YAML says nothing, and is replaced."""
    try:
        tree = load_yaml(text, "live")
    except ConfigError:
        return {}
    return tree if isinstance(tree, dict) else {}
