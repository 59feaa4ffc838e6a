"""The few calls that a lab makes to its own API server: get, create, apply, delete; with limits.

It acts as `trimtab-supervisor`. A kept-alive connection may be dropped by the server when idle,
so idempotent requests are repeated once.
"""

import ssl
from pathlib import Path
from typing import Any

import httpx2
import msgspec

from trimtab.errors import TrimtabError, Unavailable
from trimtab.kube.resources import segment

FIELD_MANAGER = "trimtab-lab"
TIMEOUT_S = 10.0


class LabApiError(TrimtabError):
    """The API server refused: `status` is its HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def trusting(pki: Path) -> ssl.SSLContext:
    """Trust the lab's CA only."""
    return ssl.create_default_context(cafile=str(pki / "ca.crt"))


def tls_context(pki: Path, client: str) -> ssl.SSLContext:
    """Trust the lab's CA only; show `client`'s certificate."""
    context = trusting(pki)
    context.load_cert_chain(str(pki / f"{client}.crt"), str(pki / f"{client}.key"))
    return context


class Api:
    """A connection pool to one lab's API server."""

    def __init__(self, server: str, pki: Path, client: str = "supervisor") -> None:
        self.server = server
        self.http = httpx2.AsyncClient(
            verify=tls_context(pki, client),
            timeout=TIMEOUT_S,
            trust_env=False,
            headers={"Accept-Encoding": "identity"},
            limits=httpx2.Limits(max_connections=32, max_keepalive_connections=32),
        )
        self._plurals: dict[tuple[str, str], tuple[str, bool]] = {}

    async def close(self) -> None:
        await self.http.aclose()

    async def get(self, path: str) -> bytes:
        return await self._request("GET", path)

    async def create(self, path: str, thing: Any) -> bytes:
        return await self._request("POST", path, thing)

    async def delete(self, path: str, grace_s: int | None = None) -> None:
        suffix = "" if grace_s is None else f"?gracePeriodSeconds={grace_s}"
        await self._request("DELETE", path + suffix)

    async def apply(self, thing: dict[str, Any], subresource: str = "") -> None:
        """Server-side apply; what others own of it and we name becomes ours."""
        path = await self._path_of(thing) + (f"/{subresource}" if subresource else "")
        query = f"?fieldManager={FIELD_MANAGER}&force=true"
        await self._request("PATCH", path + query, thing, "application/apply-patch+yaml")

    async def _path_of(self, thing: dict[str, Any]) -> str:
        version, kind = str(thing["apiVersion"]), str(thing["kind"])
        if (version, kind) not in self._plurals:
            self._plurals |= await self._resources(version)
        if (version, kind) not in self._plurals:
            raise LabApiError(404, f"the API server does not know {kind} in {version}")
        plural, namespaced = self._plurals[version, kind]
        metadata = thing["metadata"]
        namespace = segment(metadata.get("namespace", "default"))
        place = f"namespaces/{namespace}/" if namespaced else ""
        return f"{_root(version)}/{place}{plural}/{segment(metadata['name'])}"

    async def _resources(self, version: str) -> dict[tuple[str, str], tuple[str, bool]]:
        listing = msgspec.json.decode(await self.get(_root(version)))
        return {
            (version, entry["kind"]): (entry["name"], entry["namespaced"])
            for entry in listing["resources"]
            if "/" not in entry["name"]
        }

    async def _request(
        self, method: str, path: str, body: Any = None, content: str = "application/json"
    ) -> bytes:
        data = None if body is None else msgspec.json.encode(body)
        tries = 1 if method == "POST" else 2
        for left in reversed(range(tries)):
            try:
                answer = await self.http.request(
                    method, self.server + path, content=data, headers={"Content-Type": content}
                )
            except httpx2.HTTPError as error:
                if left and isinstance(error, httpx2.RemoteProtocolError | httpx2.ReadError):
                    continue
                reason = str(error) or type(error).__name__
                raise Unavailable(f"{self.server} does not answer: {reason}") from error
            if answer.status_code >= 400:
                raise LabApiError(answer.status_code, _reason(answer))
            return answer.content
        raise AssertionError("unreachable: the last try returns or raises")


def _root(version: str) -> str:
    return f"/api/{version}" if "/" not in version else f"/apis/{version}"


def _reason(answer: httpx2.Response) -> str:
    try:
        return str(msgspec.json.decode(answer.content)["message"])
    except (msgspec.DecodeError, KeyError, TypeError):
        return f"HTTP {answer.status_code}: {answer.text[:200]}"
