"""The stamping webhook as the API server calls it, and what happens when it does not answer."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from builders.values.kube import pod_to_create
from builders.values.qos import Running, running_qos
from builders.waiting import LIMIT_S
from conformance.apiserver import ApiServer, free_port
from trimtab.install.qos.admission import stamping_webhook
from trimtab.kube.apply import apply
from trimtab.kube.client import Client
from trimtab.kube.errors import Forbidden
from trimtab.kube.resources import PODS, free_kind
from trimtab.qos.promise import ANNOTATION as SLO
from trimtab.qos.promise import PromiseLimits
from trimtab.qos.queue.key import ANNOTATION, parse
from trimtab.qos.settings import QosSettings

WEBHOOKS = free_kind(
    "admissionregistration.k8s.io",
    "v1",
    "mutatingwebhookconfigurations",
    "MutatingWebhookConfiguration",
    namespaced=False,
)


@asynccontextmanager
async def stamping(
    apiserver: ApiServer, client: Client, account: Client, directory: Path
) -> AsyncIterator[Running]:
    """The service with its webhook, registered for the time of the block."""
    certificate = apiserver.ca.issue_cert("127.0.0.1")
    pem = directory / "webhook.pem"
    certificate.private_key_and_cert_chain_pem.write_to_path(str(pem))
    settings = QosSettings(
        port=0,
        bindings="",
        webhook_port=free_port(),
        certificate=pem,
        key=pem,
        limits=PromiseLimits(highest_slo=0.99, enforced=True, contact="the platform team"),
    )
    ca = base64.b64encode(apiserver.ca.cert_pem.bytes()).decode()
    where = {"url": f"https://127.0.0.1:{settings.webhook_port}", "caBundle": ca}
    async with running_qos(account, settings) as running:
        await apply(client, WEBHOOKS, stamping_webhook(where), force=True)
        yield running


async def created(client: Client, namespace: str, name: str, **meta: Any) -> dict[str, str]:
    pod = await client.create(PODS, pod_to_create(name, namespace, **meta))
    return pod.metadata.annotations


async def registered(client: Client, namespace: str) -> None:
    """A registration takes a moment until it holds."""
    async with asyncio.timeout(LIMIT_S):
        for number in count():
            if ANNOTATION in await created(client, namespace, f"p{number}"):
                return
            await asyncio.sleep(0.1)


async def test_pods_are_stamped_when_they_are_created_and_let_in_when_nobody_answers(
    apiserver: ApiServer, client: Client, account: Client, namespace: str, tmp_path: Path
) -> None:
    try:
        async with stamping(apiserver, client, account, tmp_path) as running:
            await registered(client, namespace)
            notes = {SLO: "99%", ANNOTATION: "v1:0:000000:00000000000000000000"}
            annotations = await created(client, namespace, "declared", annotations=notes)
            stamp = parse(annotations[ANNOTATION])
            assert stamp is not None
            assert stamp.rank == 10_000, "of 0.99, not what was supplied"
            assert annotations[SLO] == "99%"
            with pytest.raises(Forbidden, match=r"asks for an SLO of 1; .* the platform team"):
                await created(client, namespace, "too-much", annotations={SLO: "100%"})
            apart = await created(client, "kube-system", "apart")
            assert ANNOTATION not in apart
            answer = await running.json("/v1/queue")
            assert all(pod["stamped"] for pod in answer["pods"] if pod["name"] == "declared")
        unstamped = await created(client, namespace, "nobody-answers")
        assert unstamped == {}
    finally:
        await client.delete(WEBHOOKS, "trimtab-qos")
