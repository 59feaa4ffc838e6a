"""The operator as a process: several replicas may run, one of them acts."""

from pathlib import Path
from tempfile import mkdtemp

from trimtab.advisor.certificate import self_signed
from trimtab.advisor.operator import Operator
from trimtab.advisor.settings import ADVERTISED, NAME, Settings
from trimtab.kube.client import Client
from trimtab.kube.events import Recorder
from trimtab.kube.http.authorize import Authorizer, authorized
from trimtab.kube.http.web import Tls, Web, tells
from trimtab.kube.runtime.lease import Elector
from trimtab.kube.runtime.service import Service, unique_identity


async def serve(client: Client, settings: Settings) -> None:
    """Run the operator until SIGTERM."""
    identity = unique_identity()
    elector = Elector(client, NAME, settings.namespace, identity)
    recorder = Recorder(client, f"trimtab.dev/{NAME}", identity)
    operator = Operator(client.guarded(elector.check), recorder, settings, reading=client)
    told = tells(ADVERTISED, lambda: operator.advertised)
    web = Web([told], host=settings.host, port=settings.port, tls=_tls(settings))
    service = Service(
        NAME,
        reflectors=[operator.configs],
        controllers=[operator],
        jobs=[operator.watches.run],
        elector=elector,
        recorder=recorder,
        web=web,
    )
    if not settings.open_metrics:
        web.routes = authorized(web.routes, "/metrics", Authorizer(client))
    await service.run()


def _tls(settings: Settings) -> Tls | None:
    if settings.certificate and settings.key:
        return Tls(settings.certificate, settings.key)
    if settings.self_signed:
        return self_signed(Path(mkdtemp(prefix="trimtab-advisor-")), NAME)
    return None
