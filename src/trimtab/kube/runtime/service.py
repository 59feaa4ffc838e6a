"""A service from start to end: stores first, then controllers, under a lease if there is one.

It ends on SIGTERM or SIGINT: turns under way are finished, the lease is given back, the last
Events are written. If any part fails, the service ends with an error: the lab or the
Deployment starts it again, and everything is rebuilt from the API.
"""

import asyncio
import signal
import socket
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any
from uuid import uuid4

import uvloop
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from trimtab.errors import TrimtabError
from trimtab.kube.events import EventRecorder
from trimtab.kube.http.web import Web
from trimtab.kube.runtime.controller import Controller
from trimtab.kube.runtime.lease import Elector
from trimtab.kube.runtime.reflector import Reflector
from trimtab.obs import get_logger
from trimtab.obs.metrics import exposition

log = get_logger()
Job = Callable[[], Awaitable[None]]


def unique_identity() -> str:
    """What a process calls itself in a lease."""
    return f"{socket.gethostname()}_{uuid4()}"


class Service:
    """Everything that one process runs.

    Once stores are synced, `prepare` runs to its end, and only then the service is ready;
    `jobs` then run on every replica, controllers only on the one that leads.
    """

    def __init__(
        self,
        name: str,
        *,
        reflectors: Sequence[Reflector[Any]] = (),
        controllers: Sequence[Controller] = (),
        jobs: Sequence[Job] = (),
        prepare: Job | None = None,
        elector: Elector | None = None,
        recorder: EventRecorder | None = None,
        web: Web | None = None,
        grace_s: float = 5.0,
    ) -> None:
        self.name = name
        self.ready = asyncio.Event()
        self._reflectors = reflectors
        self._controllers = controllers
        self._jobs = jobs
        self._prepare = prepare
        self._elector = elector
        self._recorder = recorder
        self._web = web
        self._grace_s = grace_s
        self._stopping = asyncio.Event()
        if web is not None:
            web.routes += health_routes(self)

    def stop(self) -> None:
        self._stopping.set()

    async def run(self) -> None:
        """Serve until stopped; raises what a part failed with."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)
        try:
            await self._run_parts()
        except BaseExceptionGroup as group:
            raise reason(group) from group
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)
        log.info("service stopped", service=self.name)

    async def _run_parts(self) -> None:
        parts: list[Job] = [reflector.run for reflector in self._reflectors]
        parts += [part.run for part in (self._recorder, self._web) if part is not None]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_run(part)) for part in [*parts, self._act]]
            await self._stopping.wait()
            log.info("service stopping", service=self.name)
            await asyncio.gather(*(each.drain(self._grace_s) for each in self._controllers))
            tasks[-1].cancel()  # first who acts, then whom it acts through
            await asyncio.wait(tasks[-1:])
            for task in tasks:
                task.cancel()

    async def _act(self) -> None:
        for reflector in self._reflectors:
            await reflector.synced.wait()
        if self._prepare is not None:
            await self._prepare()
        self.ready.set()
        log.info("service ready", service=self.name)
        async with asyncio.TaskGroup() as group:
            for job in self._jobs:
                group.create_task(_run(job))
            if self._elector is None:
                group.create_task(self._control())
            else:
                group.create_task(self._elector.run(self._control))

    async def _control(self) -> None:
        async with asyncio.TaskGroup() as group:
            for controller in self._controllers:
                group.create_task(controller.run())

    def report(self) -> dict[str, Any]:
        """What /healthz says."""
        stores = {
            each.name: {
                "objects": len(each.store),
                "synced": each.synced.is_set(),
                "silent_s": round(each.age_s(), 1),
                "trouble": str(each.trouble) if each.trouble else None,
            }
            for each in self._reflectors
        }
        stale = [each.name for each in self._reflectors if each.stale]
        return {
            "status": "stale" if stale else "ok",
            "stale": stale,
            "leading": self._elector.leading if self._elector else None,
            "stores": stores,
        }


def health_routes(service: Service) -> list[Route]:
    """/healthz tells of staleness, /readyz whether the stores were ever complete, /metrics."""

    async def healthz(_: Request) -> Response:
        report = service.report()
        return JSONResponse(report, 200 if report["status"] == "ok" else 503)

    async def readyz(_: Request) -> Response:
        ready = service.ready.is_set()
        return JSONResponse({"ready": ready, **service.report()}, 200 if ready else 503)

    async def metrics(_: Request) -> Response:
        return Response(exposition(), media_type="text/plain; version=0.0.4")

    endpoints = {"/healthz": healthz, "/readyz": readyz, "/metrics": metrics}
    return [Route(path, endpoint) for path, endpoint in endpoints.items()]


def reason(failed: BaseException) -> BaseException:
    """The error to show of a group of groups: the first of ours if there is one."""
    if isinstance(failed, BaseExceptionGroup):
        return reason((failed.subgroup(TrimtabError) or failed).exceptions[0])
    return failed


async def _run(job: Job) -> None:
    await job()


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run a service's coroutine to its end, on the faster event loop."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main)
