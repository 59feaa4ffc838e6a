"""Findings about the query: by its text and the rules it names, and by what it really gives."""

import math
from collections.abc import Iterator

from trimtab.model.snapshot import QueryResult
from trimtab.policy.file.settings import METRIC_RESOURCE, LowNodeUtilization, Policy, UsageSource
from trimtab.policy.numbers import around
from trimtab.policy.snapshot_view import SnapshotView
from trimtab.truth.explain.nodes import address_instead_of_node
from trimtab.truth.lint import catalogue as rules
from trimtab.truth.lint.checks.policy import args_field, plugins_of
from trimtab.truth.lint.facts import Facts
from trimtab.truth.lint.finding import LintFinding, finding
from trimtab.truth.lint.promql import Has, has_label, is_percent, metric_names

Values = dict[str, float]


def check_query(facts: Facts, policy: Policy) -> Iterator[LintFinding]:
    """Each query of the policy; samples are those of the first."""
    for at, name, plugin in plugins_of(policy):
        if isinstance(plugin, LowNodeUtilization) and plugin.source is UsageSource.PROMETHEUS:
            field = f"{args_field(facts, at, name)}.metricsUtilization.prometheus.query"
            yield from _unrecorded(facts, field, plugin.query)
            answer = facts.query
            if answer is None:
                yield from _by_text(facts, field, plugin.query)
            else:
                yield from _answered(facts, policy, field, plugin, answer)


def _by_text(facts: Facts, field: str, query: str) -> Iterator[LintFinding]:
    if has_label(query, "instance", facts.records) is Has.NO:
        yield finding(rules.QUERY_NO_INSTANCE, field, f"{query} drops the label instance")
    if is_percent(query, facts.records):
        yield finding(rules.QUERY_OUT_OF_RANGE, field, f"{query} is multiplied by 100")


def _unrecorded(facts: Facts, field: str, query: str) -> Iterator[LintFinding]:
    if facts.records is None:
        return
    answered = facts.query is not None and facts.query.samples
    for name in metric_names(query):
        if ":" in name and name not in facts.records and not answered:
            yield finding(rules.QUERY_UNKNOWN_RECORD, field, f"no rule records {name}")


def _answered(
    facts: Facts, policy: Policy, field: str, plugin: LowNodeUtilization, answer: QueryResult
) -> Iterator[LintFinding]:
    if answer.error or answer.result_type != "vector":
        what = answer.error or f"it gives a {answer.result_type}"
        yield finding(rules.QUERY_FAILED, field, what)
        return
    if not answer.samples:
        yield finding(rules.QUERY_NO_SAMPLES, field, f"{plugin.query} gives no sample")
        return
    bad = [*_unnamed(field, answer), *_outside(field, answer), *_missing(facts, policy, answer)]
    yield from bad
    if not bad:
        yield from _levels(facts, policy, field, plugin, _values(facts, policy, answer))


def _unnamed(field: str, answer: QueryResult) -> Iterator[LintFinding]:
    unnamed = [s for s in answer.samples if "instance" not in s.labels]
    if unnamed:
        labels = ", ".join(k for k in unnamed[0].labels if k != "__name__") or "none"
        message = f"{len(unnamed)} of {len(answer.samples)} samples lack it; they have: {labels}"
        yield finding(rules.QUERY_NO_INSTANCE, field, message)


def _outside(field: str, answer: QueryResult) -> Iterator[LintFinding]:
    values = [(s.labels.get("instance", "?"), s.value) for s in answer.samples]
    if nans := [name for name, value in values if math.isnan(float(value))]:
        yield finding(rules.QUERY_NAN, field, f"the sample of {nans[0]} is NaN")
    outside = [(n, v) for n, v in values if float(v) < 0 or float(v) > 1]
    if outside:
        name, value = outside[0]
        message = f"{len(outside)} of {len(values)} samples, as {value} of {name}"
        yield finding(rules.QUERY_OUT_OF_RANGE, field, message)


def _missing(facts: Facts, policy: Policy, answer: QueryResult) -> Iterator[LintFinding]:
    if facts.cluster is None:
        return
    there = {s.labels["instance"] for s in answer.samples if "instance" in s.labels}
    selected = SnapshotView(facts.cluster).selected(policy.node_selector).names
    missing = [name for name in selected if name not in there]
    if address := address_instead_of_node(answer, selected):
        message = f"all {len(there)} instances are addresses with a port, as {address}"
        yield finding(rules.INSTANCE_NOT_NODE, f"node {selected[0]}", message)
        return
    near = {n: i for n in missing for i in there if i.startswith((f"{n}:", f"{n}."))}
    if near:
        node, instance = next(iter(near.items()))
        message = f"{len(near)} nodes, as {node}: instance is {instance}"
        yield finding(rules.INSTANCE_NOT_NODE, f"node {node}", message)
    if lost := [name for name in missing if name not in near]:
        message = f"{len(lost)} of {len(selected)} selected nodes, as {lost[0]}"
        yield finding(rules.NODE_NO_SAMPLE, f"node {lost[0]}", message)


def _values(facts: Facts, policy: Policy, answer: QueryResult) -> Values:
    """By node; without a cluster every instance counts as one."""
    last = {s.labels["instance"]: float(s.value) for s in answer.samples}
    if facts.cluster is None:
        return last
    selected = SnapshotView(facts.cluster).selected(policy.node_selector).names
    return {name: last[name] for name in selected}


def _levels(
    facts: Facts, policy: Policy, field: str, plugin: LowNodeUtilization, values: Values
) -> Iterator[LintFinding]:
    percents = [int(value * 100) for value in values.values()]
    if not percents:
        return
    if len(set(percents)) == 1 and len(set(values.values())) > 1:
        message = f"{len(set(values.values()))} different scores are all {percents[0]} %"
        yield finding(rules.SAME_PERCENT, field, message)
    high = plugin.high[METRIC_RESOURCE]
    mean = sum(percents) / len(percents)
    if (
        plugin.deviation
        and high < 100
        and around(mean, plugin.low[METRIC_RESOURCE], high)[1] >= 100
    ):
        message = f"the mean is {mean:.1f} %, and {mean:.1f} + {high:g} is 100 or more"
        yield finding(rules.THRESHOLDS_SATURATE, field, message)
