"""The two ConfigMaps that a lab projects, with what becomes of their texts."""

import ssl
from functools import partial
from pathlib import Path

import httpx2
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from trimtab.kube.http.web import Web
from trimtab.policy.file.reader import read_policy
from trimtab.policy.file.settings import queries
from trimtab.scores.prometheus.files import KEY as RULES_KEY
from trimtab.scores.prometheus.focus import SLOW_S, focus, rescale
from trimtab.stacks.loop.projector import policy_file
from trimtab.stacks.loop.projector.projection import Part
from trimtab.stacks.loop.projector.projector import WantedText
from trimtab.stacks.loop.settings import (
    POLICY_FILE,
    POLICY_KEY,
    POLICY_MAP,
    RULES_FILE,
    RULES_MAP,
    WISHED_POLICY_FILE,
    WISHED_RULES_FILE,
)


def policy_part(scale: float, prometheus: str) -> Part:
    convert = partial(policy_file.for_lab, scale=scale, prometheus=prometheus, where=POLICY_KEY)
    return Part(*POLICY_MAP, POLICY_KEY, POLICY_FILE, "descheduler", convert)


def rules_part(
    scale: float, promtool: Path, policy: Path | None = None, slow_s: float = SLOW_S
) -> Part:
    """With `policy`, a file, only what that policy asks for is evaluated often."""

    def convert(text: str) -> str:
        rules = rescale(text, scale, RULES_KEY)
        if policy is None or not policy.exists():
            return rules
        asked = queries(read_policy(policy.read_text(), str(policy)))
        return focus(rules, asked, RULES_KEY, slow_s)

    check = partial(policy_file.check_rules, promtool=promtool)
    return Part(*RULES_MAP, RULES_KEY, RULES_FILE, "prometheus", convert, check)


def wanted_texts(
    directory: Path, scale: float, prometheus: str, promtool: Path, *, slow_s: float = 0.0
) -> list[WantedText]:
    """Both parts with the files in which `lab up` left the texts it wants.

    Rules that the policy does not need are evaluated every `slow_s`, or as often as all.
    """
    policy = directory / POLICY_FILE if slow_s else None
    return [
        WantedText(policy_part(scale, prometheus), directory / WISHED_POLICY_FILE),
        WantedText(rules_part(scale, promtool, policy, slow_s), directory / WISHED_RULES_FILE),
    ]


# The descheduler's metrics on plain HTTP: it serves them over TLS only, people use curl.
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
