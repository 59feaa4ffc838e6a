"""One case in the making: nodes, then pods, then evictions under way, then answers."""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from msgspec import Struct, structs

from conformance.descheduler.cluster import Key
from conformance.descheduler.draws.policies import Theme
from conformance.descheduler.draws.population import (
    CLAIMANTS,
    MISFITS,
    SPECIALS,
    UNMEASURED,
    in_progress,
    new_pod,
)
from conformance.descheduler.draws.samples import GOLDEN, query_for
from conformance.descheduler.stubs import Reply
from trimtab.model.nodes_and_vms import Taint
from trimtab.model.snapshot import (
    EVICT,
    EVICTION_IN_PROGRESS,
    PREFER_NO_EVICTION,
    REQUEST_EVICT_ONLY,
    PodMetrics,
    QueryResult,
    SnapshotNode,
    SnapshotPod,
)

_TARGET = "targetThresholds"
_TAINTS = (
    Taint(key="soft", value="true", effect="PreferNoSchedule"),
    Taint(key="hard", value="x", effect="NoSchedule"),
    Taint(key="other", value="", effect="NoExecute"),
)


class Case(Struct, kw_only=True):
    """Everything that the harness has to arrange for one cycle."""

    kind: str
    nodes: list[SnapshotNode]
    pods: dict[Key, SnapshotPod]
    renewed: set[Key]
    """Pods to be replaced by new ones: their evictions have completed."""
    query: QueryResult
    replies: dict[str, Reply]
    node_metrics: dict[str, dict[str, str]]
    pod_metrics: dict[str, PodMetrics]


class Flying(Struct, frozen=True):
    """An eviction under way, and whether its pod says so."""

    key: Key
    announced: bool


class Base(Struct, frozen=True, kw_only=True):
    """What all cases of a session start from."""

    nodes: Sequence[SnapshotNode]
    pods: Mapping[Key, SnapshotPod]
    pool: Sequence[str]
    """With a metrics server the pool stays: it asks for new nodes only every five seconds."""
    dark: str
    """A node of which the metrics server knows nothing."""


def mixed(random: Random, names: list[str]) -> list[str]:
    """Some heavy, some middling, some light nodes; they are in this order."""
    thirds = names[:4], names[5:14], names[14:]
    sizes = [min(len(third), random.choice([2, 3, 4])) for third in thirds]
    return [n for third, k in zip(thirds, sizes, strict=True) for n in random.sample(third, k)]


class Draft:
    """A case in the making."""

    def __init__(self, base: Base, theme: Theme, random: Random, kind: str, step: int) -> None:
        self._base, self._theme, self._r = base, theme, random
        self._kind, self._step = kind, step
        self._nodes = {node.name: node for node in base.nodes}
        self._pods = dict(base.pods)
        self._renewed: set[Key] = set()
        self.changed: Mapping[Key, SnapshotPod] = {}
        """The pods with what stays changed for the rest of the session."""
        self.golden: tuple[int, ...] = ()
        self.pool = self._choose_pool()
        self.hot = self._choose_hot()

    def _choose_pool(self) -> list[str]:
        r, names = self._r, list(self._nodes)
        if self._kind == "R4":
            return r.sample(names, r.choice([0, 1]))
        if self._theme.mode == "metrics":
            dark = [self._base.dark] if self._kind == "P7" else []
            return list(self._base.pool) + dark
        if self._theme.mode == "high":
            return self._pool_of_high(names)
        if self._theme.mode == "requests":
            return mixed(r, names[5:] if self._kind == "none over" else names)
        if self._kind == "golden":
            (low,), (high,) = (self._theme.args[k].values() for k in ("thresholds", _TARGET))
            sets = GOLDEN[low, high]
            self.golden = sets[self._step % len(sets)]
            return r.sample(names, len(self.golden))
        return r.sample(names, r.choice([4, 5, 6, 8, 12, 20]))

    def _pool_of_high(self, names: list[str]) -> list[str]:
        match self._kind:
            case "none under":
                return names[:5]
            case "all under":
                return names[16:]
            case "few under":
                return [*names[:5], names[17]]
            case "no destination":
                return [*names[:4], *names[15:]]
        return mixed(self._r, names)

    def _choose_hot(self) -> list[str]:
        if self._theme.mode == "prometheus" and self.pool:
            return self._r.sample(self.pool, min(len(self.pool) - 1, self._r.choice([1, 2, 2, 3])))
        return self.pool[-4:] if self._theme.mode == "high" else self.pool[:4]

    def shape_nodes(self) -> None:
        r = self._r
        for name in self.pool:
            labels = {**self._nodes[name].labels, "pool": "main"}
            self._change(name, labels=labels)
        if self._kind in ("none under", "no destination"):
            self._cordon_for_exit()
        if self._kind == "few under":
            self._leave_few()
        if self._kind != "normal":
            return
        idle = [name for name in self.pool if name not in self.hot]
        for name in r.sample(idle, min(len(idle) - 1, r.choice([0, 0, 1, 2]))):
            self._change(name, unschedulable=True)
        if r.random() < 0.25 and self.hot:
            self._change(r.choice(self.hot), unschedulable=True)
        self._taint(idle)
        if "nodeFit" in self._theme.evictor:
            self._limit_fit()
        if r.random() < 0.3 and len(self.pool) > 4:
            self._change(r.choice(idle), ready=r.choice([False, None]))

    def _limit_fit(self) -> None:
        """A few nodes for nodeFit to look at; now and then all of them are tainted."""
        taints = (_TAINTS[1],) if self._r.random() < 0.4 else ()
        for name in self._r.sample(list(self._nodes), self._r.choice([1, 2, 3])):
            labels = {**self._nodes[name].labels, "fit": "yes"}
            self._change(name, labels=labels, taints=taints)

    def _cordon_for_exit(self) -> None:
        high = self._theme.mode == "high"
        if high and self._kind == "none under":
            return
        for name in self.pool:
            self._change(name, unschedulable=True)

    def _leave_few(self) -> None:
        """All but two nodes cannot be underutilised any more."""
        if self._theme.mode != "high":
            keep = 2 if self._theme.mode == "prometheus" else 1
            for name in self.pool[:-keep]:
                self._change(name, unschedulable=True)

    def _taint(self, idle: list[str]) -> None:
        r = self._r
        chance = r.random()
        tainted = idle if chance < 0.15 else r.sample(idle, min(len(idle), 2))
        if chance > 0.45:
            return
        for name in tainted:
            self._change(name, taints=tuple(r.sample(_TAINTS, r.choice([1, 1, 2]))))

    def _change(self, name: str, **fields: object) -> None:
        self._nodes[name] = structs.replace(self._nodes[name], **fields)

    def shape_pods(self, flying: Mapping[str, Flying]) -> None:
        r = self._r
        busy = {one.key for one in flying.values()}
        # the sources' pods, so that changes are seen
        there = [k for k, p in self._pods.items() if p.node in self.hot and k not in busy]
        for key in r.sample(there, min(len(there), 4)):
            self._pods[key] = self._relabelled(self._pods[key])
        for key in r.sample(there, min(len(there), 4)):
            old = self._pods[key]
            specials = self._specials() if r.random() < 0.7 else ()
            self._pods[key] = new_pod(r, old.node, old.name, old.namespace, specials)
        self.changed = dict(self._pods)
        vms = [k for k in there if REQUEST_EVICT_ONLY in self._pods[k].annotations]
        announced = r.choice([1, 2]) if self._step == 0 or r.random() < 0.3 else 0
        for key in r.sample(vms, min(len(vms), announced)):
            self._pods[key] = self._announced(self._pods[key])
        for one in sorted(flying.values(), key=lambda f: f.key):
            self._go_on(one)

    def _specials(self) -> Sequence[Mapping[str, Any]]:
        """What the theme is about, if it is about pods."""
        if "nodeFit" in self._theme.evictor:
            return MISFITS
        if "evictionModes" in self._theme.args:
            return UNMEASURED
        return CLAIMANTS if self._theme.name == "protections" else SPECIALS

    def _relabelled(self, pod: SnapshotPod) -> SnapshotPod:
        r = self._r
        annotations = dict(pod.annotations)
        for name, chance in ((EVICT, 0.15), (PREFER_NO_EVICTION, 0.4), (REQUEST_EVICT_ONLY, 0.6)):
            if r.random() < chance:
                annotations[name] = ""
        return structs.replace(pod, annotations=annotations, labels={"app": r.choice("xy")})

    def _announced(self, pod: SnapshotPod) -> SnapshotPod:
        return structs.replace(pod, annotations=in_progress(pod))

    def _go_on(self, one: Flying) -> None:
        """How an eviction in background goes on: it is held, completes, fails or is forgotten."""
        pod = self._pods[one.key]
        if REQUEST_EVICT_ONLY not in pod.annotations:
            pod = structs.replace(pod, annotations={**pod.annotations, REQUEST_EVICT_ONLY: ""})
        self._pods[one.key] = self._fates(one.announced)(pod)

    def _fates(self, announced: bool) -> Callable[[SnapshotPod], SnapshotPod]:
        fates: list[Callable[[SnapshotPod], SnapshotPod]] = [
            self._announced,  # held
            self._announced,
            self._complete,
            lambda pod: structs.replace(pod, phase="Succeeded"),
            lambda pod: structs.replace(pod, annotations={}),  # no request any more
            self._unannounced,  # failed, or still only assumed
        ]
        return self._r.choice(fates if not announced else [*fates, self._unannounced])

    def _unannounced(self, pod: SnapshotPod) -> SnapshotPod:
        """Without the announcement, if there was one; a label makes it an update in any case."""
        kept = {k: v for k, v in pod.annotations.items() if k != EVICTION_IN_PROGRESS}
        labels = {**pod.labels, "step": str(self._step)}
        return structs.replace(pod, annotations=kept, labels=labels)

    def _complete(self, pod: SnapshotPod) -> SnapshotPod:
        self._renewed.add((pod.namespace, pod.name))
        return pod

    def case(self) -> Case:
        r = self._r
        return Case(
            kind=self._kind,
            nodes=list(self._nodes.values()),
            pods=self._pods,
            renewed=self._renewed,
            query=query_for(
                r, self._theme, self._kind, list(self._nodes.values()), self.hot, self.golden
            ),
            replies={"/".join(key): self._reply(pod) for key, pod in self._pods.items()},
            node_metrics=self._node_metrics(),
            pod_metrics=dict(self._pod_metrics()),
        )

    def _reply(self, pod: SnapshotPod) -> Reply:
        chance = self._r.random()
        if chance < 0.1:
            return Reply.BUDGET if chance < 0.07 else Reply.FORBID
        as_asked = self._r.random() < 0.85
        is_vm = REQUEST_EVICT_ONLY in pod.annotations
        return Reply.EVACUATE if is_vm == as_asked else Reply.ALLOW

    def _node_metrics(self) -> dict[str, dict[str, str]]:
        r = self._r
        usage = {}
        for name in self._nodes:
            heavy = name in self.pool[:3]
            cpu = r.choice(["1900m", "2345678901n"] if heavy else ["300m", "123456789n", "1200m"])
            memory = r.choice(["4Gi", "5123456Ki"] if heavy else ["1Gi", "123456789"])
            usage[name] = {"cpu": cpu, "memory": memory}
        usage.pop(self._base.dark)
        return usage

    def _pod_metrics(self) -> dict[str, PodMetrics]:
        found = {}
        for namespace, name in self._pods:
            if self._r.random() < 0.1:
                continue
            usage = {"cpu": self._r.choice(["1n", "50m", "100m", "350m"])}
            if self._r.random() < 0.97:
                usage["memory"] = self._r.choice(["1Mi", "200Mi", "1"])
            count = self._r.choice([1, 1, 2])
            found[f"{namespace}/{name}"] = PodMetrics(namespace, name, (usage,) * count)
        return found
