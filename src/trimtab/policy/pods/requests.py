"""What a pod requests in all, and its QoS class where the API server did not say.

Requests are summed as Kubernetes 1.36 does for scheduling: init containers run one after
the other beside the sidecars started before them; requests at pod level replace the sum of
cpu, memory and huge pages; overhead comes on top.

Rule ids in parentheses are explained in docs/reference/policy.md.
"""

from collections.abc import Iterable, Mapping

from trimtab.model.quantity import parse_quantity
from trimtab.model.snapshot import SnapshotPod
from trimtab.policy.view import Qos

Nano = dict[str, int]


def amounts(quantities: Mapping[str, str], field: str) -> Nano:
    """Texts such as 500m or 4Gi in nano-units."""
    return {name: parse_quantity(text, f"{field}.{name}").nano for name, text in quantities.items()}


def requests_of(pod: SnapshotPod) -> Nano:
    """The pod's effective requests."""
    field = f"pod {pod.namespace}/{pod.name}"
    total: Nano = {}
    for container in pod.containers:
        _add(total, amounts(container.requests, field))
    starting, sidecars = Nano(), Nano()
    for container in pod.init_containers:
        wanted = amounts(container.requests, field)
        if container.restart_policy == "Always":
            _add(total, wanted)
            _add(sidecars, wanted)
            wanted = sidecars
        else:
            _add(wanted, sidecars)
        _raise_to(starting, wanted)
    _raise_to(total, starting)
    for name, amount in amounts(pod.pod_requests, field).items():
        if name in ("cpu", "memory") or name.startswith("hugepages-"):
            total[name] = amount
    _add(total, amounts(pod.overhead, field))
    return total


def requested_names(pod: SnapshotPod) -> frozenset[str]:
    """Resources named in any container's requests; those at pod level do not count (1.7)."""
    return frozenset(
        name for container in (*pod.containers, *pod.init_containers) for name in container.requests
    )


def qos_of(pod: SnapshotPod) -> Qos:
    """The class in the pod's status, else derived from cpu and memory of its containers (E5)."""
    stated = {"BestEffort": Qos.BEST_EFFORT, "Guaranteed": Qos.GUARANTEED}
    if pod.qos_class:
        return stated.get(pod.qos_class, Qos.BURSTABLE)
    containers = (*pod.containers, *pod.init_containers)
    requests = _positive(c.requests for c in containers)
    limits = _positive(c.limits for c in containers)
    if not requests and not limits:
        return Qos.BEST_EFFORT
    limited = all(set(_positive([c.limits])) == {"cpu", "memory"} for c in containers)
    return Qos.GUARANTEED if limited and requests == limits else Qos.BURSTABLE


def _positive(lists: Iterable[Mapping[str, str]]) -> Nano:
    """Sums of cpu and memory; zero counts as not given."""
    total: Nano = {}
    for quantities in lists:
        for name, amount in amounts(quantities, "resources").items():
            if name in ("cpu", "memory") and amount > 0:
                total[name] = total.get(name, 0) + amount
    return total


def _add(total: Nano, more: Nano) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _raise_to(total: Nano, least: Nano) -> None:
    for name, amount in least.items():
        total[name] = max(total.get(name, amount), amount)
