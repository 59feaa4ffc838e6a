"""The operator as a process: several replicas may run, one of them acts."""

from msgspec import Struct

from trimtab.advisor.operator import Operator
from trimtab.advisor.settings import ADVERTISED, NAME, Settings
from trimtab.kube.client import Client
from trimtab.kube.events import Recorder
from trimtab.kube.http.authorize import Authorizer, authorized
from trimtab.kube.http.web import Tls, Web, tells
from trimtab.kube.runtime.lease import Elector
from trimtab.kube.runtime.service import Service, unique_identity


class Listening(Struct, frozen=True):
    host: str = "127.0.0.1"
    port: int = 8444
    tls: Tls | None = None
    open_metrics: bool = False
    """/metrics for everybody who reaches the port."""


async def serve(client: Client, settings: Settings, listening: Listening) -> None:
    """Run the operator until SIGTERM."""
    identity = unique_identity()
    elector = Elector(client, NAME, settings.namespace, identity)
    recorder = Recorder(client, f"trimtab.dev/{NAME}", identity)
    operator = Operator(client.guarded(elector.check), recorder, settings, reading=client)
    told = tells(ADVERTISED, lambda: operator.advertised)
    web = Web([told], host=listening.host, port=listening.port, tls=listening.tls)
    service = Service(
        NAME,
        reflectors=[operator.configs],
        controllers=[operator],
        jobs=[operator.watches.run],
        elector=elector,
        recorder=recorder,
        web=web,
    )
    if not listening.open_metrics:
        web.routes = authorized(web.routes, "/metrics", Authorizer(client))
    await service.run()
