"""The endpoints: each decodes, asks, encodes. Errors become problems in `guarded`."""

import asyncio
from collections.abc import Callable
from typing import Any, Literal, Protocol

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from trimtab.exporter.http.api import (
    Feedback,
    FeedbackResult,
    Health,
    Loaded,
    Moved,
    Refreshed,
    Scene,
)
from trimtab.exporter.http.body import decode, read_body, read_scenario
from trimtab.exporter.http.problems import Endpoint, Problem, Refused, answer, guarded
from trimtab.exporter.http.token import TokenCheck
from trimtab.exporter.nodes.exposition import CONTENT_TYPE
from trimtab.exporter.nodes.ledger import NodeLedger
from trimtab.exporter.nodes.page import MetricsPage
from trimtab.exporter.scenario.backends import WriteBackend
from trimtab.exporter.scenario.scenario_view import nodes_with_vms
from trimtab.kube.resources import Key
from trimtab.kube.scenario.objects import first_vms


class PodSource(Protocol):
    """Where pods come from: a cluster, or a scenario in memory."""

    ledger: NodeLedger
    namespace: str

    @property
    def source(self) -> Literal["pods", "scenario"]: ...
    def refresh(self) -> None: ...
    def unplaced(self) -> list[str]: ...
    def is_of_scenario(self, vm: Key) -> bool: ...


class Exporter:
    """What the endpoints act on; `ready` and `stale` are the service's to tell."""

    def __init__(
        self, source: PodSource, page: MetricsPage, backend: WriteBackend, access: TokenCheck
    ) -> None:
        self._source, self._page, self._backend, self._access = source, page, backend, access
        self.ready: Callable[[], bool] = lambda: True
        self.stale: Callable[[], bool] = lambda: False

    def _check_ready(self) -> None:
        if not self.ready():
            detail = "pods, VMs and nodes are still being read; see /readyz"
            raise Refused(503, "Not ready yet", detail)

    def _check_writing(self, request: Request) -> None:
        self._access.check(request)
        self._check_ready()

    async def metrics(self, _: Request) -> Response:
        self._check_ready()
        return Response(self._page.text(), media_type=CONTENT_TYPE)

    async def health(self, _: Request) -> Response:
        status: Literal["healthy", "starting", "stale"] = "healthy"
        if not self.ready() or self.stale():
            status = "stale" if self.ready() else "starting"
        health = Health(
            status=status,
            nodes=len(self._source.ledger.measurable()),
            pod_manager_enabled=self._source.source == "pods",
            source=self._source.source,
        )
        return _json(health, 200 if status == "healthy" else 503)

    async def refresh(self, request: Request) -> Response:
        self._check_writing(request)
        self._source.refresh()
        done, failed = self._source.ledger.measurable(), self._source.ledger.left_out()
        status: Literal["success", "partial"] = "partial" if failed else "success"
        return _json(Refreshed(status, done, failed, len(done) + len(failed)))

    async def feedback(self, request: Request) -> Response:
        self._check_writing(request)
        wishes = decode(await read_body(request), Feedback).migrations
        moved = await self._backend.migrate(wishes)
        return _json(FeedbackResult(_verdict(moved), moved))

    async def show_scenario(self, _: Request) -> Response:
        self._check_ready()
        return _json(self._scene())

    async def load_scenario(self, request: Request) -> Response:
        self._check_writing(request)
        body, name = await read_body(request), request.query_params.get("name")
        posted = await asyncio.to_thread(read_scenario, body, name)
        warnings = await self._backend.load(posted.scenario, by_hand=posted.by_hand)
        scene, ours = self._scene(), {vm.name for vm in first_vms(posted.scenario)}
        placed = {vm.id for node in scene.nodes for vm in node.vms}
        # KubeVirt may not even have made an instance of it yet; one made by hand may be stopped
        left = sorted(ours - placed - (posted.by_hand - set(scene.unplaced)))
        status: Literal["success", "partial"] = "partial" if left else "success"
        return _json(Loaded(status, scene.nodes, left, [*posted.notes, *warnings]))

    def _scene(self) -> Scene:
        source = self._source
        nodes = nodes_with_vms(
            source.ledger, self._page.curve_time(), source.namespace, source.is_of_scenario
        )
        return Scene(nodes, source.unplaced())


def _verdict(moved: list[Moved]) -> Literal["success", "partial", "failed"]:
    failures = sum(bool(each.error) for each in moved)
    if not failures:
        return "success"
    return "failed" if failures == len(moved) else "partial"


def _json(value: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")


def routes(exporter: Exporter) -> list[BaseRoute]:
    endpoints: list[tuple[str, str, Endpoint]] = [
        ("/metrics", "GET", exporter.metrics),
        ("/health", "GET", exporter.health),
        ("/refresh", "POST", exporter.refresh),
        ("/feedback", "POST", exporter.feedback),
        ("/scenario", "GET", exporter.show_scenario),
        ("/scenario", "POST", exporter.load_scenario),
    ]
    return [
        Route(path, guarded(path, endpoint), methods=[method])
        for path, method, endpoint in endpoints
    ]


def elsewhere(known: list[BaseRoute]) -> Route:
    """The last route: a path that there is not, or not with that method."""
    methods: dict[str, set[str]] = {}
    for route in known:
        if isinstance(route, Route):
            methods.setdefault(route.path, set()).update(route.methods or ())

    async def missing(request: Request) -> Response:
        path = request.url.path
        if path in methods:
            allowed = ", ".join(sorted(methods[path]))
            detail = f"{path} takes {allowed}"
            return answer(Problem("Not with this method", 405, detail), {"Allow": allowed})
        paths = ", ".join(sorted(methods))
        return answer(Problem("Not found", 404, f"there is no {path}; there are {paths}"))

    verbs = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]
    return Route("/{path:path}", missing, methods=verbs)
