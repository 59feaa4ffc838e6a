"""The qos service as a process: every replica keeps the ledger and serves the page."""

from trimtab.kube.client import Client
from trimtab.kube.reflector import Reflector
from trimtab.kube.resources import PODS
from trimtab.kube.service import Service
from trimtab.kube.web import Web
from trimtab.qos.settings import NAME, Settings


async def serve(client: Client, settings: Settings) -> None:
    """Run until SIGTERM."""
    pods = Reflector(client, PODS)
    web = Web(host=settings.address, port=settings.port)
    await Service(NAME, reflectors=[pods], web=web).run()
