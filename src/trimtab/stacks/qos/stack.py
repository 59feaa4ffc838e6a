"""The stack `qos`: a queue ordered by promised availability, its ledger, stamps and page.

It stands alone on a control plane or beside the loop: it adds a service, what the API server
must know of it, and the plugin in the scheduler's configuration. A configuration of the user's
own stays as it is; then it is up to them to enable the plugin in it.
"""

from pathlib import Path
from typing import Any

from msgspec import Struct, convert, structs, to_builtins

from trimtab.install.components import component, objects, webhook_at
from trimtab.install.qos.admission import stamping_webhook
from trimtab.install.qos.manifests import page_reader
from trimtab.install.qos.scheduler import Order, with_plugin
from trimtab.install.services import qos
from trimtab.lab.components.component import Component
from trimtab.lab.components.identity import ServerCert, ServiceIdentity
from trimtab.lab.components.scheduler import CONFIG_FILE, kube_scheduler, scheduler_config
from trimtab.lab.components.stack import Lab, Stack, StackContribution
from trimtab.qos.settings import QosSettings

STACK = "qos"
PORTS = qos.SERVICE.ports
_CERTIFICATE = "qos-server"


class QosStackSettings(Struct, frozen=True, kw_only=True):
    """What `lab up` was told, kept in `lab.json` for the next time."""

    measure_only: bool = False
    legacy: bool = False
    verbosity: int = 0
    """klog level of the scheduler; from 3 on it tells every attempt."""


def from_lab(kept: dict[str, Any]) -> QosStackSettings:
    """What an earlier `lab up` wrote down."""
    return convert(kept, QosStackSettings)


def qos_stack(settings: QosStackSettings) -> Stack:
    """The scheduler with the plugin, and the service that stamps and serves the page."""

    def contribute(lab: Lab) -> StackContribution:
        webhook = (
            () if settings.measure_only else (stamping_webhook(webhook_at(lab, "qos-webhook")),)
        )
        return StackContribution(
            components=(scheduler(lab, settings.verbosity), _qos(lab, settings)),
            servers=(ServerCert(_CERTIFICATE),),
            services=(ServiceIdentity(qos.SERVICE.name),),
            files=scheduler_file(lab, settings.measure_only),
            objects=(*objects(qos.SERVICE), page_reader(), *webhook),
        )

    return Stack(name=STACK, contribute=contribute, ports=PORTS, settings=to_builtins(settings))


def scheduler(lab: Lab, verbosity: int) -> Component:
    """The lab's scheduler, as talkative as wanted; it must have the ports of its plugin."""
    stock = kube_scheduler(lab)
    return structs.replace(stock, argv=(*stock.argv, f"--v={verbosity}"))


def scheduler_file(lab: Lab, measure_only: bool, **arguments: Any) -> dict[str, str]:
    """The scheduler's configuration; none where the user has given one."""
    if lab.spec.own_scheduler_config:
        return {}
    address = f"127.0.0.1:{lab.port('qos-bindings')}"
    text = scheduler_config(lab.spec.placement, lab.spec.clock.scale, None)
    order: Order = "stock" if measure_only else "qos"
    return {CONFIG_FILE: with_plugin(text, order, {"bindingsAddress": address, **arguments})}


def _qos(lab: Lab, settings: QosStackSettings) -> Component:
    options = QosSettings(
        webhook_port=lab.port("qos-webhook"),
        certificate=Path(f"pki/{_CERTIFICATE}.crt"),
        key=Path(f"pki/{_CERTIFICATE}.key"),
        client_ca=Path("pki/ca.crt"),
        bindings=f"http://127.0.0.1:{lab.port('qos-bindings')}/bindings",
        measure_only=settings.measure_only,
        legacy=settings.legacy,
    )
    return component(lab, qos.SERVICE, options)
