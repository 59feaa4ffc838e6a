"""Everything that the real descheduler talks to besides the API server, under full control.

A Prometheus with one answer, a metrics API with the usage of nodes and pods, and an eviction
webhook that allows, refuses, or takes evictions into the background as KubeVirt does. While
the cluster is being changed the gate is closed: Prometheus fails and evictions are refused,
so a cycle at the wrong moment does no harm.
"""

import math
import time
from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from trimtab.model.quantity import NANO, parse_quantity
from trimtab.model.snapshot import NodeMetrics, PodMetrics, QueryResult
from trimtab.policy.choices import Answer

CLOSED = "the gate is closed"
_MILLI = NANO // 1000
_METRICS = "/apis/metrics.k8s.io/v1beta1"


class Reply(Enum):
    """What the webhook says to an eviction."""

    ALLOW = "allow"
    EVACUATE = "evacuate"
    """429 with the text that means: in background."""
    BUDGET = "budget"
    """429 with any other text."""
    FORBID = "forbid"
    """403, although with the text of an evacuation."""

    @property
    def means(self) -> Answer:
        if self is Reply.ALLOW:
            return Answer.EVICTED
        return Answer.BACKGROUND if self is Reply.EVACUATE else Answer.REFUSED


_DENIALS = {
    Reply.EVACUATE: (429, 'Eviction triggered evacuation of VMI "a/b"'),
    Reply.BUDGET: (429, "Cannot evict pod as it would violate the pod's disruption budget."),
    Reply.FORBID: (403, "Eviction triggered evacuation of VMI"),
}


class Average:
    """One number of a node as the descheduler keeps it: nine parts of old, one of new.

    The first answer is kept exactly, later ones in whole milli-cores or bytes.
    """

    def __init__(self, nano: int, unit: int) -> None:
        self.nano, self._unit = nano, unit

    def add(self, nano: int) -> None:
        old, new = (-(-each // self._unit) for each in (self.nano, nano))
        self.nano = self._unit * _round(0.9 * float(old) + (1 - 0.9) * float(new))


def _round(value: float) -> int:
    """Go's: halves away from zero."""
    return math.floor(value + 0.5)


def klog_time(when: float) -> str:
    """As the descheduler's log writes it; such texts can be compared."""
    return datetime.fromtimestamp(when).strftime("%m%d %H:%M:%S.%f")


class Stubs:
    """The answers of the moment, and what was asked."""

    def __init__(self) -> None:
        self.open = False
        self.query: QueryResult | None = None
        self.replies: Mapping[str, Reply] = {}
        self.calls: list[tuple[str, Reply, str]] = []
        """Pods that were asked for, the answers, and when."""
        self.node_metrics: Mapping[str, Mapping[str, str]] = {}
        self.pod_metrics: Mapping[str, PodMetrics] = {}
        self.averages: dict[str, dict[str, Average]] = {}
        self.collected_at = 0.0

    def forget(self) -> None:
        """A new process begins with nothing collected."""
        self.averages, self.collected_at = {}, 0.0

    def collected(self) -> tuple[NodeMetrics, ...]:
        """The averages that the descheduler has by now, if it follows the rule."""
        return tuple(
            NodeMetrics(name, {r: f"{average.nano}n" for r, average in by_resource.items()})
            for name, by_resource in sorted(self.averages.items())
        )

    def routes_of_prometheus(self) -> list[Route]:
        return [Route("/api/v1/query", self._query, methods=["POST"])]

    def routes_with_tls(self) -> list[Route]:
        return [
            Route("/evict", self._evict, methods=["POST"]),
            Route(_METRICS, self._discover),
            Route(f"{_METRICS}/nodes/{{name}}", self._node),
            Route(f"{_METRICS}/namespaces/{{namespace}}/pods/{{name}}", self._pod),
        ]

    async def _query(self, request: Request) -> Response:
        answer = self.query
        if not self.open or answer is None:
            return _prometheus_error(503, "unavailable", CLOSED)
        if answer.error:
            return _prometheus_error(422, "execution", answer.error)
        data = {"resultType": answer.result_type, "result": _result(answer)}
        return JSONResponse({"status": "success", "data": data})

    async def _evict(self, request: Request) -> Response:
        review: dict[str, Any] = msgspec.json.decode(await request.body())
        asked = review["request"]
        pod = f"{asked['namespace']}/{asked['name']}"
        reply = self.replies.get(pod, Reply.ALLOW) if self.open else None
        if reply is not None:
            self.calls.append((pod, reply, klog_time(time.time())))
        response: dict[str, Any] = {"uid": asked["uid"], "allowed": reply is Reply.ALLOW}
        if reply is not Reply.ALLOW:
            code, text = (429, CLOSED) if reply is None else _DENIALS[reply]
            response["status"] = {"code": code, "message": text}
        return JSONResponse(
            {"apiVersion": review["apiVersion"], "kind": review["kind"]} | {"response": response}
        )

    async def _discover(self, _: Request) -> Response:
        resources = [
            {"name": name, "namespaced": namespaced, "kind": kind, "verbs": ["get", "list"]}
            for name, namespaced, kind in (
                ("nodes", False, "NodeMetrics"),
                ("pods", True, "PodMetrics"),
            )
        ]
        group = {"kind": "APIResourceList", "apiVersion": "v1"}
        return JSONResponse(
            group | {"groupVersion": "metrics.k8s.io/v1beta1", "resources": resources}
        )

    async def _node(self, request: Request) -> Response:
        name = request.path_params["name"]
        usage = self.node_metrics.get(name)
        self.collected_at = time.time()
        if usage is None:
            return _not_found("nodes", name)
        self._collect(name, usage)
        return JSONResponse(_metrics("NodeMetrics", {"name": name}) | {"usage": usage})

    def _collect(self, name: str, usage: Mapping[str, str]) -> None:
        known = self.averages.setdefault(name, {})
        for resource, unit in (("cpu", _MILLI), ("memory", NANO)):
            nano = parse_quantity(usage[resource]).nano
            if resource in known:
                known[resource].add(nano)
            else:
                known[resource] = Average(nano, unit)

    async def _pod(self, request: Request) -> Response:
        namespace, name = request.path_params["namespace"], request.path_params["name"]
        found = self.pod_metrics.get(f"{namespace}/{name}")
        if found is None:
            return _not_found("pods", name)
        containers = [{"name": f"c{at}", "usage": u} for at, u in enumerate(found.containers)]
        meta = {"name": name, "namespace": namespace}
        return JSONResponse(_metrics("PodMetrics", meta) | {"containers": containers})


def _result(answer: QueryResult) -> list[Any]:
    now = time.time()
    match answer.result_type:
        case "vector":
            return [{"metric": s.labels, "value": [now, s.value]} for s in answer.samples]
        case "scalar":
            return [now, "0.5"]
        case "string":
            return [now, "half"]
    return []


def _prometheus_error(code: int, kind: str, text: str) -> Response:
    return JSONResponse({"status": "error", "errorType": kind, "error": text}, status_code=code)


def _metrics(kind: str, metadata: Mapping[str, str]) -> dict[str, Any]:
    head = {"apiVersion": "metrics.k8s.io/v1beta1", "kind": kind, "metadata": dict(metadata)}
    return head | {"timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "window": "10s"}


def _not_found(resource: str, name: str) -> Response:
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "reason": "NotFound",
        "message": f'{resource}.metrics.k8s.io "{name}" not found',
        "details": {"name": name, "group": "metrics.k8s.io", "kind": resource},
        "code": 404,
    }
    return JSONResponse(status, status_code=404)
