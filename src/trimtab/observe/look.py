"""One read-only look at a cluster: everything that decides a descheduling cycle.

Only lists and gets, and one query. What may be missing (KubeVirt, a metrics server, the right
to read claims) is left out and said in `Look.notes`; what must be there is an error. A look is
not an instant: it takes as long as its lists, and the descheduler reads at its own time.
"""

import asyncio
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from trimtab import __version__
from trimtab.errors import ConfigError, TrimtabError
from trimtab.kube.client import Client
from trimtab.kube.clock import NAME as CLOCK
from trimtab.kube.clock import NAMESPACE as CLOCK_NAMESPACE
from trimtab.kube.clock import Clock, clock_from
from trimtab.kube.errors import Forbidden, NotFound
from trimtab.kube.kubevirt import VMIMS
from trimtab.kube.resources import CONFIG_MAPS, NAMESPACES, PRIORITY_CLASSES, Free, Key, Kind
from trimtab.kube.virtual_machines import VMS
from trimtab.model.snapshot import (
    NodeMetrics,
    PodMetrics,
    QueryResult,
    Sample,
    Snapshot,
    SnapshotNamespace,
    SnapshotVm,
)
from trimtab.observe import wire
from trimtab.observe.descheduler import (
    CRON_JOBS,
    DEPLOYMENTS,
    InstalledDescheduler,
    deschedulers_in,
)
from trimtab.observe.eviction_answers import (
    kubevirt_machines,
    observed_on,
    own_machines,
    with_rules,
)
from trimtab.observe.kubevirt import kubevirt_seen, policies_of
from trimtab.observe.objects import claim_of, node_of, pod_of
from trimtab.observe.policy_source import Source
from trimtab.observe.vm_limits import BUDGETS, QUOTAS, with_limits
from trimtab.observe.vm_loads import (
    Fate,
    demands_from_metrics,
    kubevirt_fates,
    own_fates,
    snapshot_vms,
)
from trimtab.policy.file.reader import read_policy
from trimtab.policy.file.settings import LowNodeUtilization, Policy, UsageSource, queries
from trimtab.prom.client import Prometheus

T = TypeVar("T")
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s\"']+@")


class Look(Struct, frozen=True):
    """The snapshot, what could not be seen, and the descheduler that was found."""

    snapshot: Snapshot
    notes: tuple[str, ...] = ()
    descheduler: InstalledDescheduler | None = None


async def look(
    client: Client,
    policy: Source,
    prometheus: Prometheus | None,
    *,
    in_background: bool | None = None,
    must_ask: bool = True,
) -> Look:
    """Read everything. `in_background` overrides what the descheduler's flags say.

    A policy with a query and no Prometheus to ask is an error unless `must_ask` is False.
    """
    return await _Looker(client, policy, prometheus, must_ask).look(in_background)


class _Looker:
    def __init__(
        self, client: Client, source: Source, prometheus: Prometheus | None, must_ask: bool
    ) -> None:
        self._client, self._source, self._prometheus = client, source, prometheus
        self._must_ask = must_ask
        self._notes: list[str] = []

    async def look(self, in_background: bool | None) -> Look:
        pods, nodes, namespaces, claims, classes = await asyncio.gather(
            self._client.list(wire.PODS),
            self._client.list(wire.NODES),
            self._optional(NAMESPACES, "namespaceLabelSelector cannot be judged"),
            self._optional(wire.CLAIMS, "protected storage classes cannot be judged"),
            self._optional(PRIORITY_CLASSES, "priorityThreshold.name cannot be resolved"),
        )
        priorities = {each.metadata.name: each.value for each in classes}
        text = _CREDENTIALS.sub("", self._source.text)
        policy = read_policy(text, self._source.where, priorities)
        instances, migrations, kubevirts, vms = await asyncio.gather(
            self._optional(wire.INSTANCES, "answers to evictions of KubeVirt's VMs are unknown"),
            self._optional(VMIMS, "migrations under way and cooldowns are unknown"),
            self._optional(wire.KUBEVIRTS, "KubeVirt's default eviction strategy is unknown"),
            self._optional(VMS, "answers to evictions of VMs are unknown"),
        )
        strategies = [each.spec.configuration.eviction_strategy for each in kubevirts]
        strategy = next(iter(strategies), None)
        machines = kubevirt_machines(instances, strategy, migrations) | own_machines(vms)
        budgets, quotas = await asyncio.gather(
            self._optional(BUDGETS, "VMs with budgets that are not met are planned for"),
            self._optional(QUOTAS, "VMs whose namespace has no room are planned for"),
        )
        fates = kubevirt_fates(instances, migrations) | own_fates(vms)
        fates = with_limits(fates, pods, budgets, quotas)
        machines_seen, loads_from = await self._vm_loads(pods, fates)
        policies, webhooks = await self._around_kubevirt(bool(kubevirts))
        own_policies = policies_of(instances, policies, namespaces)
        descheduler = await self._descheduler()
        query = await self._query(policy)
        snapshot = Snapshot(
            taken_at=datetime.now(UTC),
            versions=await self._versions(kubevirts, descheduler),
            evictions_in_background=self._background(in_background, descheduler),
            policy=text,
            query=query,
            nodes=tuple(map(node_of, nodes)),
            pods=tuple(pod_of(pod, observed_on(pod, machines)) for pod in pods),
            namespaces=tuple(
                SnapshotNamespace(n.metadata.name, n.metadata.labels) for n in namespaces
            ),
            claims=tuple(map(claim_of, claims)),
            priority_classes=priorities,
            vms=with_rules(machines_seen, machines, own_policies),
            vm_loads=loads_from,
            kubevirt=kubevirt_seen(kubevirts[0], instances, migrations, policies, webhooks)
            if kubevirts
            else None,
            **await self._usage(policy),
        )
        if under_way := sum(not each.finished for each in migrations):
            self._notes.append(f"{under_way} migrations of KubeVirt are under way")
        return Look(snapshot, tuple(self._notes), descheduler)

    async def _around_kubevirt(
        self, installed: bool
    ) -> tuple[Sequence[wire.MigrationPolicy], Sequence[wire.WebhookConfiguration]]:
        """MigrationPolicies and validating webhooks, where KubeVirt is."""
        if not installed:
            return (), ()
        return await asyncio.gather(
            self._optional(wire.MIGRATION_POLICIES, "what they change for VMs is unknown"),
            self._optional(wire.VALIDATING_WEBHOOKS, "who else answers evictions is unknown"),
        )

    async def _vm_loads(
        self, pods: Sequence[wire.Pod], fates: Mapping[Key, Fate]
    ) -> tuple[tuple[SnapshotVm, ...], str]:
        """What VMs demand: by KubeVirt's metrics if there are any, else by their pods."""
        measured = await demands_from_metrics(self._prometheus) if self._prometheus else {}
        lab_clock = await clock_or_real_time(self._client)
        return snapshot_vms(pods, fates, measured, lab_clock, time.time())

    async def _optional(self, kind: Kind[T], without: str) -> Sequence[T]:
        return await list_if_allowed(self._client, kind, without, self._notes)

    async def _query(self, policy: Policy) -> QueryResult | None:
        """The answer to the policy's query, or the error instead of it."""
        asked = list(dict.fromkeys(queries(policy)))
        if not asked:
            return None
        if len(asked) > 1:
            self._notes.append("the policy has several queries; the snapshot holds the first only")
        if self._prometheus is None:
            if not self._must_ask:
                return None
            raise ConfigError(
                f"the policy asks {policy.prometheus_url or 'Prometheus'}, which cannot be "
                "reached from here; forward its port and give --prometheus URL"
            )
        answer = await ask_query(self._prometheus, asked[0])
        if answer.error:
            self._notes.append(f"the query failed: {answer.error}")
        return answer

    async def _usage(self, policy: Policy) -> dict[str, Any]:
        """The metrics server's answers, if the policy asks it."""
        if UsageSource.METRICS_SERVER not in _sources(policy):
            return {}
        nodes, pods = await asyncio.gather(
            self._optional(wire.NODE_USAGE, "what nodes use is unknown"),
            self._optional(wire.POD_USAGE, "what pods use is unknown"),
        )
        self._notes.append(
            "the descheduler averages the metrics server's answers over time; "
            "the snapshot holds the last one"
        )
        return {
            "node_metrics": tuple(NodeMetrics(n.metadata.name, n.usage) for n in nodes),
            "pod_metrics": tuple(
                PodMetrics(
                    p.metadata.namespace, p.metadata.name, tuple(c.usage for c in p.containers)
                )
                for p in pods
            ),
        }

    async def _descheduler(self) -> InstalledDescheduler | None:
        """In the policy's namespace if that is known, otherwise anywhere."""
        found: list[Free] = []
        for kind in (DEPLOYMENTS, CRON_JOBS):
            try:
                items = await self._client.list(kind, self._source.namespace or None)
            except (NotFound, Forbidden):  # without it the descheduler counts as not found
                continue
            found += [{"kind": kind.kind, **item} for item in items]
        return next(iter(deschedulers_in(found)), None)

    def _background(self, given: bool | None, descheduler: InstalledDescheduler | None) -> bool:
        if given is not None:
            return given
        if descheduler is not None:
            return descheduler.in_background
        self._notes.append(
            "no descheduler's workload was found: evictions in background are taken to be on; "
            "--no-background says otherwise"
        )
        return True

    async def _versions(
        self, kubevirts: Sequence[wire.KubeVirt], descheduler: InstalledDescheduler | None
    ) -> dict[str, str]:
        found = {"trimtab": __version__}
        with suppress(Forbidden, NotFound):  # a version is nice to know and decides nothing
            answer = msgspec.json.decode(await self._client.request("GET", "/version"))
            found["kubernetes"] = str(answer.get("gitVersion", ""))
        if kubevirts and kubevirts[0].status.observed_kube_virt_version:
            found["kubevirt"] = kubevirts[0].status.observed_kube_virt_version
        if descheduler is not None and descheduler.version:
            found["descheduler"] = descheduler.version
        if descheduler is not None:
            found["descheduler-build"] = "openshift" if descheduler.openshift else "upstream"
        return found


async def list_if_allowed(
    client: Client, kind: Kind[T], without: str = "", notes: list[str] | None = None
) -> Sequence[T]:
    """All objects of a kind that need not be served, or that we may not see.

    In the latter case `notes` gets a line on what that means: `without`.
    """
    try:
        return await client.list(kind)
    except NotFound:
        return ()
    except Forbidden:
        if notes is not None:
            notes.append(f"{kind.plural} cannot be listed with these rights: {without}")
        return ()


async def clock_or_real_time(client: Client) -> Clock:
    """A lab's clock, whose time may go faster; a real cluster has none and goes by its own."""
    try:
        config = await client.get(CONFIG_MAPS, CLOCK, CLOCK_NAMESPACE)
        return clock_from(config)
    except (NotFound, Forbidden, ConfigError):
        return Clock()


async def ask(prometheus: Prometheus, source: Source) -> QueryResult | None:
    """The answer to the first query of a policy, without a cluster; None if it asks nothing."""
    asked = queries(read_policy(source.text, source.where, _EveryClass()))
    return await ask_query(prometheus, asked[0]) if asked else None


async def ask_query(prometheus: Prometheus, query: str) -> QueryResult:
    """The answer now, or the error instead of it."""
    at = time.time()
    moment = datetime.fromtimestamp(at, UTC)
    try:
        answer = await prometheus.verbatim(query, at)
    except TrimtabError as error:
        return QueryResult(time=moment, query=query, error=_CREDENTIALS.sub("", str(error)))
    return QueryResult(
        time=moment,
        query=query,
        result_type=answer.result_type,
        samples=tuple(Sample(labels, value) for labels, value in answer.samples),
    )


class _EveryClass(dict[str, int]):
    """Stands in for priority classes that cannot be read; their values do not change the query."""

    def __bool__(self) -> bool:
        return True

    def get(self, key: object, default: object = None) -> int:
        return 0


def _sources(policy: Policy) -> set[UsageSource]:
    plugins = (plugin for profile in policy.profiles for _, plugin in profile.plugins)
    return {p.source for p in plugins if isinstance(p, LowNodeUtilization)}
