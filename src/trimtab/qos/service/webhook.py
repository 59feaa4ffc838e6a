"""The stamping webhook: a pod is about to be created, and gets its place in the queue.

A pod that it cannot judge is created as it is and goes by its age; it refuses only promises
above a limit, where limits are enforced. It writes nothing and waits for nothing, so every
replica may answer.
"""

import base64
from collections.abc import Sequence

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from trimtab.kube.http.callers import MAX_POD, REFUSED, Callers, TooLarge, bounded_body
from trimtab.kube.resources import Free
from trimtab.obs import get_logger
from trimtab.qos.ledger.pod_life import LifePod
from trimtab.qos.queue.key import ANNOTATION
from trimtab.qos.queue.overbooking import PromisedCores
from trimtab.qos.queue.stamper import Stamper
from trimtab.qos.service.metrics import above_limits, stamped
from trimtab.qos.settings import WEBHOOK_PATH

log = get_logger()


class PodAdmissionRequest(Struct, rename="camel"):
    uid: str
    namespace: str = ""
    dry_run: bool = False
    object: LifePod | None = None


class PodAdmissionReview(Struct, rename="camel"):
    request: PodAdmissionRequest


_REVIEW = msgspec.json.Decoder(PodAdmissionReview)


class StampingWebhook:
    def __init__(
        self, stamper: Stamper, cores: PromisedCores, callers: Callers, enforced: bool = False
    ) -> None:
        self._stamper, self._cores, self._callers = stamper, cores, callers
        self._enforced = enforced

    @property
    def route(self) -> Route:
        return Route(WEBHOOK_PATH, self._stamp, methods=["POST"])

    async def _stamp(self, request: Request) -> Response:
        if not self._callers.admit(request.scope):
            return _refused(403, REFUSED.decode())
        try:
            review = _REVIEW.decode(await bounded_body(request.receive, MAX_POD))
        except TooLarge as error:
            return _refused(413, f"{error}\n")
        except msgspec.MsgspecError as error:
            return Response(f"not an AdmissionReview: {error}\n", 400, media_type="text/plain")
        answer = self._answer(review.request)
        return Response(msgspec.json.encode(answer), media_type="application/json")

    def _answer(self, asked: PodAdmissionRequest) -> Free:
        pod = in_namespace(asked.object, asked.namespace) if asked.object else None
        if pod is None or not self._stamper.stampable(pod):
            return answered(asked, [])
        why = self._cores.refusal(pod)
        if why is not None and not asked.dry_run:
            above_limits.labels("refused" if self._enforced else "warned").inc()
        if why is not None and self._enforced:
            return refused(asked, why)
        return answered(asked, self._patch(asked, pod), [why] if why else [])

    def _patch(self, asked: PodAdmissionRequest, pod: LifePod) -> list[Free]:
        stamp = str(self._stamper.at_creation(pod).stamp)
        if not asked.dry_run:
            stamped.inc()
        log.debug("pod stamped at creation", pod=str(pod.metadata.key), stamp=stamp)
        return patch(pod, stamp)


def _refused(status: int, why: str) -> Response:
    """The connection ends: what is left of the body is not read."""
    return Response(why, status, {"connection": "close"}, media_type="text/plain")


def in_namespace(pod: LifePod, namespace: str) -> LifePod:
    """A pod under creation may leave its namespace to the request."""
    if pod.metadata.namespace:
        return pod
    meta = msgspec.structs.replace(pod.metadata, namespace=namespace)
    return msgspec.structs.replace(pod, metadata=meta)


def patch(pod: LifePod, stamp: str) -> list[Free]:
    """A JSON patch that adds the stamp, and the annotations if there are none."""
    if not pod.metadata.annotations:
        return [{"op": "add", "path": "/metadata/annotations", "value": {ANNOTATION: stamp}}]
    path = "/metadata/annotations/" + ANNOTATION.replace("/", "~1")
    return [{"op": "add", "path": path, "value": stamp}]


def answered(asked: PodAdmissionRequest, patch: list[Free], warnings: Sequence[str] = ()) -> Free:
    response: Free = {"uid": asked.uid, "allowed": True}
    if warnings:
        response["warnings"] = list(warnings)
    if patch:
        body = base64.b64encode(msgspec.json.encode(patch)).decode()
        response |= {"patchType": "JSONPatch", "patch": body}
    return _review(response)


def refused(asked: PodAdmissionRequest, why: str) -> Free:
    status = {"code": 403, "reason": "Forbidden", "message": why}
    return _review({"uid": asked.uid, "allowed": False, "status": status})


def _review(response: Free) -> Free:
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
