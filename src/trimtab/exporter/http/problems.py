"""Errors as problem+json (RFC 9457): what is wrong, where, and what to do, for programs too.

`field` names the place in the request's body, in the words of whoever wrote it.
"""

import re
from collections.abc import Awaitable, Callable, Mapping

import msgspec
from msgspec import Struct
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from trimtab.errors import ConfigError, Conflict, NotReady, TrimtabError, Unavailable
from trimtab.exporter import metrics
from trimtab.kube.http.authorize import AccessDenied
from trimtab.obs import get_logger

log = get_logger()
MEDIA_TYPE = "application/problem+json"
Endpoint = Callable[[Request], Awaitable[Response]]
_FIELD = re.compile(r"[A-Za-z_][\w-]*(\[\d+\])*(\.[A-Za-z_][\w-]*(\[\d+\])*)*", re.ASCII)


class Problem(Struct, frozen=True, omit_defaults=True):
    """An answer that says why there is no other."""

    title: str
    """What kind of problem it is."""
    status: int
    """The HTTP status."""
    detail: str
    """What is wrong, where, and what to do."""
    type: str = "about:blank"
    """Nothing but the title describes it."""
    field: str = ""
    """Where in the request's body the mistake is, if it is there."""


class Refused(TrimtabError):
    """A request that is answered with a problem."""

    def __init__(self, status: int, title: str, detail: str, field: str = "") -> None:
        super().__init__(detail)
        self.problem = Problem(title, status, detail, field=field)


def problem_of(error: TrimtabError) -> Problem:
    """The answer to the request."""
    if isinstance(error, Refused):
        return error.problem
    if isinstance(error, AccessDenied):
        title = "Not authenticated" if error.status == 401 else "Not allowed"
        return Problem(title, error.status, str(error))
    for kind, status, title in (
        (ConfigError, 422, "The request cannot be carried out as it is"),
        (Conflict, 409, "Someone else was first"),
        (NotReady, 503, "Not ready yet"),
        (Unavailable, 503, "The API server does not answer"),
    ):
        if isinstance(error, kind):
            return Problem(title, status, str(error), field=field_in(str(error)))
    return Problem("It failed", 500, str(error))


def field_in(text: str) -> str:
    """The field that an error of ours begins with: `vms[2].cpu: …`; empty if it names none."""
    place, colon, _ = text.partition(": ")
    return place if colon and _FIELD.fullmatch(place) else ""


def answer(problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(problem), problem.status, headers, MEDIA_TYPE)


def guarded(path: str, endpoint: Endpoint) -> Endpoint:
    """The endpoint with every error as a problem, and every answer counted."""

    async def guard(request: Request) -> Response:
        try:
            response = await endpoint(request)
        except TrimtabError as error:
            response = answer(problem_of(error))
        except ClientDisconnect:
            response = answer(Problem("Gone", 400, "the request ended before its body did"))
        except Exception:
            log.exception("request failed", path=path, method=request.method)
            detail = "it failed for a reason that is in the exporter's log; please report it"
            response = answer(Problem("Internal error", 500, detail))
        metrics.requests.labels(path, request.method, response.status_code).inc()
        return response

    return guard
