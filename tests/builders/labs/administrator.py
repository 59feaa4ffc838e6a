"""The administrator of an API server on one connection: kubectl takes a tenth of a second of CPU
time to start, and tests look hundreds of times."""

import json
from http.client import HTTPException, HTTPSConnection
from threading import Lock
from typing import Any
from urllib.parse import urlencode

from builders.waiting import LIMIT_S
from conformance.apiserver import ApiServer

Free = dict[str, Any]
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
_MACHINES, _ADMISSION = "machineconfiguration.openshift.io/v1", "admissionregistration.k8s.io/v1"
_VERSIONS = {
    "configmap": "v1",
    "customresourcedefinition": "apiextensions.k8s.io/v1",
    "deployment": "apps/v1",
    "hyperconverged": "hco.kubevirt.io/v1beta1",
    "kubedescheduler": "operator.openshift.io/v1",
    "lease": "coordination.k8s.io/v1",
    "machineconfig": _MACHINES,
    "machineconfigpool": _MACHINES,
    "namespace": "v1",
    "secret": "v1",
    "validatingadmissionpolicybinding": _ADMISSION,
    "virtplatformconfig": "advisor.kubevirt.io/v1alpha1",
}
"""Kinds that tests ask for by the word that kubectl knows them by."""


def path_of(kind: str, name: str = "", namespace: str = "", version: str = "") -> str:
    """Where an object is, or without a name all objects of a kind."""
    version = version or _VERSIONS[kind]
    plural = f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"
    root = "/apis" if "/" in version else "/api"
    where = ("namespaces", namespace) if namespace else ()
    return "/".join(part for part in (root, version, *where, plural, name) if part)


class Administrator:
    """Requests one after the other, of any thread; what is refused fails the test."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._tls = server.tls()
        self._lock = Lock()
        self._connection: HTTPSConnection | None = None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def find(self, path: str) -> Free | None:
        """The object, unless there is none; a kind that is not served is no answer."""
        code, body = self.ask("GET", path)
        if code == 404 and _names_an_object(body):
            return None
        return _accepted("GET", path, code, body)

    def get(self, path: str) -> Free:
        return _accepted("GET", path, *self.ask("GET", path))

    def patch(self, path: str, patch: Free, kind: str = MERGE, **options: str) -> Free:
        path = f"{path}?{urlencode(options)}"
        return _accepted("PATCH", path, *self.ask("PATCH", path, patch, kind))

    def delete(self, path: str) -> None:
        """As if it had not been there if it was not; nothing is left that is still to go."""
        code, body = self.ask("DELETE", path)
        if code == 404 and _names_an_object(body):
            return
        left = _accepted("DELETE", path, code, body)
        assert "deletionTimestamp" not in left.get("metadata", {}), f"{path} stays: {left}"

    def ask(
        self, method: str, path: str, body: Free | None = None, kind: str = "application/json"
    ) -> tuple[int, bytes]:
        """The answer, whatever it is.

        A connection that was open may have ended with the server at its other end, or for having
        been idle; so it is tried once more on a new one. Everything asked here may be said twice.
        """
        with self._lock:
            try:
                if self._connection is not None:
                    return self._answer(self._connection, method, path, body, kind)
            except (HTTPException, OSError):
                self.close()
            port, limit_s = self._server.port, LIMIT_S
            self._connection = HTTPSConnection(
                "127.0.0.1", port, context=self._tls, timeout=limit_s
            )
            return self._answer(self._connection, method, path, body, kind)

    @staticmethod
    def _answer(
        connection: HTTPSConnection, method: str, path: str, body: Free | None, kind: str
    ) -> tuple[int, bytes]:
        text = None if body is None else json.dumps(body).encode()
        connection.request(method, path, text, {"Content-Type": kind, "Accept": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read()


def _accepted(method: str, path: str, code: int, body: bytes) -> Free:
    assert 200 <= code < 300, f"{method} {path}: {code} {body.decode()}"
    found: Free = json.loads(body)
    return found


def _names_an_object(body: bytes) -> bool:
    """Whether the object is missing: of a kind that is missing the API server says nothing."""
    return body.startswith(b"{") and "name" in (json.loads(body).get("details") or {})
