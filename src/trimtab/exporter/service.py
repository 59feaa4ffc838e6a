"""The exporter as a process: in a cluster, or, if there is none, on a scenario in memory."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

from trimtab.errors import ConfigError, Unavailable
from trimtab.exporter.http.routes import Exporter, elsewhere, routes
from trimtab.exporter.http.token import TokenCheck
from trimtab.exporter.nodes.cluster import ClusterFollower
from trimtab.exporter.nodes.page import MetricsPage
from trimtab.exporter.scenario.backends import ReadOnly, WriteBackend
from trimtab.exporter.scenario.feedback import Mover
from trimtab.exporter.scenario.in_memory import InMemoryCluster
from trimtab.exporter.scenario.loading import Loader
from trimtab.exporter.settings import NAME, ExporterSettings
from trimtab.kube.client import Client
from trimtab.kube.errors import ApiError
from trimtab.kube.http.web import Web
from trimtab.kube.runtime.reflector import Reflector
from trimtab.kube.runtime.service import Job, Service, reason
from trimtab.kube.worlds import World, world_of
from trimtab.model.scenarios.io import load_scenario
from trimtab.model.scenarios.scenario import Scenario
from trimtab.obs import get_logger

# What the exporter writes into a cluster: VirtualMachines and migrations, nothing else.
#
# The vm-controller or KubeVirt, and the scheduler, do the rest, and have the last word on where a
# VM goes.
LIMITS_S: dict[World, float] = {"trimtab": 30.0, "kubevirt": 120.0}
"""How long an answer is kept back for VMs to be placed; KubeVirt has delays of its own."""


class Writer:
    """The back end of an exporter with --allow-scenario."""

    def __init__(self, client: Client, cluster: ClusterFollower) -> None:
        limit_s = LIMITS_S[cluster.world]
        self.load = Loader(client, cluster, limit_s).load
        self.migrate = Mover(client, cluster, limit_s).migrate


log = get_logger()
PATIENCE_S = 5.0
"""How long the API server may take to answer before the exporter does without it."""


async def serve(client: Client | None, settings: ExporterSettings) -> None:
    """Run the exporter until SIGTERM; without a client, or if it gets no answer, in memory."""
    access = TokenCheck(settings.token_file)
    scenario = load_scenario(settings.scenario) if settings.scenario is not None else None
    why = "no kubeconfig is given" if client is None else ""
    if client is not None and scenario is not None:
        why = await trouble(client)
    if client is None or why:
        if scenario is None:
            raise ConfigError(f"{why}; pass --kubeconfig, or --scenario to do without Kubernetes")
        await serve_memory(scenario, settings, access, why)
    else:
        await serve_cluster(client, scenario, settings, access)


async def trouble(client: Client) -> str:
    """Why the API server cannot be used; empty if it can."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            await client.request("GET", "/version")
    except TimeoutError:
        return f"{client.server} does not answer within {PATIENCE_S:g} s"
    except ApiError as error:
        return f"{client.server}: {error.message}"
    return ""


async def serve_cluster(
    client: Client, scenario: Scenario | None, settings: ExporterSettings, access: TokenCheck
) -> None:
    if scenario is not None and not settings.allow_scenario:
        raise ConfigError("--scenario: its VMs would have to be created; add --allow-scenario")
    world, known = await _world(client)
    cluster = ClusterFollower(
        client,
        node_selector=settings.node_selector,
        namespace=settings.namespace,
        pressure=settings.pressure,
        migrations=settings.allow_scenario,
        world=world,
    )
    page = MetricsPage(cluster, production=settings.production)
    if page.counters is not None:
        cluster.before_clock_change = page.counters.settle_all
    backend: WriteBackend = Writer(client, cluster) if settings.allow_scenario else ReadOnly()

    async def begin() -> None:
        if scenario is not None:
            await backend.load(scenario, resume=True)

    exporter = Exporter(cluster, page, backend, access)
    serving = _run(exporter, settings, cluster.reflectors, [page.fronts.run, begin])
    await (serving if known else _serve_and_find_out(serving, client))


async def _world(client: Client) -> tuple[World, bool]:
    """Whose VMs to count, and whether the API server could tell already."""
    try:
        return await world_of(client), True
    except Unavailable:
        return "trimtab", False


async def _serve_and_find_out(serving: Coroutine[Any, Any, None], client: Client) -> None:
    """Serve while the API server starts; end if it turns out that the VMs are KubeVirt's.

    Whoever runs the exporter starts it again, and then it knows.
    """
    try:
        async with asyncio.TaskGroup() as group:
            asking = group.create_task(_end_beside_kubevirt(client))
            await serving
            asking.cancel()
    except BaseExceptionGroup as errors:
        raise reason(errors) from errors


async def _end_beside_kubevirt(client: Client) -> None:
    while True:
        world, known = await _world(client)
        if known and world == "kubevirt":
            raise Unavailable(f"{client.server}: the VMs here are KubeVirt's; starting again")
        if known:
            return
        await asyncio.sleep(1.0)


async def serve_memory(
    scenario: Scenario, settings: ExporterSettings, access: TokenCheck, why: str
) -> None:
    log.warning(
        "running without pod management",
        effect="metrics are calculated from the scenario's VMs directly",
        why=why,
    )
    memory = InMemoryCluster(settings.namespace)
    page = MetricsPage(memory, production=settings.production)
    await memory.load(scenario)
    await _run(Exporter(memory, page, memory, access), settings, (), [page.fronts.run])


async def _run(
    exporter: Exporter,
    settings: ExporterSettings,
    reflectors: Sequence[Reflector[Any]],
    jobs: Sequence[Job],
) -> None:
    host, port = settings.place
    web = Web(routes(exporter), host=host, port=port)
    service = Service(NAME, reflectors=reflectors, jobs=jobs, web=web)
    web.routes.append(elsewhere(web.routes))
    exporter.ready = service.ready.is_set
    exporter.stale = lambda: any(each.stale for each in reflectors)
    log.info("exporter listening", host=web.host, port=web.port)
    await service.run()
