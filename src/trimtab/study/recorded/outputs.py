"""What to do next: the winning policy as a file, as a patch of OpenShift's KubeDescheduler, and
as options of a VirtPlatformConfig."""

from typing import Any, get_args

import msgspec

from trimtab.advisor.api import CONFIGS, Deviation, LoadAwareOptions
from trimtab.advisor.profiles.eviction_limits import thresholds
from trimtab.advisor.profiles.load_aware import LoadAware
from trimtab.policy.file.default import DEFAULT_POLICY, DEFAULT_QUERY
from trimtab.policy.file.yaml_text import dump_yaml, load_yaml
from trimtab.scores.prometheus.records import score_record
from trimtab.sim.spec import RunSpec
from trimtab.study.recorded.questions import DEFAULT_SCORE, PolicyInUse

_DEVIATIONS = {
    tuple(float(points) for points in thresholds(name)): name for name in get_args(Deviation)
}


def winning_policy(mine: PolicyInUse, spec: RunSpec) -> str:
    """The policy in use with the winner's score, thresholds and limits; all else as it was."""
    if spec.thresholds is None and spec.limits is None and spec.score == mine.score:
        return mine.text
    tree = load_yaml(mine.text, "policy")
    args = _arguments(tree)
    if args is None:
        tree = load_yaml(DEFAULT_POLICY, "policy")
        args = _arguments(tree)
    assert args is not None
    if spec.thresholds is not None:
        args["useDeviationThresholds"] = True
        for field, points in zip(("thresholds", "targetThresholds"), spec.thresholds, strict=True):
            args[field] = {"MetricResource": int(points)}
    if spec.score is not None:
        args["metricsUtilization"]["prometheus"]["query"] = _query(spec.score)
    if spec.limits is not None:
        total, per_node = spec.limits
        tree["maxNoOfPodsToEvictTotal"], tree["maxNoOfPodsToEvictPerNode"] = total, per_node
        args["evictionLimits"] = {"node": per_node}
    return dump_yaml(tree)


def _query(score: str) -> str:
    return DEFAULT_QUERY if score == DEFAULT_SCORE else score_record(score, "avg1m")


def _arguments(tree: Any) -> dict[str, Any] | None:
    """Of the first LowNodeUtilization that asks Prometheus."""
    for profile in tree.get("profiles") or ():
        for config in profile.get("pluginConfig") or ():
            args = config.get("args") or {}
            if config.get("name") == "LowNodeUtilization" and "prometheus" in (
                args.get("metricsUtilization") or {}
            ):
                found: dict[str, Any] = args
                return found
    return None


def kubedescheduler_patch(mine: PolicyInUse, spec: RunSpec) -> str | None:
    """A merge patch, or None where KubeDescheduler has no field for what won.

    Its score is OpenShift's own; only thresholds with a name and limits can be set.
    """
    limits, name = spec.limits or mine.limits, _deviation(mine, spec)
    if name is None or spec.score != DEFAULT_SCORE:
        return None
    wanted: dict[str, Any] = {"profileCustomizations": {"devDeviationThresholds": name}}
    if limits is not None:
        wanted["evictionLimits"] = {"total": limits[0], "node": limits[1]}
    return dump_yaml({"spec": wanted})


def platform_config(mine: PolicyInUse, spec: RunSpec) -> str | None:
    """A VirtPlatformConfig that previews the winner, or None where no option says its thresholds.

    Another score than OpenShift's own needs the upstream descheduler.
    """
    name = _deviation(mine, spec)
    if name is None:
        return None
    options: dict[str, Any] = {
        "deschedulingIntervalSeconds": max(1, round(spec.timing.descheduling_s)),
        "devDeviationThresholds": name,
    }
    limits = spec.limits or mine.limits
    if limits is not None and limits[0] >= limits[1]:
        options |= {"evictionLimitTotal": limits[0], "evictionLimitNode": limits[1]}
    if spec.score != DEFAULT_SCORE:
        options |= {"target": "upstream", "algorithm": spec.score}
    msgspec.convert(options, LoadAwareOptions)  # what the operator would refuse is never written
    return dump_yaml(
        {
            "apiVersion": f"{CONFIGS.group}/{CONFIGS.version}",
            "kind": CONFIGS.kind,
            "metadata": {"name": LoadAware.name},
            "spec": {
                "profile": LoadAware.name,
                "action": "DryRun",
                "options": {"loadAware": options},
            },
        }
    )


def _deviation(mine: PolicyInUse, spec: RunSpec) -> str | None:
    wanted = spec.thresholds or mine.thresholds
    return _DEVIATIONS.get(wanted) if wanted is not None else None
