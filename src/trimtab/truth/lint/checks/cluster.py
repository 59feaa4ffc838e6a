"""Findings that need the cluster's nodes and pods: taints and protections as they work there."""

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from trimtab.model.snapshot import Snapshot
from trimtab.policy.file.settings import LowNodeUtilization, Policy, Profile
from trimtab.policy.pods.filters import Filter
from trimtab.policy.pods.taints import counts_as_destination
from trimtab.policy.snapshot_view import SnapshotView
from trimtab.policy.view import NodeView, PodView
from trimtab.truth.explain.changes.trial import read_trial
from trimtab.truth.lint import catalogue as rules
from trimtab.truth.lint.checks.policy import args_field
from trimtab.truth.lint.facts import Facts
from trimtab.truth.lint.finding import LintFinding, finding


def check_cluster(facts: Facts, policy: Policy) -> Iterator[LintFinding]:
    """Nothing without a cluster, and nothing about VMs where there are none."""
    if facts.cluster is None:
        return
    view = SnapshotView(facts.cluster)
    nodes = view.selected(policy.node_selector).nodes
    vms = [pod for node in nodes for pod in view.pods_on(node.name) if is_vm(pod)]
    if not vms:
        return
    for profile in policy.profiles:
        if profile.plugins:
            yield from _protected(profile, view, vms)
    yield from _soft_taints(facts, facts.cluster, nodes, vms)


def is_vm(pod: PodView) -> bool:
    return pod.traits.labels.get("kubevirt.io") == "virt-launcher"


def _protected(
    profile: Profile, view: SnapshotView, vms: Sequence[PodView]
) -> Iterator[LintFinding]:
    filter_ = Filter(profile.evictor, view)
    refusals = [filter_.refusals(pod) for pod in vms]
    if not all(refusals):
        return
    counts = Counter(reason.rule for reasons in refusals for reason in reasons)
    told = ", ".join(f"{rule} ({count})" for rule, count in counts.most_common(3))
    message = f"all {len(vms)} VMs are refused by {told}"
    yield finding(rules.VMS_PROTECTED, f"profile {profile.name or '(no name)'}", message)


def _soft_taints(
    facts: Facts, cluster: Snapshot, nodes: Sequence[NodeView], vms: Sequence[PodView]
) -> Iterator[LintFinding]:
    """Destinations as the cycle has them now; without samples every node that may take pods."""
    targets = _destinations(facts, cluster) or [n for n in nodes if not n.unschedulable]
    if not targets or not all(_soft(node) for node in targets):
        return
    if any(counts_as_destination(pod.traits.tolerations, n.taints) for pod in vms for n in targets):
        return
    node = targets[0]
    message = f"all {len(targets)} destinations, as {node.name}: {_soft(node)[0]}"
    yield finding(rules.SOFT_TAINTS, f"node {node.name}", message)


def _soft(node: NodeView) -> list[str]:
    return [taint.key for taint in node.taints if taint.effect == "PreferNoSchedule"]


def _destinations(facts: Facts, cluster: Snapshot) -> list[NodeView]:
    if facts.query is None:
        return []
    trial = read_trial(replace(cluster, policy=facts.policy, query=facts.query))
    cycle, by_name = trial.cycle(), {node.name: node for node in trial.view.nodes}
    return [by_name[cycle.nodes[at]] for run in cycle.runs for at in run.destinations]


# The finding that two balancers act on one cluster.


def check_balancer(facts: Facts, policy: Policy) -> Iterator[LintFinding]:
    """An enabled LowNodeUtilization beside a balancer that acts."""
    if not facts.acting_balancer:
        return
    for at, profile in enumerate(policy.profiles):
        for name, plugin in profile.plugins:
            if isinstance(plugin, LowNodeUtilization):
                message = f"{name} is enabled, and the balancer acts too: {facts.acting_balancer}"
                yield finding(rules.TWO_BALANCERS, args_field(facts, at, name), message)
