"""The real kube-scheduler on an API server, and what it says about one pod after the other.

Which nodes passed its filters is told by an extender: the scheduler asks it about exactly those
nodes, and it refuses none. Nodes are objects only, nothing runs.
"""

import json
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import yaml

from builders.waiting import LIMIT_S
from conformance.apiserver import ApiServer, running_apiserver
from trimtab.engines import locate

Object = dict[str, Any]
PROBE = "probe"


class RealScheduler:
    """`schedule` creates a pod and says which nodes were feasible and which one was chosen."""

    def __init__(self, server: ApiServer, asked: Mapping[str, frozenset[str]]) -> None:
        self._asked = asked
        self._api = HTTPSConnection("127.0.0.1", server.port, context=server.tls(), timeout=LIMIT_S)

    def schedule(self, pod: Object) -> tuple[frozenset[str], str | None]:
        self.create(pod)
        path = _path(pod)
        deadline = time.monotonic() + LIMIT_S
        while time.monotonic() < deadline:
            seen = self._call("GET", path)
            if node := seen["spec"].get("nodeName"):
                return self._asked[pod["metadata"]["name"]], node
            conditions = seen.get("status", {}).get("conditions", [])
            if any(c["reason"] == "Unschedulable" for c in conditions if c["status"] == "False"):
                return frozenset(), None
            time.sleep(0.004)
        raise TimeoutError(f"no verdict about {path}: {seen}")

    def create(self, pod: Object) -> None:
        self._call("POST", _path(pod).rpartition("/")[0], pod)

    def delete(self, pod: Object) -> None:
        self._call("DELETE", f"{_path(pod)}?gracePeriodSeconds=0")

    def namespace(self, name: str) -> None:
        self._call("POST", "/api/v1/namespaces", {"metadata": {"name": name}})

    def replace_nodes(self, old: list[str], nodes: list[Object]) -> None:
        """Other nodes instead of the old ones, seen by the scheduler when this returns."""
        self.remove_nodes(old)
        for node in nodes:
            self._call("POST", "/api/v1/nodes", node)
        names = frozenset(node["metadata"]["name"] for node in nodes)
        deadline = time.monotonic() + LIMIT_S
        for number in range(10_000):
            probe = _probe(f"{PROBE}-{nodes[0]['metadata']['name']}-{number}")
            feasible, _ = self.schedule(probe)
            self.delete(probe)
            if feasible == names:
                return
            assert time.monotonic() < deadline, f"the scheduler sees {sorted(feasible)}"

    def remove_nodes(self, names: list[str]) -> None:
        for name in names:
            self._call("DELETE", f"/api/v1/nodes/{name}")

    def close(self) -> None:
        self._api.close()

    def _call(self, verb: str, path: str, body: Object | None = None) -> Any:
        text = None if body is None else json.dumps(body)
        self._api.request(verb, path, text, {"Content-Type": "application/json"})
        answer = self._api.getresponse()
        content = json.loads(answer.read())
        assert answer.status < 300, content
        return content


def _probe(name: str) -> Object:
    """A pod that every node with a place for a pod takes, cordoned or tainted."""
    return {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "containers": [{"name": "c", "image": "none"}],
            "tolerations": [{"operator": "Exists"}],
        },
    }


def _path(pod: Object) -> str:
    meta = pod["metadata"]
    return f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"


@contextmanager
def real_scheduler() -> Iterator[RealScheduler]:
    """For the time of the block; new nodes get no taint for not being ready."""
    with (
        running_apiserver(without=("TaintNodesByCondition",)) as server,
        _extender() as (url, asked),
    ):
        config = server.directory / "scheduler.yaml"
        config.write_text(yaml.safe_dump(_configuration(str(server.kubeconfig), url)))
        with (server.directory / "kube-scheduler.log").open("wb") as log:
            argv = [str(locate("kube-scheduler")), f"--config={config}", "--secure-port=0"]
            process = subprocess.Popen(argv, stdout=log, stderr=log, start_new_session=True)
        found = RealScheduler(server, asked)
        try:
            yield found
        finally:
            found.close()
            process.kill()
            process.wait()


def _configuration(kubeconfig: str, extender: str) -> Object:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": kubeconfig, "qps": 5000, "burst": 10000},
        "leaderElection": {"leaderElect": False},
        "extenders": [{"urlPrefix": extender, "filterVerb": "filter", "nodeCacheCapable": True}],
    }


@contextmanager
def _extender() -> Iterator[tuple[str, dict[str, frozenset[str]]]]:
    asked: dict[str, frozenset[str]] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            given = {key.lower(): value for key, value in body.items()}
            asked[given["pod"]["metadata"]["name"]] = frozenset(given["nodenames"])
            answer = json.dumps({"NodeNames": given["nodenames"]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
        server.shutdown()
