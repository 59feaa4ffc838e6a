"""The eviction webhook: the API server asks, `decide` answers from the caches.

At most one write: the mark. If it cannot be written, the answer says so and claims nothing.
A pod that the cache does not know is looked up once, because a pod may be evicted before the
watch has brought it here. There is never a Retry-After: client-go would repeat the call.
Who asks must be the API server (`Callers`): the answer to anybody else would move VMs for them.
"""

from pathlib import Path
from typing import Any, Protocol

import msgspec
from msgspec import Struct, field
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from trimtab.kube.client import Client, find
from trimtab.kube.errors import ApiError, Invalid
from trimtab.kube.http.callers import MAX_EVICTION, REFUSED, Callers, TooLarge, bounded_body
from trimtab.kube.http.web import Tls, Web
from trimtab.kube.resources import PODS, Free, Key, Pod
from trimtab.kube.runtime.reflector import Reflector
from trimtab.kube.runtime.service import Service
from trimtab.kube.virtual_machines import APP_LABEL, VMS, VirtualMachine
from trimtab.obs import get_logger
from trimtab.obs.metrics import counter, histogram
from trimtab.vm.decide.eviction import (
    Allow,
    Deny,
    EvictionAnswer,
    MarkForEvacuation,
    decide,
    mark_patch,
    vm_of,
)

log = get_logger()
PATH = "/pod-eviction-validate"
EVERYBODY = Callers()
decisions = counter("trimtab_webhook_decisions_total", "Evictions by what was answered", "verdict")
marking = histogram(
    "trimtab_webhook_marking_seconds", "Time to write a mark", buckets=(0.005, 0.02, 0.1, 0.5, 2.0)
)


class DeleteOptions(Struct, rename="camel"):
    dry_run: list[str] | None = None
    preconditions: dict[str, str] | None = None


class EvictionObject(Struct, rename="camel"):
    delete_options: DeleteOptions | None = None


class EvictionRequest(Struct, rename="camel"):
    uid: str
    name: str = ""
    namespace: str = ""
    dry_run: bool = False
    object: EvictionObject | None = None
    user_info: dict[str, Any] = field(default_factory=dict)

    @property
    def is_rehearsal(self) -> bool:
        return self.dry_run or "All" in (self._options.dry_run or ())

    @property
    def wanted_uid(self) -> str:
        return (self._options.preconditions or {}).get("uid", "")

    @property
    def _options(self) -> DeleteOptions:
        return (self.object.delete_options if self.object else None) or DeleteOptions()


class EvictionReview(Struct, rename="camel"):
    request: EvictionRequest


_REVIEW = msgspec.json.Decoder(EvictionReview)


class WebhookCluster(Protocol):
    """What the webhook needs of the cluster: looks that are free, looks that cost, one write."""

    def pod(self, key: Key) -> Pod | None: ...
    def vm(self, key: Key) -> VirtualMachine | None: ...
    async def fresh_pod(self, key: Key) -> Pod | None: ...
    async def fresh_vm(self, key: Key) -> VirtualMachine | None: ...
    async def mark(self, mark: MarkForEvacuation) -> None: ...


class CachedCluster:
    """Stores for the looks, the client for the rest."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.pods = Reflector(client, PODS, labels="=".join(APP_LABEL))
        self.vms = Reflector(client, VMS)

    def pod(self, key: Key) -> Pod | None:
        return self.pods.store.get(key.name, key.namespace)

    def vm(self, key: Key) -> VirtualMachine | None:
        return self.vms.store.get(key.name, key.namespace)

    async def fresh_pod(self, key: Key) -> Pod | None:
        return await find(self._client, PODS, key.name, key.namespace)

    async def fresh_vm(self, key: Key) -> VirtualMachine | None:
        return await find(self._client, VMS, key.name, key.namespace)

    async def mark(self, mark: MarkForEvacuation) -> None:
        vm, patch = mark.vm, mark_patch(mark)
        await self._client.patch(VMS, vm.name, patch, vm.namespace, subresource="status")


async def judge(request: EvictionRequest, cluster: WebhookCluster) -> EvictionAnswer:
    """The final verdict: what `decide` says, after the mark was written if it wants one."""
    try:
        pod, verdict = await _first_look(request, cluster)
        if request.is_rehearsal or not isinstance(verdict, MarkForEvacuation):
            return verdict
        return await _mark(verdict, pod, cluster, request.wanted_uid)
    except ApiError as error:
        return Deny(
            f"the API server did not answer the eviction webhook, nothing was done: {error}"
        )


async def _first_look(
    request: EvictionRequest, cluster: WebhookCluster
) -> tuple[Pod | None, EvictionAnswer]:
    key = Key(request.namespace, request.name)
    pod = cluster.pod(key) or await cluster.fresh_pod(key)
    vm_key = vm_of(pod) if pod else None
    vm = None if vm_key is None else cluster.vm(vm_key) or await cluster.fresh_vm(vm_key)
    return pod, decide(pod, vm, request.wanted_uid)


async def _mark(
    mark: MarkForEvacuation, pod: Pod | None, cluster: WebhookCluster, uid: str
) -> EvictionAnswer:
    try:
        with marking.time():
            await cluster.mark(mark)
    except Invalid:  # the active pod changed between our look and our write
        return _from_what_is(mark, decide(pod, await cluster.fresh_vm(mark.vm), uid))
    except ApiError as error:
        return Deny(f'VM "{mark.vm}" could not be marked for evacuation: {error}')
    return mark


def _from_what_is(mark: MarkForEvacuation, verdict: EvictionAnswer) -> EvictionAnswer:
    if isinstance(verdict, MarkForEvacuation) and not verdict.again:
        return Deny(f'VM "{mark.vm}" is changing its pod; it was not marked for evacuation')
    return verdict


def answer(request: EvictionRequest, verdict: EvictionAnswer) -> Free:
    """The AdmissionReview that says `verdict`; denials are 429 as KubeVirt's are."""
    response: Free = {"uid": request.uid, "allowed": isinstance(verdict, Allow)}
    if not isinstance(verdict, Allow):
        response["status"] = {
            "code": 429,
            "reason": "TooManyRequests",
            "message": verdict.message,
        }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}


class Endpoint:
    """The webhook as a bare ASGI application: requests and responses as objects cost 20 µs."""

    def __init__(self, cluster: WebhookCluster, callers: Callers = EVERYBODY) -> None:
        self._cluster, self._callers = cluster, callers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._callers.admit(scope):
            await refuse(send, 403, REFUSED)
            return
        try:
            review = _REVIEW.decode(await bounded_body(receive, MAX_EVICTION))
        except TooLarge as error:
            await refuse(send, 413, f"{error}\n".encode())
            return
        except msgspec.MsgspecError as error:
            await refuse(send, 400, f"not an AdmissionReview: {error}\n".encode())
            return
        asked = review.request
        verdict = await judge(asked, self._cluster)
        decisions.labels(verdict.name).inc()
        log.info(
            "eviction judged",
            pod=f"{asked.namespace}/{asked.name}",
            verdict=verdict.name,
            detail=verdict.why if isinstance(verdict, Allow) else verdict.message,
            rehearsal=asked.is_rehearsal,
            user=asked.user_info.get("username", ""),
        )
        await reply(send, 200, msgspec.json.encode(answer(asked, verdict)), b"application/json")


async def refuse(send: Send, status: int, why: bytes) -> None:
    """An answer after which the connection ends: what is left of the body is not read."""
    decisions.labels(f"refused-{status}").inc()
    await reply(send, status, why, b"text/plain", (b"connection", b"close"))


async def reply(
    send: Send, status: int, body: bytes, kind: bytes, *more: tuple[bytes, bytes]
) -> None:
    headers = [(b"content-type", kind), (b"content-length", b"%d" % len(body)), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def route(cluster: WebhookCluster, callers: Callers = EVERYBODY) -> Route:
    return Route(PATH, Endpoint(cluster, callers), methods=["POST"])


async def serve(
    client: Client, *, host: str, port: int, certificate: Path, key: Path, callers: Callers
) -> None:
    """Run the webhook until SIGTERM."""
    cluster = CachedCluster(client)
    direct = {("POST", PATH): Endpoint(cluster, callers)}
    tls = Tls(certificate, key, client_ca=callers.client_ca)
    web = Web([route(cluster, callers)], host=host, port=port, tls=tls, direct=direct)
    callers.warn()
    await Service("webhook", reflectors=[cluster.pods, cluster.vms], web=web).run()
