"""Required anti-affinity of many pods as groups of numbers: who keeps out of whose domain.

Each distinct term is a group. The kube-scheduler lets a pod onto a node unless a pod that one
of its own terms selects is in the node's domain, or a pod there has a term that selects it. A
node without the topology's label is in no domain: nobody is kept apart there.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from trimtab.model.pod_rules import AntiAffinityTerm
from trimtab.model.selectors import LabelSelector, selector_of

HOSTNAME = "kubernetes.io/hostname"
Places = NDArray[np.intp]
_Term = tuple[AntiAffinityTerm, tuple[str, ...]]
"""A term and the namespaces that it looks at."""


class PodRules(Protocol):
    """Of a pod, what anti-affinity reads."""

    @property
    def namespace(self) -> str: ...
    @property
    def labels(self) -> Mapping[str, str]: ...
    @property
    def anti_affinity(self) -> tuple[AntiAffinityTerm, ...]: ...


class Groups(Struct, frozen=True, eq=False):
    """Anti-affinity: in no domain of a group may a holder meet another VM that it repels.

    A group of VMs that keep apart from each other has every VM as holder and as repelled.

    domain: (groups, nodes) the node's domain in the group's topology, -1 without that label.
    holders, repelled: for each VM the groups that it is in, mostly none.
    """

    domain: Places
    holders: Mapping[int, tuple[int, ...]] = {}
    repelled: Mapping[int, tuple[int, ...]] = {}


def groups_of(pods: Sequence[PodRules], node_labels: Sequence[Mapping[str, str]]) -> Groups | None:
    """The groups of the pods by their number; None if none of them keeps apart from any.

    A pod that names itself alone, host by host, is in no group: its next pod goes to another
    host anyway. KubeVirt gives such a term to every VM that has ever migrated.
    """
    terms: dict[bytes, tuple[_Term, list[int]]] = {}
    for at, pod in enumerate(pods):
        for term in pod.anti_affinity:
            if term.label_selector is not None:
                where = term.namespaces or (pod.namespace,)
                key = msgspec.json.encode((term, where), order="deterministic")
                terms.setdefault(key, ((term, where), []))[1].append(at)
    if not terms:
        return None
    domain: list[Places] = []
    holders: dict[int, tuple[int, ...]] = {}
    repelled: dict[int, tuple[int, ...]] = {}
    alike = _alike(pods)
    for (term, namespaces), holding in terms.values():
        assert term.label_selector is not None
        selector = selector_of(term.label_selector, "anti-affinity")
        selected = _selected(selector, namespaces, alike)
        if selected == holding and len(holding) == 1 and term.topology_key == HOSTNAME:
            continue
        for at in dict.fromkeys(holding):
            holders[at] = (*holders.get(at, ()), len(domain))
        for at in selected:
            repelled[at] = (*repelled.get(at, ()), len(domain))
        domain.append(_domains(term.topology_key, node_labels))
    return Groups(np.stack(domain), holders, repelled) if domain else None


_Alike = list[tuple[str, Mapping[str, str], list[int]]]


def _alike(pods: Sequence[PodRules]) -> _Alike:
    """Pods by namespace and labels: a selector is tried once for all that share both."""
    found: dict[tuple[str, tuple[tuple[str, str], ...]], list[int]] = {}
    for at, pod in enumerate(pods):
        found.setdefault((pod.namespace, tuple(sorted(pod.labels.items()))), []).append(at)
    return [(namespace, dict(labels), numbers) for (namespace, labels), numbers in found.items()]


def _selected(selector: LabelSelector, namespaces: tuple[str, ...], alike: _Alike) -> list[int]:
    return [
        at
        for namespace, labels, numbers in alike
        if namespace in namespaces and selector.matches(labels)
        for at in numbers
    ]


def _domains(key: str, node_labels: Sequence[Mapping[str, str]]) -> Places:
    values: dict[str, int] = {}
    return np.array(
        [
            values.setdefault(labels[key], len(values)) if key in labels else -1
            for labels in node_labels
        ],
        dtype=np.intp,
    )
