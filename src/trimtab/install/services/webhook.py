"""Answer the API server's question whether a pod may be evicted; mark VMs to be evacuated.

Serves /pod-eviction-validate, /healthz, /readyz and /metrics over TLS. A certificate that
changes on disk is used for new connections within ten seconds.
"""

from pathlib import Path
from typing import Any

from trimtab.install.rights import LOOK, Role, everywhere, right
from trimtab.install.service import Connect, Deployment, Mount, ServiceSpec
from trimtab.kube.virtual_machines import GROUP
from trimtab.vm.settings import WebhookSettings

NAME = "webhook"
APP = "eviction-webhook"
_DIRECT = {"get": "only for a pod or VM that the cache has not seen yet"}


async def serve(connect: Connect, settings: WebhookSettings) -> None:
    from trimtab.kube.http.callers import Callers
    from trimtab.vm.webhook import serve

    await serve(
        connect(),
        host=settings.host,
        port=settings.port,
        certificate=settings.certificate,
        key=settings.key,
        callers=Callers(settings.client_ca, settings.client_name),
    )


def roles() -> tuple[Role, ...]:
    return (
        everywhere(
            right("", ["pods"], LOOK, unseen=_DIRECT),
            right(GROUP, ["virtualmachines"], LOOK, unseen=_DIRECT),
            right(GROUP, ["virtualmachines/status"], ["patch"]),
        ),
    )


def configuration() -> list[dict[str, Any]]:
    """How the API server of a cluster reaches it; make-secrets.sh adds the CA."""
    from trimtab.install.vm.eviction_webhook import eviction_webhook
    from trimtab.vm.webhook import PATH

    service = {"namespace": "default", "name": APP, "path": PATH}
    return [eviction_webhook({"service": service})]


SERVICE = ServiceSpec(
    name=NAME,
    about=__doc__,
    examples=("trimtab run webhook --certificate tls.crt --key tls.key --client-ca ca.crt",),
    options=WebhookSettings,
    serve=serve,
    roles=roles,
    deployment=Deployment(
        file="eviction-webhook.yaml",
        note="Answers evictions of virt-launcher pods and marks their VMs. Its certificate and\n"
        "the caBundle below come from k8s/make-secrets.sh; until that has run, such evictions\n"
        "are refused.",
        app=APP,
        namespace="default",
        settings=WebhookSettings(
            host="0.0.0.0", certificate=Path("/tls/tls.crt"), key=Path("/tls/tls.key")
        ),
        https=True,
        mounts=(Mount(name="tls", path="/tls", secret="eviction-webhook-tls", mode=0o440),),
        disruption_budget=True,
        entry=443,
        after=configuration,
    ),
)
