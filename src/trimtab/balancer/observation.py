"""One look at a cluster of trimtab's own VMs, as a situation to decide from.

Loads are what the pods' annotations say at this moment, which is what the exporter shows to
Prometheus; Prometheus is asked only how old the newest metrics are.
"""

import asyncio
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from msgspec import Struct

from trimtab.balance.from_snapshot import problem_from
from trimtab.balance.problem import Problem
from trimtab.balancer.learning import learnt_cost
from trimtab.balancer.settings import Settings
from trimtab.balancer.situation import Migration, Situation
from trimtab.balancer.wire import PLAN_LABEL, REBALANCE_PLANS, RebalancePlan
from trimtab.errors import ConfigError, TrimtabError
from trimtab.kube import clock
from trimtab.kube.client import Client
from trimtab.kube.clock import Clock
from trimtab.kube.errors import Forbidden, NotFound
from trimtab.kube.machines import (
    DOMAIN,
    MIGRATIONS,
    VMS,
    VirtualMachine,
    VirtualMachineMigration,
    is_launcher,
)
from trimtab.kube.resources import CONFIG_MAPS, Key, Node
from trimtab.model.snapshot import Snapshot
from trimtab.observe import wire
from trimtab.observe.objects import node_of, pod_of
from trimtab.observe.policy_source import read_config_map
from trimtab.observe.vm_loads import own_fates, snapshot_vms
from trimtab.policy import read_policy
from trimtab.policy.file.settings import LowNodeUtilization
from trimtab.prom.client import Prometheus

POLICY = "configmap:kube-descheduler/descheduler-policy"
_AGE = "min(time() - timestamp(node_cpu_usage_ratio))"


class Observed(Struct, frozen=True, kw_only=True):
    """A situation, and the clock that it was read by; None without any VM."""

    clock: Clock
    situation: Situation | None


async def observe(client: Client, settings: Settings, troubled: int) -> Observed:
    """Read everything that a decision needs; what the API server refuses is raised."""
    pods, nodes, vms, migrations, plans, lab_clock = await asyncio.gather(
        client.list(wire.PODS),
        client.list(wire.NODES),
        client.list(VMS),
        client.list(MIGRATIONS),
        client.list(REBALANCE_PLANS),
        read_clock(client),
    )
    now = time.time()
    problem = problem_of_objects(pods, nodes, vms, lab_clock, now)
    if problem is None:
        return Observed(clock=lab_clock, situation=None)
    past = tuple(_migration(each, lab_clock) for each in migrations)
    situation = Situation(
        now=lab_clock.lab_s(now),
        moment=datetime.fromtimestamp(now, UTC),
        times={p.metadata.name: _seconds(_made(p), lab_clock) for p in plans},
        ended={
            p.metadata.name: _seconds(p.status.ended_at, lab_clock)
            for p in plans
            if p.status.ended_at is not None
        },
        problem=problem,
        migrations=past,
        plans=tuple(plans),
        settings=settings,
        cost=learnt_cost(plans),
        loads_age_s=await _age_s(settings.prometheus, lab_clock),
        draining=draining(nodes, vms, past),
        second_balancer=await second_balancer(client) if settings.mode == "act" else "",
        troubled=troubled,
    )
    return Observed(clock=lab_clock, situation=situation)


def problem_of_objects(
    pods: Sequence[wire.Pod],
    nodes: Sequence[Node],
    vms: Sequence[VirtualMachine],
    lab_clock: Clock,
    now: float,
) -> Problem | None:
    """The planner's problem; None while no VM runs.

    Pods of a VM that are not its active one are left out: a VM that moves counts once, at
    its target.
    """
    seen, _ = snapshot_vms(pods, own_fates(vms), {}, lab_clock, now)
    if not seen:
        return None
    active, known = {vm.pod_uid for vm in seen}, {vm.metadata.key for vm in vms}
    kept = [pod for pod in pods if pod.metadata.uid in active or not _launches(pod, known)]
    snapshot = Snapshot(
        taken_at=datetime.fromtimestamp(now, UTC),
        nodes=tuple(map(node_of, nodes)),
        pods=tuple(pod_of(pod) for pod in kept),
        vms=seen,
    )
    return problem_from(snapshot)


def _launches(pod: wire.Pod, known: set[Key]) -> bool:
    meta = pod.metadata
    return (
        is_launcher(meta.labels) and Key(meta.namespace, meta.annotations.get(DOMAIN, "")) in known
    )


async def read_clock(client: Client) -> Clock:
    """The lab's clock, or the real one in a cluster without it."""
    try:
        config = await client.get(CONFIG_MAPS, clock.NAME, clock.NAMESPACE)
    except NotFound:
        return Clock()
    return clock.clock_from(config)


def draining(
    nodes: Iterable[Node], vms: Iterable[VirtualMachine], migrations: Iterable[Migration]
) -> tuple[str, ...]:
    """Cordoned nodes that VMs are leaving: somebody empties them."""
    cordoned = {node.metadata.name for node in nodes if node.spec.unschedulable}
    left = {vm.status.evacuation_node_name for vm in vms}
    left |= {each.source for each in migrations if each.ended is None}
    return tuple(sorted(cordoned & left))


async def second_balancer(client: Client) -> str:
    """Where a descheduler's policy with LowNodeUtilization is, or nothing."""
    try:
        source = await read_config_map(client, POLICY)
        policy = read_policy(source.text, source.where)
    except (NotFound, Forbidden):
        return ""
    except ConfigError:  # a policy that we cannot read may hold anything
        return POLICY.removeprefix("configmap:")
    found = any(
        isinstance(plugin, LowNodeUtilization)
        for profile in policy.profiles
        for _, plugin in profile.plugins
    )
    return source.where if found else ""


async def _age_s(url: str, lab_clock: Clock) -> float:
    """How old the newest metrics are; none at all, or nobody to ask, is infinitely old."""
    if not url:
        return 0.0
    try:
        async with Prometheus(url, limit_s=5.0) as prometheus:
            samples = await prometheus.instant(_AGE)
    except TrimtabError:
        return float("inf")
    return samples[0].value * lab_clock.scale if samples else float("inf")


def _made(plan: RebalancePlan) -> datetime | None:
    return plan.spec.made_at or plan.metadata.creation_timestamp


def _seconds(at: datetime | None, lab_clock: Clock) -> float:
    return lab_clock.lab_s(at.timestamp()) if at is not None else 0.0


def _migration(each: VirtualMachineMigration, lab_clock: Clock) -> Migration:
    meta, status = each.metadata, each.status
    ended = status.completion_time or meta.creation_timestamp if each.finished else None
    begun = status.start_time or meta.creation_timestamp
    return Migration(
        name=meta.name,
        vm=f"{meta.namespace}/{each.spec.vm_name}",
        source=status.source_node,
        target=status.target_node or each.spec.target_node,
        begun=_seconds(begun, lab_clock),
        copying=_seconds(status.precopy_start_time, lab_clock)
        if status.precopy_start_time
        else None,
        ended=None if ended is None else _seconds(ended, lab_clock),
        succeeded=status.phase == "Succeeded",
        reason=status.reason,
        plan=meta.labels.get(PLAN_LABEL, ""),
    )
