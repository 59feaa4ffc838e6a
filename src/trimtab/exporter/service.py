"""The exporter as a process: stores, the ledger, one port."""

from msgspec import Struct

from trimtab.errors import ConfigError
from trimtab.exporter.cluster import Cluster
from trimtab.exporter.ledger import Ledger
from trimtab.exporter.page import Page
from trimtab.exporter.routes import Exporter, routes
from trimtab.kube.client import Client
from trimtab.kube.service import Service
from trimtab.kube.virt import SCHEDULABLE
from trimtab.kube.web import Web
from trimtab.model.pressure import DEFAULT_PRESSURE, PressureCurve

NAME = "exporter"


class Settings(Struct, frozen=True, kw_only=True):
    host: str = "127.0.0.1"
    port: int = 8000
    node_selector: str = f"{SCHEDULABLE}=true"
    pressure: PressureCurve = DEFAULT_PRESSURE


async def serve(client: Client, settings: Settings) -> None:
    """Run the exporter until SIGTERM."""
    ledger = Ledger()
    cluster = Cluster(client, ledger, node_selector=settings.node_selector)
    page = Page(ledger, cluster, pressure=settings.pressure)
    exporter = Exporter(cluster, page)
    web = Web(routes(exporter), host=settings.host, port=settings.port)
    service = Service(NAME, reflectors=cluster.reflectors, web=web)
    exporter.ready = service.ready.is_set
    await service.run()


def address(text: str) -> tuple[str, int]:
    """Host and port of `127.0.0.1:8000`, `[::1]:8000` or `:8000` (every address)."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise ConfigError(f"--listen: {text!r} is not an address; write it like 127.0.0.1:8000")
    return host.removeprefix("[").removesuffix("]") or "0.0.0.0", int(port)
