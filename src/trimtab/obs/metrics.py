"""The registry of a service's own metrics; served at its /metrics.

One registry per process, without the default collectors of Python's runtime: what we
export, we chose. Names start with `trimtab_`.
"""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

REGISTRY = CollectorRegistry()


def counter(name: str, text: str, *labels: str) -> Counter:
    return Counter(name, text, labels, registry=REGISTRY)


def gauge(name: str, text: str, *labels: str) -> Gauge:
    return Gauge(name, text, labels, registry=REGISTRY)


def histogram(name: str, text: str, *labels: str, buckets: tuple[float, ...]) -> Histogram:
    return Histogram(name, text, labels, registry=REGISTRY, buckets=buckets)


def exposition() -> bytes:
    """The registry in Prometheus' text format."""
    return generate_latest(REGISTRY)
