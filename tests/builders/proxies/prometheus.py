"""A proxy in front of a real Prometheus that answers the next range queries as it is told to.

It can also hide metrics, as if nobody had scraped them, and show a server whose clock, and with
it every sample, is off.
"""

import json
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self
from urllib.parse import parse_qs, urlencode

_ANSWERS = {
    "422": (
        422,
        {"errorType": "execution", "error": "query processing would load too many samples"},
    ),
    "503": (503, {"errorType": "unavailable", "error": "overloaded"}),
}


def _points(body: bytes) -> float:
    """How many moments a range query is about."""
    asked = parse_qs(body.decode())
    start, end, step = (float(asked[name][0]) for name in ("start", "end", "step"))
    return (end - start) / step + 1


class ScriptedPrometheus:
    """Use as a context manager; each fault of the script is spent on one range query."""

    def __init__(
        self,
        upstream: str,
        faults: list[str],
        *,
        delay_s: float = 0.0,
        most: int = 11_000,
        hidden: tuple[str, ...] = (),
        skew_s: float = 0.0,
    ) -> None:
        self.left, self._upstream, self._delay_s = list(faults), upstream, delay_s
        self._hidden, self._skew_s = hidden, skew_s
        self._ended = threading.Event()
        self._most = most
        """Points of a series beyond which a query is too much."""
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                proxy._answer(self)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers["Content-Length"]))
        fault = ""
        if request.path.endswith("query_range"):
            time.sleep(self._delay_s)
            with self._lock:
                fault = self.left.pop(0) if self.left else ""
            if _points(body) > self._most:
                fault = "422"
        if fault in _ANSWERS:
            code, error = _ANSWERS[fault]
            self._send(request, code, json.dumps({"status": "error", **error}).encode())
            return
        if fault == "hang":
            self._ended.wait(60)  # whoever asked gives up long before
            return
        code, data = self._forward(request, self._asked(body))
        data = self._later(data) if self._skew_s else data
        if fault == "partial":
            data = json.dumps({**json.loads(data), "warnings": ["a store is missing"]}).encode()
        self._send(request, code, data, cut=fault == "cut")

    def _asked(self, body: bytes) -> bytes:
        """The question in the real server's time, with names that nobody has for hidden metrics."""
        asked = {name: values[0] for name, values in parse_qs(body.decode()).items()}
        for metric in self._hidden:
            asked["query"] = asked["query"].replace(metric, "hidden_")
        for name in ("time", "start", "end"):
            if name in asked:
                asked[name] = repr(float(asked[name]) - self._skew_s)
        return urlencode(asked).encode()

    def _later(self, data: bytes) -> bytes:
        """The answer in the time of a server whose clock is off."""
        answer = json.loads(data)
        found = answer["data"]["result"]
        if answer["data"]["resultType"] == "scalar":  # time() itself
            found[:] = [found[0] + self._skew_s, repr(float(found[1]) + self._skew_s)]
        else:
            for series in found:
                for point in [*series.get("values", ()), *filter(None, [series.get("value")])]:
                    point[0] += self._skew_s
        return json.dumps(answer).encode()

    def _forward(self, request: BaseHTTPRequestHandler, body: bytes) -> tuple[int, bytes]:
        url = f"{self._upstream}{request.path}"
        asked = urllib.request.Request(url, body, {"Content-Type": request.headers["Content-Type"]})
        try:
            with urllib.request.urlopen(asked, timeout=60) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def _send(
        self, request: BaseHTTPRequestHandler, code: int, data: bytes, *, cut: bool = False
    ) -> None:
        try:
            request.send_response(code)
            request.send_header("Content-Type", "application/json")
            request.send_header("Content-Length", str(len(data)))
            request.end_headers()
            request.wfile.write(data[: len(data) // 2] if cut else data)
            request.close_connection = True
        except (BrokenPipeError, ConnectionResetError):
            pass  # whoever asked was killed
