"""A snapshot that can be shown to others: no name of the cluster in it, and the same decisions.

Every list keeps its order, every number, time and quantity stays, and a word that was equal to
another still is. Resource names, kinds of owners and versions are kept; annotations without a
rule, labels of samples besides `instance`, and comments of the policy are not.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from trimtab.kube.resources import Key
from trimtab.model import snapshot as model
from trimtab.model.nodes_and_vms import Taint
from trimtab.model.snapshot import Snapshot, SnapshotNode, SnapshotPod
from trimtab.observe.anonymise_policy import anonymise_policy, anonymise_query, words_of
from trimtab.observe.pseudonyms import Pseudonyms
from trimtab.truth.explain.outcome_texts import EVACUATING, EVICTION_ANSWER

EVICTION_WEBHOOKS = frozenset(("trimtab-eviction", "virt-api-validator"))
"""Configurations that everybody has who installs trimtab's webhook or KubeVirt."""
_ADDRESS = re.compile(r"\w+://[^\s\"']+")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMERIC = ("Gt", "Lt")


def anonymise(snapshot: Snapshot) -> Snapshot:
    """The snapshot in pseudonyms."""
    return anonymise_with(snapshot)[0]


def anonymise_with(
    snapshot: Snapshot, vms: Iterable[Key] = (), nodes: Iterable[str] = ()
) -> tuple[Snapshot, Pseudonyms]:
    """The snapshot in pseudonyms, and the pseudonyms; also of names that are not in it."""
    names = _pseudonyms(snapshot, list(vms), nodes)
    return _Anonymiser(names).snapshot(snapshot), names


def _pseudonyms(
    snapshot: Snapshot, vms: Sequence[Key] = (), nodes: Iterable[str] = ()
) -> Pseudonyms:
    words = set(_all_words(snapshot))
    # Where numbers are compared they must stay numbers.
    names = Pseudonyms(w for w in words if _compares(snapshot) and _INTEGER.fullmatch(w))
    names.add("node", (node.name for node in snapshot.nodes))
    names.add("node", nodes)
    names.add("node", (_instance(s) for s in _samples(snapshot)))
    names.add("namespace", (n.name for n in snapshot.namespaces))
    names.add("namespace", (pod.namespace for pod in snapshot.pods))
    names.add("pod", (pod.name for pod in snapshot.pods))
    names.add("namespace", (vm.namespace for vm in vms))
    names.add("vm", (vm.name for vm in snapshot.vms))
    names.add("vm", (vm.name for vm in vms))
    names.add("uid", (pod.uid for pod in snapshot.pods))
    names.add("claim", (claim.name for claim in snapshot.claims))
    names.add("class", snapshot.priority_classes)
    names.add("class", (claim.storage_class for claim in snapshot.claims))
    names.add("label", (key for key in _label_keys(snapshot)))
    names.add("word", words)
    return names


def _compares(snapshot: Snapshot) -> bool:
    """Some expression or toleration compares numbers."""
    terms = (term for pod in snapshot.pods for term in pod.node_affinity or ())
    expressions = (e for term in terms for e in (*term.match_expressions, *term.match_fields))
    tolerations = (t for pod in snapshot.pods for t in pod.tolerations)
    return (
        any(e.operator in _NUMERIC for e in expressions)
        or any(t.operator in _NUMERIC for t in tolerations)
        or bool(re.search(r"[<>]", snapshot.policy))
    )


def _samples(snapshot: Snapshot) -> tuple[model.Sample, ...]:
    return snapshot.query.samples if snapshot.query else ()


def _instance(sample: model.Sample) -> str:
    return sample.labels.get("instance", "")


def _label_keys(snapshot: Snapshot) -> Iterator[str]:
    for labels in (
        *(node.labels for node in snapshot.nodes),
        *(pod.labels for pod in snapshot.pods),
        *(namespace.labels for namespace in snapshot.namespaces),
    ):
        yield from labels
    for node in snapshot.nodes:
        yield from (taint.key for taint in node.taints)


def _all_words(snapshot: Snapshot) -> set[str]:
    """Every word that is asked for, found by going through the motions once."""
    found: dict[str, str] = {}
    _Anonymiser(lambda word: found.setdefault(word, word)).snapshot(replace(snapshot, policy=""))
    return found.keys() | words_of(snapshot.policy)


class _Anonymiser:
    def __init__(self, name: Any) -> None:
        self._name = name

    def snapshot(self, given: Snapshot) -> Snapshot:
        name = self._name
        policy = anonymise_policy(given.policy, name) if given.policy else ""
        return replace(
            given,
            policy=policy,
            query=self._query(given.query),
            nodes=tuple(map(self._node, given.nodes)),
            pods=tuple(map(self._pod, given.pods)),
            namespaces=tuple(
                model.SnapshotNamespace(name(n.name), self._labels(n.labels))
                for n in given.namespaces
            ),
            claims=tuple(
                model.Claim(name(c.namespace), name(c.name), name(c.storage_class))
                for c in given.claims
            ),
            priority_classes={name(n): value for n, value in given.priority_classes.items()},
            node_metrics=tuple(replace(m, name=name(m.name)) for m in given.node_metrics),
            pod_metrics=tuple(
                replace(m, namespace=name(m.namespace), name=name(m.name))
                for m in given.pod_metrics
            ),
            in_flight=tuple(
                replace(e, pod_uid=name(e.pod_uid), node=name(e.node), namespace=name(e.namespace))
                for e in given.in_flight
            ),
            vms=tuple(map(self._vm, given.vms)),
            kubevirt=self._kubevirt(given.kubevirt),
        )

    def _kubevirt(self, given: model.SnapshotKubeVirt | None) -> model.SnapshotKubeVirt | None:
        """Limits and settings stay, and so do the names of KubeVirt's webhook and ours."""
        if given is None:
            return None
        name = self._name
        return replace(
            given,
            migrations=tuple(
                replace(m, namespace=name(m.namespace), vm=name(m.vm), source=name(m.source))
                for m in given.migrations
            ),
            policies=tuple(replace(p, name=name(p.name)) for p in given.policies),
            eviction_webhooks=tuple(
                w if w in EVICTION_WEBHOOKS else name(w) for w in given.eviction_webhooks
            ),
        )

    def _vm(self, vm: model.SnapshotVm) -> model.SnapshotVm:
        """Demands stay; of a reason only our own words, for KubeVirt's may name disks."""
        return replace(
            vm,
            namespace=self._name(vm.namespace),
            name=self._name(vm.name),
            pod_uid=self._name(vm.pod_uid),
            not_movable=vm.not_movable.partition(":")[0],
            moving_to=self._name(vm.moving_to) if vm.moving_to else "",
            target_pod_uid=self._name(vm.target_pod_uid) if vm.target_pod_uid else "",
            next_pod=self._next_pod(vm.next_pod),
            migration_policy=self._name(vm.migration_policy) if vm.migration_policy else "",
        )

    def _next_pod(self, pod: model.NextPod | None) -> model.NextPod | None:
        if pod is None:
            return None
        affinity = pod.node_affinity
        return model.NextPod(
            self._labels(pod.node_selector),
            None if affinity is None else tuple(map(self._node_term, affinity)),
        )

    def _query(self, query: model.QueryResult | None) -> model.QueryResult | None:
        if query is None:
            return None
        return replace(
            query,
            query=anonymise_query(query.query, self._name),
            samples=tuple(map(self._sample, query.samples)),
            error=_ADDRESS.sub("…", query.error),
        )

    def _sample(self, sample: model.Sample) -> model.Sample:
        """`instance` and the metric's name; a sample without an instance stays without."""
        kept = {k: v for k, v in sample.labels.items() if k == "__name__"}
        if "instance" in sample.labels:
            kept["instance"] = self._name(sample.labels["instance"])
        return model.Sample(kept, sample.value)

    def _node(self, node: SnapshotNode) -> SnapshotNode:
        return replace(
            node,
            name=self._name(node.name),
            labels=self._labels(node.labels),
            taints=tuple(
                Taint(self._name(t.key), self._name(t.value), t.effect) for t in node.taints
            ),
        )

    def _pod(self, pod: SnapshotPod) -> SnapshotPod:
        name = self._name
        affinity = pod.node_affinity
        return replace(
            pod,
            namespace=name(pod.namespace),
            name=name(pod.name),
            uid=name(pod.uid),
            node=name(pod.node),
            labels=self._labels(pod.labels),
            annotations=self._annotations(pod.annotations),
            owners=tuple(model.Owner(o.kind, name(o.uid)) for o in pod.owners),
            volumes=tuple(replace(v, claim=name(v.claim)) for v in pod.volumes),
            tolerations=tuple(
                replace(t, key=name(t.key), value=name(t.value)) for t in pod.tolerations
            ),
            node_selector=self._labels(pod.node_selector),
            node_affinity=None if affinity is None else tuple(map(self._node_term, affinity)),
            anti_affinity=tuple(map(self._pod_term, pod.anti_affinity)),
        )

    def _labels(self, labels: Mapping[str, str]) -> dict[str, str]:
        return {self._name(key): self._name(value) for key, value in labels.items()}

    def _annotations(self, annotations: Mapping[str, str]) -> dict[str, str]:
        """Of most only the presence counts; where a value does, it names no one."""
        kept = {}
        for key, value in annotations.items():
            if key == EVACUATING:
                kept[key] = self._name(value)
            elif key in (model.CONFIG_SOURCE, model.MIGRATIONS, EVICTION_ANSWER):
                kept[key] = value
            elif key in model.ANNOTATIONS:
                kept[key] = ""
        return kept

    def _node_term(self, term: model.NodeTerm) -> model.NodeTerm:
        return model.NodeTerm(
            self._expressions(term.match_expressions), self._expressions(term.match_fields)
        )

    def _pod_term(self, term: model.AntiAffinityTerm) -> model.AntiAffinityTerm:
        match = term.label_selector
        if match is not None:
            match = model.Match(
                self._labels(match.match_labels), self._expressions(match.match_expressions)
            )
        return model.AntiAffinityTerm(
            self._name(term.topology_key), match, tuple(map(self._name, term.namespaces))
        )

    def _expressions(self, given: Iterable[model.Expression]) -> tuple[model.Expression, ...]:
        return tuple(
            model.Expression(self._name(e.key), e.operator, tuple(map(self._name, e.values)))
            for e in given
        )
