"""What this very cycle would have decided with another score, other thresholds, other limits.

A candidate is the policy with a few values replaced. It is judged on the newest look by the
function that judges the policy itself, and what is applied to a lab later is the same text.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from msgspec import Meta, Struct
from msgspec.structs import replace

from trimtab.errors import ConfigError
from trimtab.model.snapshot import QueryResult, Snapshot
from trimtab.model.snapshot import Sample as SnapshotSample
from trimtab.policy.cycle import Class, Cycle, PluginRun
from trimtab.policy.file.yaml_text import dump_yaml, load_yaml
from trimtab.policy.snapshot_view import policy_of
from trimtab.prom.client import Sample
from trimtab.scores import Score, find_score
from trimtab.scores.prometheus.records import score_record
from trimtab.truth.explain.changes.trial import Trial

PLUGIN = "LowNodeUtilization"
_KINDS = {Class.UNDER: "under", Class.OVER: "over"}
Points = Annotated[float, Meta(ge=0, le=100)]
Count = Annotated[int, Meta(ge=1, le=10_000)]


class PolicyCandidate(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What is other than in the policy; None and the empty text stay as they are there."""

    score: str = ""
    low: Points | None = None
    high: Points | None = None
    per_node: Count | None = None
    total: Count | None = None


class JudgedNode(Struct, frozen=True, rename="camel", omit_defaults=True):
    """What a candidate makes of a node."""

    percent: float | None = None
    kind: str = ""


class TriedCandidate(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a cycle with a candidate would do now."""

    query: str = ""
    nodes: dict[str, JudgedNode] = {}
    evictions: tuple[tuple[str, str], ...] = ()
    """VMs (pods, where they run none) with the node that they would leave, in order."""
    low: float | None = None
    high: float | None = None
    problem: str = ""


def candidate_policy(text: str, candidate: PolicyCandidate, where: str = "the policy") -> str:
    """The text of the policy with the candidate's values; a ConfigError if it has no place."""
    tree = load_yaml(text, where)
    for name, count in (
        ("maxNoOfPodsToEvictPerNode", candidate.per_node),
        ("maxNoOfPodsToEvictTotal", candidate.total),
    ):
        if count is not None:
            tree[name] = count
    plugins = [
        config.setdefault("args", {})
        for profile in tree.get("profiles") or ()
        for config in profile.get("pluginConfig") or ()
        if config.get("name") == PLUGIN
    ]
    if not plugins:
        raise ConfigError(f"{where}: it configures no {PLUGIN}, so there is nothing to try")
    for arguments in plugins:
        _change(arguments, candidate, where)
    return dump_yaml(tree)


def _change(arguments: dict[str, Any], candidate: PolicyCandidate, where: str) -> None:
    for field, value in (("thresholds", candidate.low), ("targetThresholds", candidate.high)):
        if value is not None:
            arguments[field] = dict.fromkeys(arguments.get(field) or (), value)
    if candidate.per_node is not None:
        arguments["evictionLimits"] = {"node": candidate.per_node}
    if candidate.score:
        source = (arguments.get("metricsUtilization") or {}).get("prometheus")
        if not source:
            raise ConfigError(f"{where}: it asks Prometheus nothing, so it has no score to change")
        source["query"] = score_record(find_score(candidate.score).name, "avg1m")


def try_candidate(
    trial: Trial, candidate: PolicyCandidate, samples: Sequence[Sample]
) -> TriedCandidate:
    """The newest look, judged with the candidate; a problem in words where that cannot be."""
    snapshot = trial.snapshot
    try:
        text = candidate_policy(snapshot.policy or "", candidate)
        query = _query(snapshot, candidate, samples)
        changed = trial if query is None else trial.with_query(query)
        policy = policy_of(replace(snapshot, policy=text))
    except ConfigError as error:
        return TriedCandidate(problem=str(error))
    asked = query or snapshot.query
    tried = _told(changed.with_policy(policy).cycle(), _vm_names(snapshot))
    return replace(tried, query=asked.query if asked else "")


def _query(
    snapshot: Snapshot, candidate: PolicyCandidate, samples: Sequence[Sample]
) -> QueryResult | None:
    """The recorded values of the candidate's score; None if it keeps the policy's."""
    if not candidate.score:
        return None
    score = find_score(candidate.score)
    found = recorded_result(snapshot, score, by_record(samples))
    if found is None:
        raise ConfigError(f"the score {score.name} is not recorded, so it cannot be tried")
    return found


def records_of(score: Score) -> list[str]:
    """The records under which a score may stand; the first is what Prometheus is asked for."""
    return [score_record(name, "avg1m") for name in (score.name, *score.aliases)]


def by_record(samples: Sequence[Sample]) -> dict[str, list[Sample]]:
    """Samples by the names of their records."""
    found: dict[str, list[Sample]] = {}
    for each in samples:
        found.setdefault(each.labels.get("__name__", ""), []).append(each)
    return found


def recorded_result(
    snapshot: Snapshot, score: Score, recorded: Mapping[str, Sequence[Sample]]
) -> QueryResult | None:
    """What Prometheus answers if it is asked for a score; None if nobody records it."""
    records = records_of(score)
    found = next((recorded[name] for name in records if name in recorded), None)
    if found is None:
        return None
    values = tuple(SnapshotSample(each.labels, repr(each.value)) for each in found)
    return QueryResult(time=snapshot.taken_at, query=records[0], samples=values)


def _vm_names(snapshot: Snapshot) -> dict[str, str]:
    """VMs by the uids of their pods."""
    return {vm.pod_uid: f"{vm.namespace}/{vm.name}" for vm in snapshot.vms}


def _told(cycle: Cycle, vms: Mapping[str, str]) -> TriedCandidate:
    if cycle.skipped is not None or not cycle.runs:
        reason = cycle.skipped.text if cycle.skipped else "the policy enables no plugin"
        return TriedCandidate(problem=reason)
    run = cycle.runs[0]
    evicted = tuple(
        (vms.get(each.pod.uid) or f"{each.pod.namespace}/{each.pod.name}", each.node)
        for each in cycle.evictions
    )
    if run.error or run.figures is None:
        return TriedCandidate(problem=run.error.text if run.error else "it has no figures")
    one = next(iter(run.figures.low)) if len(run.figures.low) == 1 else ""
    return TriedCandidate(
        nodes=_nodes(cycle, run, one),
        evictions=evicted,
        low=run.figures.low.get(one),
        high=run.figures.high.get(one),
        problem=run.exit.text if run.exit and not evicted else "",
    )


def _nodes(cycle: Cycle, run: PluginRun, one: str) -> dict[str, JudgedNode]:
    figures = run.figures
    assert figures is not None, "a run without an error has figures"
    percents = figures.percent[one] if one else np.full(len(cycle.nodes), math.nan)
    return {
        name: JudgedNode(
            None if math.isnan(percent) else round(float(percent), 2),
            _KINDS.get(kind, "appropriate"),
        )
        for name, percent, kind in zip(cycle.nodes, percents, figures.classes, strict=True)
    }
