"""`kubectl get … -o json` without kubectl, whose every start takes 0.1 s of CPU time.

    reader = Reader(lambda: (server.url, server.tls()))
    reader.get("pods", "-n", "shop", "-l", "app=web")["items"]

Waiting means to look again and again, so looks have to be cheap. What they see is what kubectl
would print: `tests/contract/kube/test_reads.py` compares the two. Words that kubectl knows and
this does not are refused with a ValueError, which nobody mistakes for an answer.
"""

import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from threading import RLock
from typing import Any

import httpx2
import msgspec
from msgspec import Struct, field

from builders.waiting import LIMIT_S
from trimtab.kube.resources import segment

Where = Callable[[], tuple[str, ssl.SSLContext]]
"""The server's address, and who asks; read anew with each new connection."""
JSON = "application/json"
AGGREGATED = f"{JSON};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
HANDSHAKE_S = 10.0
NO_ANSWER = (httpx2.NetworkError, httpx2.RemoteProtocolError, httpx2.ConnectTimeout)
PUT_OFF = 10
"""How often kubectl asks again if the server says when to, as it does while it starts."""


class Asked(Struct, frozen=True):
    """The words after `kubectl get`."""

    resource: str
    name: str = ""
    namespace: str = "default"
    everywhere: bool = False
    selector: str = ""
    managed_fields: bool = False


class Resource(Struct, frozen=True):
    """Objects of one kind, and where they are."""

    api_version: str
    plural: str
    kind: str
    namespaced: bool

    def path(self, asked: Asked) -> str:
        root = "/apis" if "/" in self.api_version else "/api"
        here = self.namespaced and not asked.everywhere
        place = f"/namespaces/{segment(asked.namespace)}" if here else ""
        name = f"/{segment(asked.name)}" if asked.name else ""
        return f"{root}/{self.api_version}{place}/{self.plural}{name}"


class Reader:
    """Reads of one API server by one user, over one connection that is kept."""

    def __init__(self, where: Where) -> None:
        self._where = where
        self._server = ""
        self._http: httpx2.Client | None = None
        self._resources: Mapping[str, Resource] = {}
        self._turn = RLock()

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Forget the server and what it serves; the next look finds out again."""
        with self._turn:
            if self._http is not None:
                self._http.close()
            self._http, self._resources = None, {}

    def get(self, *arguments: str) -> Any:
        """An object, or a List of objects; AssertionError with what kubectl would say."""
        asked = understood(*arguments)
        with self._turn:
            resource = self._resource(asked.resource)
            query = {"labelSelector": asked.selector} if asked.selector else {}
            found = msgspec.json.decode(self._answer(resource.path(asked), JSON, query))
        things = [found] if asked.name else found["items"]
        for thing in things:
            thing |= {"apiVersion": resource.api_version, "kind": resource.kind}
            if not asked.managed_fields:
                thing["metadata"].pop("managedFields", None)
        if asked.name:
            return found
        empty = {"resourceVersion": ""}
        return {"apiVersion": "v1", "kind": "List", "metadata": empty, "items": things}

    def _resource(self, name: str) -> Resource:
        """A resource by any of its names; one that is unknown may have come since the last look."""
        wanted = name.lower()
        if wanted not in self._resources:
            listings = [self._answer(path, AGGREGATED, {}) for path in ("/api", "/apis")]
            self._resources = served(*listings)
        if wanted not in self._resources:
            raise AssertionError(f'the server doesn\'t have a resource type "{name}"')
        return self._resources[wanted]

    def _answer(self, path: str, accept: str, query: Mapping[str, str]) -> bytes:
        for left in reversed(range(PUT_OFF + 1)):
            answer = self._once(path, accept, query)
            wait_s = answer.headers.get("Retry-After", "")
            is_busy = answer.status_code == 429 or answer.status_code >= 500
            if not (is_busy and wait_s.isdigit() and left):
                break
            time.sleep(int(wait_s))
        if answer.status_code != 200:
            raise AssertionError(f"GET {path}: {_complaint(answer)}")
        return answer.content

    def _once(self, path: str, accept: str, query: Mapping[str, str]) -> httpx2.Response:
        """A server that was started again has closed the connection, and may want another one."""
        for is_last in (False, True):
            try:
                return self._sent(path, accept, query)
            except NO_ANSWER as error:
                self.close()
                if is_last:
                    told = f"{self._server} does not answer: {error}"
                    raise AssertionError(f"GET {path}: {told}") from error
        raise AssertionError("unreachable: the last try returns or raises")

    def _sent(self, path: str, accept: str, query: Mapping[str, str]) -> httpx2.Response:
        if self._http is None:
            self._server, context = self._where()
            self._http = httpx2.Client(
                verify=context,
                timeout=httpx2.Timeout(LIMIT_S, connect=HANDSHAKE_S),
                trust_env=False,
                headers={"Accept-Encoding": "identity"},
            )
        return self._http.get(self._server + path, params=query, headers={"Accept": accept})


def understood(*arguments: str) -> Asked:
    """kubectl's words as far as tests use them; ValueError for any others."""
    refused = ValueError(f"not understood: get {' '.join(arguments)}; use kubectl for that")
    words: list[str] = []
    options: dict[str, Any] = {}
    rest = iter(arguments)
    for argument in rest:
        match argument:
            case "-n":
                options["namespace"] = next(rest, "")
            case "-l":
                options["selector"] = next(rest, "")
            case "-A":
                options["everywhere"] = True
            case "--show-managed-fields":
                options["managed_fields"] = True
            case _:
                words.append(argument)
    plain = not any(word.startswith("-") or set(word) & set("/,") for word in words)
    if not plain or len(words) not in (1, 2) or not all((*words, *options.values())):
        raise refused
    if len(words) == 2 and options.keys() & {"selector", "everywhere"}:
        raise refused
    return Asked(resource=words[0], name="".join(words[1:]), **options)


# What the server serves, as its aggregated discovery tells it


class _Kind(Struct):
    kind: str = ""


class _Resource(Struct, rename="camel"):
    resource: str
    scope: str
    response_kind: _Kind = field(default_factory=_Kind)
    singular_resource: str = ""
    short_names: tuple[str, ...] = ()


class _Version(Struct):
    version: str
    resources: tuple[_Resource, ...] = ()


class _Metadata(Struct):
    name: str = ""


class _Group(Struct):
    metadata: _Metadata = field(default_factory=_Metadata)
    versions: tuple[_Version, ...] = ()


class _Discovery(Struct):
    items: tuple[_Group, ...] = ()


def served(*listings: bytes) -> dict[str, Resource]:
    """Resources by all their names; who is listed first has a name that several go by.

    The server lists its groups, and each group's versions, in the order of their priority. A
    short name is one only where it is nobody's whole name.
    """
    whole: dict[str, Resource] = {}
    short: dict[str, Resource] = {}
    for group, entry, resource in _listed(*listings):
        suffix = f".{group}" if group else ""
        for name in filter(None, (entry.resource, entry.singular_resource)):
            whole.setdefault(name, resource)
            whole.setdefault(name + suffix, resource)
        for name in entry.short_names:
            short.setdefault(name, resource)
            short.setdefault(name + suffix, resource)
    return short | whole


def _listed(*listings: bytes) -> Iterator[tuple[str, _Resource, Resource]]:
    for listing in listings:
        for group in msgspec.json.decode(listing, type=_Discovery).items:
            name = group.metadata.name
            for version in group.versions:
                api_version = f"{name}/{version.version}" if name else version.version
                for entry in version.resources:
                    kind, namespaced = entry.response_kind.kind, entry.scope == "Namespaced"
                    yield name, entry, Resource(api_version, entry.resource, kind, namespaced)


def _complaint(answer: httpx2.Response) -> str:
    try:
        status = msgspec.json.decode(answer.content)
        return f"Error from server ({status['reason']}): {status['message']}"
    except (msgspec.DecodeError, KeyError, TypeError):
        return f"HTTP {answer.status_code}: {answer.text[:200]}"
