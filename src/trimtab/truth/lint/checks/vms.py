"""Findings about VMs and their migrations: what an eviction of their pods leads to."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from trimtab.model.snapshot import Snapshot, SnapshotKubeVirt, SnapshotPod, SnapshotVm
from trimtab.policy.file.settings import Policy
from trimtab.policy.snapshot_view import SnapshotView
from trimtab.truth.explain.outcome_texts import listed
from trimtab.truth.lint import catalogue_vms as rules
from trimtab.truth.lint.facts import Facts
from trimtab.truth.lint.finding import LintFinding, finding
from trimtab.virt.eviction import EvictionEffect, judge_eviction
from trimtab.virt.slots import MigrationLimits

HOSTNAME = "kubernetes.io/hostname"
OWN_WEBHOOK = "trimtab-eviction"
_WAITING = ("", "Pending")
_CAUSES = {
    "DisksNotLiveMigratable": "a disk is not shared, or cannot be migrated",
    "InterfaceNotLiveMigratable": "a network interface keeps it on its node",
    "HotplugNotLiveMigratable": "a hotplugged volume is not shared",
    "CPUModeLiveMigratable": "its CPU mode is not the same on other nodes",
    "VirtIOFSNotLiveMigratable": "it shares a file system by virtiofs",
    "HostDeviceNotLiveMigratable": "it has a device of its node",
    "SEVNotLiveMigratable": "its memory is encrypted (SEV)",
    "SecureExecutionNotLiveMigratable": "it runs in IBM Secure Execution",
    "TDXNotLiveMigratable": "its memory is encrypted (TDX)",
    "NoTSCFrequencyNotLiveMigratable": "its node does not tell the TSC frequency",
    "HypervPassthroughNotLiveMigratable": "it passes Hyper-V features of its node through",
    "PersistentReservationNotLiveMigratable": "it holds persistent reservations of a LUN",
}
"""KubeVirt's reasons in words; a reason that is not here is shown as it is."""


def check_vms(facts: Facts, policy: Policy) -> Iterator[LintFinding]:
    """Nothing without a cluster. VMs count if they run on nodes that the policy selects."""
    cluster = facts.cluster
    if cluster is None:
        return
    selected = frozenset(SnapshotView(cluster).selected(policy.node_selector).names)
    pods = {pod.uid: pod for pod in cluster.pods if pod.node in selected}
    vms = [vm for vm in cluster.vms if vm.pod_uid in pods]
    yield from _bound_launchers(policy, cluster, pods.values())
    yield from _not_migratable(vms)
    yield from _stopped_by_evictions(vms)
    yield from _moved_by_others(vms)
    if cluster.kubevirt is not None:
        yield from _webhooks(cluster.kubevirt)
        yield from _completed(cluster)
        yield from _waiting(cluster.kubevirt)
        yield from _migration_policies(cluster.kubevirt, cluster.vms)


def _bound_launchers(
    policy: Policy, cluster: Snapshot, pods: Iterable[SnapshotPod]
) -> Iterator[LintFinding]:
    """A VM whose own selector has the host name is pinned on purpose."""
    pinned = {vm.pod_uid for vm in cluster.vms if not _is_freed(vm)}
    bound = [
        pod.name
        for pod in pods
        if is_launcher(pod)
        and not pod.finished
        and HOSTNAME in pod.node_selector
        and pod.uid not in pinned
    ]
    if not bound:
        return
    if any(profile.evictor.node_fit for profile in policy.profiles):
        message = f"nodeFit takes {listed(bound)} for bound to one node"
        yield finding(rules.LAUNCHER_KEEPS_HOSTNAME, f"pod {bound[0]}", message)
    else:
        ask = "asks" if len(bound) == 1 else "ask"
        message = f"{listed(bound)} {ask} for one node by its host name"
        yield finding(rules.LAUNCHER_KEEPS_HOSTNAME, f"pod {bound[0]}", message, severity="note")


def _is_freed(vm: SnapshotVm) -> bool:
    """Whether the VM's next pod may go elsewhere."""
    return vm.next_pod is not None and HOSTNAME not in vm.next_pod.node_selector


def is_launcher(pod: SnapshotPod) -> bool:
    return pod.labels.get("kubevirt.io") == "virt-launcher"


def _not_migratable(vms: Sequence[SnapshotVm]) -> Iterator[LintFinding]:
    refused = [vm for vm in vms if _effect(vm) is EvictionEffect.REFUSES]
    if refused:
        causes = _by_cause(refused)
        message = f"{len(refused)} of {_count(vms)} cannot migrate: {causes}"
        severity = "error" if len(refused) == len(vms) else rules.VM_NOT_MIGRATABLE.severity
        yield finding(
            rules.VM_NOT_MIGRATABLE, f"VM {_name(refused[0])}", message, severity=severity
        )


def _stopped_by_evictions(vms: Sequence[SnapshotVm]) -> Iterator[LintFinding]:
    stopped = [vm for vm in vms if _effect(vm) is EvictionEffect.RESTARTS]
    if stopped:
        strategies = _shares(vm.eviction_strategy for vm in stopped)
        message = f"an eviction stops {_names(stopped)} (evictionStrategy {strategies})"
        yield finding(rules.VM_STOPS_WHEN_EVICTED, f"VM {_name(stopped[0])}", message)


def _moved_by_others(vms: Sequence[SnapshotVm]) -> Iterator[LintFinding]:
    left = [vm for vm in vms if vm.eviction_strategy == "External"]
    if left:
        message = f"KubeVirt does not move {_names(left)} (evictionStrategy External)"
        yield finding(rules.VM_MOVED_BY_OTHERS, f"VM {_name(left[0])}", message)


def _effect(vm: SnapshotVm) -> EvictionEffect | None:
    """What an eviction does to the VM; None where no object tells."""
    if not vm.eviction_strategy:
        return None
    return judge_eviction(vm.eviction_strategy, migratable=not vm.not_migratable).effect


def _by_cause(vms: Sequence[SnapshotVm]) -> str:
    """`a disk is not shared (DisksNotLiveMigratable): a, b; …`"""
    found: dict[str, list[str]] = {}
    for vm in vms:
        found.setdefault(vm.not_migratable, []).append(_name(vm))
    return "; ".join(
        f"{_cause(reason)}: {listed(names)}"
        for reason, names in sorted(found.items(), key=lambda each: -len(each[1]))
    )


def _cause(reason: str) -> str:
    return f"{_CAUSES[reason]} ({reason})" if reason in _CAUSES else reason


def _webhooks(kubevirt: SnapshotKubeVirt) -> Iterator[LintFinding]:
    webhooks = kubevirt.eviction_webhooks
    if len(webhooks) > 1:
        message = f"{listed(webhooks, 5)} are asked about every eviction"
        own = OWN_WEBHOOK in webhooks
        place = f"webhook {OWN_WEBHOOK if own else webhooks[0]}"
        severity = rules.TWO_EVICTION_WEBHOOKS.severity if own else "note"
        yield finding(rules.TWO_EVICTION_WEBHOOKS, place, message, severity=severity)


def _completed(cluster: Snapshot) -> Iterator[LintFinding]:
    running = {vm.pod_uid for vm in cluster.vms}
    left = [
        pod.name
        for pod in cluster.pods
        if is_launcher(pod) and pod.phase == "Succeeded" and not pod.terminating
    ]
    if left and running:
        what = "1 launcher is" if len(left) == 1 else f"{len(left)} launchers are"
        message = f"{what} Completed beside {len(running)} that run: {listed(left)}"
        yield finding(rules.COMPLETED_LAUNCHERS, f"pod {left[0]}", message)


def _waiting(kubevirt: SnapshotKubeVirt) -> Iterator[LintFinding]:
    limits = MigrationLimits(kubevirt.migrations_per_cluster, kubevirt.migrations_per_node)
    waiting = [each for each in kubevirt.migrations if each.phase in _WAITING]
    leaving = Counter(m.source for m in kubevirt.migrations if m.phase not in _WAITING)
    running = leaving.total()
    if waiting and not limits.allow_another(running):
        verb = "waits" if len(waiting) == 1 else "wait"
        message = f"{len(waiting)} {verb} while {running} of {limits.cluster} run in the cluster"
        field = "KubeVirt spec.configuration.migrations.parallelMigrationsPerCluster"
        yield finding(rules.MIGRATIONS_WAIT, field, message)
        return
    behind = Counter(m.source for m in waiting if not limits.allow_leaving(leaving[m.source]))
    for node, count in sorted(behind.items()):
        verb = "waits" if count == 1 else "wait"
        message = f"{count} {verb} while {leaving[node]} of {limits.node} leave node {node}"
        yield finding(rules.MIGRATIONS_WAIT, f"node {node}", message)


def _migration_policies(
    kubevirt: SnapshotKubeVirt, vms: Sequence[SnapshotVm]
) -> Iterator[LintFinding]:
    for policy in kubevirt.policies:
        own = [vm for vm in vms if vm.migration_policy == policy.name]
        if own and policy.changes:
            changes = ", ".join(f"{name} {value}" for name, value in policy.changes.items())
            message = f"{policy.name} sets {changes} for {_names(own)}"
            yield finding(rules.MIGRATION_POLICIES, f"MigrationPolicy {policy.name}", message)


def _shares(words: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(words))


def _name(vm: SnapshotVm) -> str:
    return f"{vm.namespace}/{vm.name}"


def _names(vms: Sequence[SnapshotVm]) -> str:
    return listed([_name(vm) for vm in vms])


def _count(vms: Sequence[SnapshotVm]) -> str:
    return "1 VM" if len(vms) == 1 else f"{len(vms)} VMs"
