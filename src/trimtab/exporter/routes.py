"""The endpoints: each decodes, asks, encodes."""

from collections.abc import Callable
from typing import Any, Literal, Protocol

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from trimtab.exporter.api import Health, Refreshed
from trimtab.exporter.clock import Clock
from trimtab.exporter.exposition import CONTENT_TYPE
from trimtab.exporter.ledger import Ledger
from trimtab.exporter.page import Page
from trimtab.exporter.problems import Refused, guarded


class Source(Protocol):
    """Where pods come from: a cluster, or a scenario in memory."""

    ledger: Ledger
    clock: Clock

    @property
    def source(self) -> Literal["pods", "scenario"]: ...

    def refresh(self) -> None: ...


class Exporter:
    """What the endpoints act on; `ready` tells whether the stores are complete."""

    def __init__(self, source: Source, page: Page) -> None:
        self.source, self.page = source, page
        self.ready: Callable[[], bool] = lambda: True

    def check_ready(self) -> None:
        if not self.ready():
            raise Refused(
                503, "Not ready yet", "pods, VMs and nodes are still being read; see /readyz"
            )

    async def metrics(self, _: Request) -> Response:
        self.check_ready()
        return Response(self.page.text(), media_type=CONTENT_TYPE)

    async def health(self, _: Request) -> Response:
        ready = self.ready()
        health = Health(
            status="healthy" if ready else "starting",
            nodes=len(self.source.ledger.measurable()),
            pod_manager_enabled=self.source.source == "pods",
            source=self.source.source,
        )
        return json(health, 200 if ready else 503)

    async def refresh(self, _: Request) -> Response:
        self.check_ready()
        self.source.refresh()
        nodes = self.source.ledger.nodes
        known = sorted(name for name, book in nodes.items() if book.facts is not None)
        failed = [name for name in known if not nodes[name].measurable]
        refreshed = [name for name in known if nodes[name].measurable]
        return json(Refreshed("partial" if failed else "success", refreshed, failed, len(known)))


def json(value: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")


def routes(exporter: Exporter) -> list[Route]:
    endpoints = [
        ("/metrics", "GET", exporter.metrics),
        ("/health", "GET", exporter.health),
        ("/refresh", "POST", exporter.refresh),
    ]
    return [
        Route(path, guarded(path, endpoint), methods=[method])
        for path, method, endpoint in endpoints
    ]
