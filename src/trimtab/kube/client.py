"""The API server, verb by verb: typed objects in and out, errors by name, limits on everything.

Reads and writes take a `Kind`. Writes pass a token bucket, so that a controller gone wild
cannot take the API server with it, and a guard, with which leader election stops a process
that no longer leads. No call waits for ever: each has one limit over all it does.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

import httpx2
from msgspec import json

from trimtab.kube.codec import ListPage, WatchEvent, codec, encode
from trimtab.kube.errors import NotFound, error_from_body, no_answer
from trimtab.kube.http.transport import GUARD, WHOLE
from trimtab.kube.login.config import (
    Config,
    authority,
    kubeconfig,
    service_account,
    with_token,
)
from trimtab.kube.login.connection import TRANSPORT_ERRORS, bearer_token, connect
from trimtab.kube.resources import PODS, Free, Kind, metadata
from trimtab.kube.runtime.backoff import TokenBucket
from trimtab.obs.metrics import counter, histogram

T = TypeVar("T")
Verb = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Params = Mapping[str, str | int]
JSON = "application/json"
PATCHES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "apply": "application/apply-patch+yaml",
}

requests = counter("trimtab_kube_requests_total", "Requests to the API server", "verb", "code")
seconds = histogram(
    "trimtab_kube_request_seconds",
    "Time to the whole answer",
    "verb",
    buckets=(0.005, 0.02, 0.1, 0.5, 2.0, 10.0),
)
held_back = counter("trimtab_kube_write_limit_seconds_total", "Time writes waited for their turn")


def _may_write() -> None:
    """The guard of a client that may send everything."""


class Client:
    """One connection pool to one API server as one user."""

    def __init__(
        self,
        config: Config,
        *,
        manager: str = "trimtab",
        writes_per_s: float = 50,
        burst: int = 100,
        limit_s: float = 30,
    ) -> None:
        self.manager = manager
        self._config = config
        self.server: str = config.cluster.server
        self.namespace: str = config.namespace
        self.limit_s = limit_s
        self._http = connect(config, agent=manager, timeout_s=limit_s)
        self._bucket = TokenBucket(writes_per_s, burst)
        self._guard: Callable[[], None] = _may_write

    @classmethod
    def from_kubeconfig(
        cls, files: Path | Sequence[Path], *, context: str | None = None, **options: Any
    ) -> Self:
        return cls(kubeconfig(files, context), **options)

    @classmethod
    def in_cluster(cls, **options: Any) -> Self:
        return cls(service_account(), **options)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    def guarded(self, guard: Callable[[], None]) -> Self:
        """The same connection, but `guard` may veto each write by raising."""
        twin = copy(self)
        twin._guard = guard
        return twin

    def with_own_limit(self, writes_per_s: float, burst: int) -> Self:
        """The same connection, but its writes neither wait for this client's nor delay them."""
        twin = copy(self)
        twin._bucket = TokenBucket(writes_per_s, burst)
        return twin

    def as_bearer(self, token: str) -> Self:
        """A connection of its own to the same API server, as the bearer of `token`."""
        config = with_token(self._config, token)
        return type(self)(config, manager=self.manager, limit_s=self.limit_s)

    # What the same user needs to reach other parts of the same cluster

    async def token(self) -> str:
        """The bearer token that requests carry; empty if the user logs in otherwise."""
        return await bearer_token(self._config)

    def certificate_authority(self) -> str:
        """The authority that signed the API server's certificate, as PEM; empty if not named."""
        return authority(self._config)

    # Reading

    async def get(self, kind: Kind[T], name: str, namespace: str | None = None) -> T:
        return codec(kind).one(await self.request("GET", kind.path(namespace, name)))

    async def list(
        self,
        kind: Kind[T],
        namespace: str | None = None,
        *,
        labels: str = "",
        fields: str = "",
    ) -> Sequence[T]:
        """All objects of a kind, of one namespace or of all."""
        pages = self.pages(kind, namespace, selectors(labels, fields))
        return [item async for page in pages for item in page.items]

    async def pages(
        self, kind: Kind[T], namespace: str | None, params: Params, size: int = 500
    ) -> AsyncGenerator[ListPage[T]]:
        """A list in parts, all as of the first one's resourceVersion."""
        params = dict(params) | {"limit": size}
        while True:
            page = codec(kind).page(await self.request("GET", kind.path(namespace), params=params))
            yield page
            if not page.metadata.continue_:
                return
            params["continue"] = page.metadata.continue_

    async def watch(
        self, kind: Kind[T], namespace: str | None, params: Params, idle_s: float
    ) -> AsyncGenerator[Sequence[WatchEvent[T]]]:
        """One watch request: events as they arrive, until the server ends it or is silent."""
        what, decode = f"watch {kind.plural}", codec(kind).events
        limits = httpx2.Timeout(self.limit_s, read=idle_s)
        request = self._http.build_request(
            "GET",
            kind.path(namespace),
            params={"watch": "true"} | dict(params),
            headers={"Accept-Encoding": "identity"},  # the raw bytes are read below
            timeout=limits,
        )
        try:
            async with asyncio.timeout(self.limit_s):
                response = await self._http.send(request, stream=True)
        except TRANSPORT_ERRORS as error:
            raise no_answer(what, error) from error
        try:
            if response.status_code != 200:
                raise error_from_body(what, response.status_code, await response.aread())
            tail = b""
            async for chunk in response.aiter_raw():
                lines, newline, rest = chunk.rpartition(b"\n")
                if newline:
                    yield decode(tail + lines)
                    tail = rest
                else:
                    tail += chunk
        except TRANSPORT_ERRORS as error:
            raise no_answer(what, error) from error
        finally:
            await response.aclose()

    # Writing

    async def create(
        self, kind: Kind[T], obj: T | Free, namespace: str | None = None, *, dry_run: bool = False
    ) -> T:
        """Create `obj`, in its own namespace unless told otherwise."""
        where = namespace or metadata(obj).namespace
        params = self._write_params(dry_run)
        body = encode(kind, obj)
        return codec(kind).one(await self.request("POST", kind.path(where), params, body))

    async def replace(
        self, kind: Kind[T], obj: T | Free, *, subresource: str = "", dry_run: bool = False
    ) -> T:
        """Put `obj` in place of what is stored; its resourceVersion, if any, must still be right.

        Fields that a slim Struct does not know are lost: replace with dicts, or patch.
        """
        meta = metadata(obj)
        path = kind.path(meta.namespace, meta.name, subresource)
        params = self._write_params(dry_run)
        return codec(kind).one(await self.request("PUT", path, params, encode(kind, obj)))

    async def patch(
        self,
        kind: Kind[T],
        name: str,
        patch: Sequence[Free] | Free,
        namespace: str | None = None,
        *,
        subresource: str = "",
        dry_run: bool = False,
    ) -> T:
        """A list is a JSON patch, a dict a merge patch.

        Put `metadata.resourceVersion` into a merge patch to make it conditional (Conflict).
        A failed `test` of a JSON patch is `Invalid`, as the API server says it.
        """
        flavour = "merge" if isinstance(patch, Mapping) else "json"
        path = kind.path(namespace, name, subresource)
        body, content = json.encode(patch), PATCHES[flavour]
        answer = await self.request("PATCH", path, self._write_params(dry_run), body, content)
        return codec(kind).one(answer)

    async def delete(
        self,
        kind: Kind[Any],
        name: str,
        namespace: str | None = None,
        *,
        uid: str = "",
        resource_version: str = "",
        grace_s: int | None = None,
        propagation: Literal["Background", "Foreground", "Orphan"] | None = None,
        dry_run: bool = False,
    ) -> None:
        """Delete one object; Conflict if it is not the one with that uid or version any more."""
        options = delete_options(uid, resource_version, grace_s, propagation)
        if dry_run:  # in the body: beside a body the API server does not read parameters
            options["dryRun"] = ["All"]
        await self.request("DELETE", kind.path(namespace, name), body=json.encode(options))

    async def evict(
        self,
        name: str,
        namespace: str,
        *,
        uid: str = "",
        grace_s: int | None = None,
        dry_run: bool = False,
    ) -> None:
        """Ask for a pod to be evicted; TooManyRequests if that was not granted now."""
        body: Free = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": delete_options(uid, "", grace_s, None),
        }
        path = PODS.path(namespace, name, "eviction")
        await self.request("POST", path, self._write_params(dry_run), json.encode(body))

    def _write_params(self, dry_run: bool) -> dict[str, str | int]:
        params: dict[str, str | int] = {"fieldManager": self.manager}
        return params | {"dryRun": "All"} if dry_run else params

    # Everything above but `watch` ends here

    async def request(
        self,
        verb: Verb,
        path: str,
        params: Params | None = None,
        body: bytes | None = None,
        content: str = JSON,
    ) -> bytes:
        """Any request; the whole answer's bytes, or the error that its status stands for."""
        if verb != "GET":
            held_back.inc(await self._bucket.take())
        started = time.perf_counter()
        try:
            response = await self._send(verb, path, params, body, content)
        except (*TRANSPORT_ERRORS, TimeoutError) as error:
            requests.labels(verb, "none").inc()
            raise no_answer(f"{verb} {path}", error) from error
        requests.labels(verb, response.status_code).inc()
        seconds.labels(verb).observe(time.perf_counter() - started)
        if not response.is_success:
            raise error_from_body(f"{verb} {path}", response.status_code, response.content)
        return response.content

    async def _send(
        self, verb: Verb, path: str, params: Params | None, body: bytes | None, content: str
    ) -> httpx2.Response:
        headers = {"Content-Type": content} if body is not None else None
        async with asyncio.timeout(self.limit_s):
            request = self._http.build_request(
                verb,
                path,
                params=dict(params or {}),
                content=body,
                headers=headers,
                extensions={WHOLE: True} if verb == "GET" else {WHOLE: True, GUARD: self._guard},
            )
            try:
                return await self._http.send(request)
            except (httpx2.RemoteProtocolError, httpx2.ReadError, httpx2.WriteError):
                if verb != "GET":
                    raise
                # Most likely a connection that was closed while idle: a new one for a read.
                return await self._http.send(request)


async def find(client: Client, kind: Kind[T], name: str, namespace: str | None = None) -> T | None:
    """The object, or None if there is none of that name."""
    try:
        return await client.get(kind, name, namespace)
    except NotFound:
        return None


def selectors(labels: str, fields: str) -> dict[str, str | int]:
    """Label and field selectors as the API writes them: `a=b,c!=d`."""
    return {
        name: value
        for name, value in (("labelSelector", labels), ("fieldSelector", fields))
        if value
    }


def delete_options(
    uid: str, resource_version: str, grace_s: int | None, propagation: str | None
) -> Free:
    conditions = {"uid": uid, "resourceVersion": resource_version}
    options: Free = {"preconditions": {name: value for name, value in conditions.items() if value}}
    if grace_s is not None:
        options["gracePeriodSeconds"] = grace_s
    if propagation:
        options["propagationPolicy"] = propagation
    return options
