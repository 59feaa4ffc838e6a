"""An API server that has always the same objects: lists in pages, watches that say nothing.

For figures about clients: it costs next to nothing itself, so ten thousand pods are quick.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import yaml

Objects = Mapping[str, Sequence[dict[str, Any]]]
"""The last part of the path (`pods`, `nodes`) and what is listed there"""


@contextmanager
def canned_api(objects: Objects) -> Iterator[int]:
    """Its port; plain HTTP on loopback."""
    stopped = Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # head and body are two writes

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            asked = {name: values[0] for name, values in parse_qs(url.query).items()}
            if "watch" in asked:
                self.send_response(200)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                stopped.wait()
                return
            body = _page(objects.get(url.path.rpartition("/")[2], ()), asked)
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        stopped.set()
        server.shutdown()
        thread.join()
        server.server_close()


def _page(objects: Sequence[dict[str, Any]], asked: Mapping[str, str]) -> bytes:
    start, size = int(asked.get("continue", "0")), int(asked.get("limit", "500"))
    end = start + size
    meta = {"resourceVersion": "1"} | ({"continue": str(end)} if end < len(objects) else {})
    return json.dumps({"metadata": meta, "items": objects[start:end]}).encode()


def kubeconfig_for(directory: Path, port: int) -> Path:
    """A kubeconfig for an API server on a plain port of this computer."""
    path = directory / "kubeconfig"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    }
    path.write_text(yaml.safe_dump(config))
    return path
