"""One look at a cluster, as a situation to decide from.

Loads of trimtab's own VMs are what their pods' annotations say at this moment, which is what
the exporter shows to Prometheus; KubeVirt's VMs are known by its metrics. Either way Prometheus
is asked how old the newest metrics are.
"""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from msgspec import Struct

from trimtab.balance.from_snapshot import problem_from
from trimtab.balance.problem import Problem
from trimtab.balancer.learning import learnt_cost
from trimtab.balancer.settings import BalancerSettings
from trimtab.balancer.situation import Situation
from trimtab.balancer.vms_and_migrations import Machines, lab_seconds, located, read_machines
from trimtab.balancer.wire import REBALANCE_PLANS, RebalancePlan
from trimtab.errors import ConfigError, TrimtabError
from trimtab.kube import clock
from trimtab.kube.client import Client, find
from trimtab.kube.clock import Clock
from trimtab.kube.errors import Forbidden, NotFound
from trimtab.kube.kubevirt import COOL_LABEL
from trimtab.kube.resources import CONFIG_MAPS, Key, Node
from trimtab.kube.virtual_machines import DOMAIN, is_launcher
from trimtab.kube.worlds import World
from trimtab.model.snapshot import Snapshot
from trimtab.observe import wire
from trimtab.observe.objects import node_of, pod_of
from trimtab.observe.policy_source import read_config_map
from trimtab.observe.vm_limits import (
    BUDGETS,
    QUOTAS,
    DisruptionBudget,
    Quota,
    with_limits,
)
from trimtab.observe.vm_loads import Demand, Fate, demands_from_metrics, snapshot_vms
from trimtab.policy.file.reader import read_policy
from trimtab.policy.file.settings import LowNodeUtilization
from trimtab.prom.client import Prometheus

POLICY = "configmap:kube-descheduler/descheduler-policy"
_AGE = (
    "min(time() - (timestamp(node_cpu_usage_ratio)"
    " or timestamp(kubevirt_vmi_cpu_usage_seconds_total)))"
)


class Observed(Struct, frozen=True, kw_only=True):
    """A situation, and the clock that it was read by; None without any VM."""

    clock: Clock
    situation: Situation | None


async def observe(
    client: Client, world: World, settings: BalancerSettings, troubled: int
) -> Observed:
    """Read everything that a decision needs; what the API server refuses is raised."""
    lab_clock = await read_clock(client)
    pods, nodes, machines, plans, limits, metrics = await asyncio.gather(
        client.list(wire.PODS),
        client.list(wire.NODES),
        read_machines(client, world, lab_clock),
        client.list(REBALANCE_PLANS),
        _read_limits(client),
        _read_metrics(settings.prometheus, world, lab_clock),
    )
    now = time.time()
    fates = with_limits(machines.fates, pods, *limits)
    problem = problem_of_objects(pods, nodes, fates, lab_clock, now, metrics.demands)
    if problem is None:
        return Observed(clock=lab_clock, situation=None)
    situation = Situation(
        now=lab_clock.lab_s(now),
        moment=datetime.fromtimestamp(now, UTC),
        times={p.metadata.name: lab_seconds(_made(p), lab_clock) for p in plans},
        ended={
            p.metadata.name: lab_seconds(p.status.ended_at, lab_clock)
            for p in plans
            if p.status.ended_at is not None
        },
        problem=problem,
        migrations=located(machines.migrations, pods, plans),
        plans=tuple(plans),
        settings=settings,
        cost=learnt_cost(plans),
        loads_age_s=metrics.age_s,
        draining=draining(nodes, machines),
        chooses_from_set=world == "kubevirt" and not settings.exact_target,
        cool=frozenset(n.metadata.name for n in nodes if COOL_LABEL in n.metadata.labels),
        second_balancer=await second_balancer(client) if settings.mode == "act" else "",
        troubled=troubled,
    )
    return Observed(clock=lab_clock, situation=situation)


def problem_of_objects(
    pods: Sequence[wire.Pod],
    nodes: Sequence[Node],
    fates: Mapping[Key, Fate],
    lab_clock: Clock,
    now: float,
    measured: Mapping[Key, Demand] | None = None,
) -> Problem | None:
    """The planner's problem; None while no VM runs.

    Pods of a VM that are not its active one are left out: a VM that moves counts once, at
    its target.
    """
    seen, _ = snapshot_vms(pods, fates, measured or {}, lab_clock, now)
    if not seen:
        return None
    active = {vm.pod_uid for vm in seen}
    kept = [pod for pod in pods if pod.metadata.uid in active or not _launches(pod, fates)]
    snapshot = Snapshot(
        taken_at=datetime.fromtimestamp(now, UTC),
        nodes=tuple(map(node_of, nodes)),
        pods=tuple(pod_of(pod) for pod in kept),
        vms=seen,
    )
    return problem_from(snapshot)


def _launches(pod: wire.Pod, fates: Mapping[Key, Fate]) -> bool:
    meta = pod.metadata
    name = meta.annotations.get(DOMAIN) or meta.labels.get(DOMAIN, "")
    return is_launcher(meta.labels) and Key(meta.namespace, name) in fates


async def read_clock(client: Client) -> Clock:
    """The lab's clock, or the real one in a cluster without it."""
    config = await find(client, CONFIG_MAPS, clock.NAME, clock.NAMESPACE)
    return clock.clock_from(config)


def draining(nodes: Iterable[Node], machines: Machines) -> tuple[str, ...]:
    """Cordoned nodes that VMs are leaving: somebody else than the balancer empties them."""
    cordoned = {node.metadata.name for node in nodes if node.spec.unschedulable}
    left = {each.source for each in machines.migrations if each.ended is None and not each.plan}
    return tuple(sorted(cordoned & (left | machines.evacuated)))


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


async def _read_limits(client: Client) -> tuple[Sequence[DisruptionBudget], Sequence[Quota]]:
    return await asyncio.gather(client.list(BUDGETS), client.list(QUOTAS))


class _Metrics(Struct, frozen=True):
    age_s: float = 0.0
    demands: Mapping[Key, Demand] = {}


async def _read_metrics(url: str, world: World, lab_clock: Clock) -> _Metrics:
    """What Prometheus knows; nothing at all, or nobody to ask, is infinitely old."""
    if not url:
        return _Metrics()
    try:
        async with Prometheus(url, limit_s=5.0) as prometheus:
            samples = await prometheus.instant(_AGE)
            demands = await demands_from_metrics(prometheus) if world == "kubevirt" else {}
    except TrimtabError:
        return _Metrics(float("inf"))
    return _Metrics(samples[0].value * lab_clock.scale if samples else float("inf"), demands)


def _made(plan: RebalancePlan) -> datetime | None:
    return plan.spec.made_at or plan.metadata.creation_timestamp
