"""How a page is run: by a person until Ctrl-C, or as a service.

As a service, as a lab runs it, it is read-only, under an account of its own. It is ready at once
and asks the cluster nothing until somebody opens the page.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

from trimtab.errors import ConfigError, NotReady
from trimtab.kube.client import Client
from trimtab.kube.http.web import Web
from trimtab.kube.runtime.service import Service
from trimtab.observe.policy_source import PLACES, Source, read_config_map
from trimtab.prom.client import Prometheus
from trimtab.web.access import Gate, TokenHolders, Viewers, kept_token
from trimtab.web.changes import PolicyMap
from trimtab.web.feed.sources import ClusterSource, FeedSource
from trimtab.web.server import Page
from trimtab.web.settings import NAME, PageSettings
from trimtab.web.sign_in import SignedIn

FIRST_PORT, PORTS_TRIED = 8080, 100


def free_port(host: str) -> int:
    """8080, or the next port on which nobody listens."""
    for port in range(FIRST_PORT, FIRST_PORT + PORTS_TRIED):
        try:
            with socket.create_server((host, port)):
                return port
        except OSError:
            continue
    raise ConfigError(f"no free port from {FIRST_PORT} up; give one with --port")


def hosts_of(host: str, port: int) -> list[str]:
    """The values of Host under which the page is served."""
    names = ["127.0.0.1", "localhost", "[::1]"]
    if host not in ("127.0.0.1", "0.0.0.0", "::1", "::", "localhost"):
        names.append(f"[{host}]" if ":" in host else host)
    return [f"{name}:{port}" for name in names]


async def serve_page(
    source: FeedSource,
    viewers: Viewers,
    *,
    host: str,
    port: int | None,
    names: tuple[str, ...],
    keep: Path | None,
    changes: bool,
    policy_map: PolicyMap | None,
    beside: FeedSource | None,
    ready: Callable[[str], None],
) -> None:
    """Serve until cancelled; `ready` hears the address. `names` are further hosts to answer to."""
    web = Web(host=host, port=free_port(host) if port is None else port)
    hosts = [*hosts_of(host, web.port), *(f"{name}:{web.port}" for name in names)]
    gate = Gate(viewers, hosts, web.port, changes=changes)
    page = Page(source, gate, keep, policy_map, beside)
    web.routes.extend(page.routes())
    ready(f"http://{hosts[0] if host.startswith(('127.', '0.')) else hosts[-1]}/")
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(web.run())
        tasks.create_task(page.follow())
        tasks.create_task(page.follow_beside())


async def serve(client: Client, settings: PageSettings) -> None:
    """Run the page until SIGTERM."""
    async with AsyncExitStack() as stack:
        prometheus = None
        if settings.prometheus:
            prometheus = await stack.enter_async_context(Prometheus(settings.prometheus))
        source = ClusterSource(
            settings.title,
            client,
            prometheus,
            policy_reader(client, settings.policy),
            in_background=True if settings.background else None,
            every_s=settings.every_s,
        )
        web = Web(host=settings.host, port=settings.port)
        hosts = [*hosts_of(settings.host, web.port), *settings.names]
        gate = Gate(_viewers(client, settings), hosts, web.port, changes=settings.allow_changes)
        page = Page(source, gate)
        web.routes.extend(page.routes())
        await Service(NAME, jobs=[page.follow], web=web).run()


def _viewers(client: Client, settings: PageSettings) -> Viewers:
    if settings.sign_in:
        return SignedIn(client)
    if settings.token_file is None:
        raise ConfigError("give --token-file, or --sign-in: somebody must be allowed to look")
    if settings.allow_changes:
        raise ConfigError("--allow-changes needs --sign-in: viewers act with their own rights")
    return TokenHolders(kept_token(settings.token_file))


def policy_reader(client: Client, file: Path | None) -> Callable[[], Awaitable[Source]]:
    """Reads the policy anew for each look: a lab may switch to another score."""

    async def read() -> Source:
        if file is None:
            return await read_config_map(client)
        try:
            text = await asyncio.to_thread(file.read_text)
        except OSError as error:
            raise NotReady(f"{file}: cannot be read: {error.strerror}") from error
        # a descheduler that runs as a workload is looked for where its policy lives
        return Source(text, str(file), PLACES[0][0])

    return read
