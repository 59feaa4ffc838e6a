"""Themes without Prometheus: requests, the metrics server, and HighNodeUtilization."""

from random import Random

from conformance.descheduler.draws.policies import Args, Theme, levels, limit, loose


def requests(r: Random) -> Theme:
    return Theme(
        name="requests",
        mode="requests",
        args=levels({"cpu": r.choice([(20, 25), (25, 35), (15, 40)])}, **_extra(r)),
        evictor=loose(nodeFit=r.random() < 0.5),
        top={"maxNoOfPodsToEvictTotal": r.choice([3, 6])} if r.random() < 0.5 else {},
    )


def _extra(r: Random) -> Args:
    return limit(r.choice([1, 2])) if r.random() < 0.4 else {}


def requests_around(r: Random) -> Theme:
    pairs: dict[str, tuple[float, float]] = {"cpu": (0, 5), "memory": (r.choice([0, 5]), 10)}
    return Theme(
        name="requests around the mean",
        mode="requests",
        args=levels(pairs, useDeviationThresholds=True, numberOfNodes=1),
        evictor=loose(),
    )


def requests_pods(r: Random) -> Theme:
    pairs: dict[str, tuple[float, float]] = {"pods": (r.choice([30, 45]), r.choice([50, 60]))}
    pairs["example.com/gpu"] = pairs[r.choice(["MetricResource", "memory"])] = (50, 80)
    return Theme(
        name="requests of pods",
        mode="requests",
        args=levels(pairs),
        evictor=loose(),
        top={"maxNoOfPodsToEvictPerNode": 2} if r.random() < 0.5 else {},
    )


def high(r: Random) -> Theme:
    return Theme(
        name="high cpu",
        mode="high",
        args={"thresholds": {"cpu": r.choice([15, 20, 25])}, "numberOfNodes": 1},
        evictor=loose(nodeFit=r.random() < 0.3),
    )


def high_only(r: Random) -> Theme:
    thresholds = {r.choice(["memory", "memory", "cpu"]): r.choice([20, 25])}
    return Theme(
        name="high, only thresholding resources",
        steps=(*("normal",) * 8, "no destination", "no destination"),
        mode="high",
        args={"thresholds": thresholds, "evictionModes": ["OnlyThresholdingResources"]},
        evictor=loose(),
        top={"maxNoOfPodsToEvictTotal": 6},
    )


def high_pods(r: Random) -> Theme:
    return Theme(
        name="high pods",
        mode="high",
        args={
            "thresholds": {"pods": r.choice([40, 50]), "cpu": 60},
            "evictableNamespaces": {"exclude": ["c"]},
        },
        evictor=loose(),
        top={"maxNoOfPodsToEvictPerNode": 3},
    )


def metrics(r: Random) -> Theme:
    pairs: dict[str, tuple[float, float]] = {"cpu": (30, r.choice([45, 50]))}
    if r.random() < 0.5:
        pairs["memory"] = (40, 70)
    usage = {"metricsUtilization": {"source": "KubernetesMetrics"}}
    return Theme(name="metrics", mode="metrics", args=levels(pairs, **usage), evictor=loose())


def metrics_around(r: Random) -> Theme:
    pairs: dict[str, tuple[float, float]] = {"cpu": (0, 10), "pods": (0, 20)}
    usage = {"metricsUtilization": {"source": "KubernetesMetrics"}, "useDeviationThresholds": True}
    return Theme(
        name="metrics around the mean",
        mode="metrics",
        args=levels(pairs, **usage, **_extra(r)),
        evictor=loose(),
        top={"maxNoOfPodsToEvictPerNode": 3},
    )
