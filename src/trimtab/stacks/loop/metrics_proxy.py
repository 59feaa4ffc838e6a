"""The descheduler's metrics on plain HTTP: it serves them over TLS only, people use curl."""

import ssl
from pathlib import Path

import httpx2
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from trimtab.kube.http.web import Web

LIMIT_S = 5.0
PATHS = ("/metrics", "/healthz")


def metrics_proxy(upstream: str, ca: Path, *, host: str, port: int) -> Web:
    """GET of the few paths, passed on to `upstream`, whose certificate is of `ca`."""
    http = httpx2.AsyncClient(
        base_url=upstream,
        verify=ssl.create_default_context(cafile=str(ca)),
        timeout=LIMIT_S,
        trust_env=False,
    )

    async def forward(request: Request) -> Response:
        try:
            answer = await http.get(request.url.path)
        except httpx2.HTTPError as error:
            text = f"the descheduler does not answer ({type(error).__name__}); is it running?\n"
            return PlainTextResponse(text, 502)
        kind = answer.headers.get("content-type", "text/plain")
        return Response(answer.content, answer.status_code, media_type=kind)

    return Web([Route(path, forward) for path in PATHS], host=host, port=port)
