"""The themes: each is about a few rules, its numbers come from the seed."""

from collections.abc import Callable, Sequence
from random import Random

from conformance.descheduler.draws import measured
from conformance.descheduler.draws.policies import (
    FIT,
    LOCAL_STORAGE,
    Args,
    Theme,
    limit,
    loose,
    query,
)

_ALL_NORMAL = ("normal",) * 7
_MANY_NORMAL = ("normal",) * 10
"""For rules that only some pods meet."""
_DEFAULTS = [LOCAL_STORAGE, "SystemCriticalPods", "FailedBarePods", "DaemonSetPods"]


def _spans(r: Random) -> tuple[float, float]:
    return r.choice([(0, 10), (0, 10), (10, 10), (0, 20), (5, 5), (0, 0), (10, 28), (0, 29)])


def _default(r: Random) -> Theme:
    return Theme(
        name="default",
        mode="prometheus",
        args=query(0, 10, **limit(2)),
        evictor=loose(),
        top={"maxNoOfPodsToEvictTotal": 5, "maxNoOfPodsToEvictPerNode": 2},
    )


def _one_pod(r: Random) -> Theme:
    return Theme(
        name="one pod a node",
        steps=_MANY_NORMAL,
        mode="prometheus",
        args=query(*_spans(r)),
        evictor={"noEvictionPolicy": "Mandatory"},
        top={"maxNoOfPodsToEvictPerNode": 3} if r.random() < 0.5 else {},
    )


def _static(r: Random) -> Theme:
    pair = r.choice([(28, 58), (29, 45), (20, 50), (30.5, 57), (0, 28), (14, 29)])
    return Theme(
        name="static levels",
        mode="prometheus",
        args=query(*pair, deviation=False, **limit(r.choice([2, 3]))),
        evictor={"noEvictionPolicy": "Preferred"},
        top={"maxNoOfPodsToEvictPerNamespace": 1},
    )


def _node_fit(r: Random) -> Theme:
    return Theme(
        name="node fit",
        steps=_ALL_NORMAL,
        mode="prometheus",
        args=query(0, 10, **limit(r.choice([3, 4]))),
        evictor=loose(nodeFit=True, nodeSelector=FIT),
    )


def _no_gate(r: Random) -> Theme:
    return Theme(
        name="without the gate",
        steps=_MANY_NORMAL,
        mode="prometheus",
        args=query(*_spans(r), **limit(2)),
        top={"maxNoOfPodsToEvictTotal": r.choice([2, 3]), "maxNoOfPodsToEvictPerNode": 1},
        background=False,
    )


def _namespaces(r: Random) -> Theme:
    selector = r.choice(
        [
            {"matchLabels": {"team": "t"}},
            {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["u"]}]},
        ]
    )
    exclude: Args = {"evictableNamespaces": {"exclude": [r.choice("bc")]}}
    return Theme(
        name="namespaces",
        steps=_MANY_NORMAL,
        mode="prometheus",
        args=query(0, 10, **limit(3), **exclude),
        evictor={"namespaceLabelSelector": selector},
    )


def _conditions(r: Random) -> Theme:
    conditions = {
        "minReplicas": r.choice([2, 3]),
        "minPodAge": r.choice(["12h", "0s"]),
        "labelSelector": {"matchLabels": {"app": "x"}}
        if r.random() < 0.7
        else {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["y"]}]},
    }
    return Theme(
        name="conditions",
        steps=_MANY_NORMAL,
        mode="prometheus",
        args=query(0, 10, **limit(2)),
        evictor=loose(**conditions),
    )


def _protections(r: Random) -> Theme:
    protections = {
        "defaultDisabled": [LOCAL_STORAGE],
        "extraEnabled": ["PodsWithPVC", "PodsWithResourceClaims"],
        "config": {
            "PodsWithPVC": {"protectedStorageClasses": [{"name": r.choice(["fast", "slow"])}]}
        },
    }
    return Theme(
        name="protections",
        steps=_MANY_NORMAL,
        mode="prometheus",
        args=query(0, 10, **limit(3)),
        evictor={
            "podProtections": protections,
            "priorityThreshold": {"value": r.choice([1, 5, 1000])},
        },
        top={"maxNoOfPodsToEvictTotal": 4},
    )


def _unprotected(r: Random) -> Theme:
    protections = {"defaultDisabled": _DEFAULTS, "extraEnabled": ["PodsWithPVC"]}
    return Theme(
        name="unprotected",
        mode="prometheus",
        args=query(*_spans(r), **limit(3)),
        evictor={"podProtections": protections, "priorityThreshold": {"value": 6}},
        top={"maxNoOfPodsToEvictPerNode": 2, "maxNoOfPodsToEvictPerNamespace": 3},
    )


def _old_protections(r: Random) -> Theme:
    return Theme(
        name="old protections",
        steps=_ALL_NORMAL,
        mode="prometheus",
        args=query(0, 10),
        evictor={"ignorePodsWithoutPDB": True, "evictLocalStoragePods": True},
    )


def _tight(r: Random) -> Theme:
    return Theme(
        name="tight limits",
        steps=_ALL_NORMAL,
        mode="prometheus",
        args=query(0, 5, **limit(4)),
        evictor={"evictLocalStoragePods": True, "evictDaemonSetPods": True},
        top={
            "maxNoOfPodsToEvictTotal": r.choice([4, 6]),
            "maxNoOfPodsToEvictPerNode": 2,
            "maxNoOfPodsToEvictPerNamespace": r.choice([3, 4]),
        },
    )


def _number(r: Random) -> Theme:
    fit: Args = {"nodeFit": True, "nodeSelector": "a in"} if r.random() < 0.4 else {}
    return Theme(
        name="number of nodes",
        steps=("normal", "few under") * 5,
        mode="prometheus",
        args=query(0, 20, numberOfNodes=2, **limit(1)),
        evictor=loose(**fit),
        top={"maxNoOfPodsToEvictTotal": 0} if r.random() < 0.2 else {},
    )


def _ulps(r: Random) -> Theme:
    return Theme(
        name="last bits of the mean",
        steps=("golden",) * 8,
        mode="prometheus",
        args=query(0, 10, **limit(2)),
    )


def _edges(r: Random) -> Theme:
    return Theme(
        name="last bits at the edges",
        steps=("golden",) * 8,
        mode="prometheus",
        args=query(10, 10),
        evictor=loose(),
    )


def _no_room(r: Random) -> Theme:
    return Theme(
        name="no room",
        steps=("golden",) * 4,
        mode="prometheus",
        args=query(0, 0, **limit(2)),
        evictor=loose(),
    )


def _broken(r: Random) -> Theme:
    return Theme(
        name="broken samples",
        steps=("P2", "P3", "P4", "normal", "P7", "P8", "P9") * 4 + ("P2", "P3"),
        mode="prometheus",
        args=query(0, 10, **limit(2)),
        evictor=loose(),
    )


def _nothing(r: Random) -> Theme:
    return Theme(
        name="nothing to do",
        steps=("R4", "none under", "all under", "none over") * 4 + ("all under", "none over") * 3,
        mode="prometheus",
        args=query(10, r.choice([10, 20])),
        evictor=loose(),
    )


def _no_provider(r: Random) -> Theme:
    return Theme(
        name="no provider",
        steps=_ALL_NORMAL[1:],
        mode="prometheus",
        args=query(0, 10),
        provided=False,
    )


THEMES: Sequence[Callable[[Random], Theme]] = (
    _default,
    measured.requests,
    _one_pod,
    measured.high,
    _static,
    measured.metrics,
    _node_fit,
    _tight,
    measured.requests_around,
    _no_gate,
    measured.high_only,
    _namespaces,
    _conditions,
    measured.requests_pods,
    _protections,
    _ulps,
    measured.high_pods,
    _unprotected,
    _number,
    measured.metrics_around,
    _edges,
    _no_provider,
    _no_room,
    _broken,
    _nothing,
    _old_protections,
)
