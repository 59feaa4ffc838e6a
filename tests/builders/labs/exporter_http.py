"""An exporter over real HTTP: an address, or a process of its own for the time of a block."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx2

from builders.values.exporter import by_node
from builders.waiting import LIMIT_S, wait_until

_PORT = re.compile(r'"port": (\d+), "event": "exporter listening"')


class Endpoint:
    """The endpoints of a running exporter."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.http = httpx2.Client(base_url=url, timeout=LIMIT_S, trust_env=False)

    def get(self, path: str) -> httpx2.Response:
        return self.http.get(path)

    def post(self, path: str, body: Any = None, **headers: str) -> httpx2.Response:
        """Text is sent as it is, anything else as JSON."""
        if isinstance(body, str):
            return self.http.post(path, content=body, headers=headers)
        return self.http.post(path, json=body, headers=headers)

    def page(self) -> str:
        response = self.get("/metrics")
        assert response.status_code == 200, response.text
        return response.text

    def metric(self, name: str) -> dict[str, float]:
        """One metric by node."""
        return by_node(self.page(), name)

    def places(self) -> dict[str, str]:
        """The node of every VM that has one."""
        nodes = self.get("/scenario").json()["nodes"]
        return {vm["id"]: node["name"] for node in nodes for vm in node["vms"]}


class ExporterProcess(Endpoint):
    """`trimtab run exporter` as a child; `log` is what it has said so far."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path, port: int) -> None:
        super().__init__(f"http://127.0.0.1:{port}")
        self.process, self._log = process, log

    @property
    def log(self) -> str:
        return self._log.read_text()

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(LIMIT_S)


@contextmanager
def running_exporter(directory: Path, *flags: str) -> Iterator[ExporterProcess]:
    """The exporter with `flags` on a free port; ready, or an error with what it said."""
    log = directory / "exporter.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "trimtab.cli",
                "run",
                "exporter",
                "--listen=127.0.0.1:0",
                *flags,
            ],
            stdout=out,
            stderr=out,
            env=os.environ,
        )
    try:
        exporter = ExporterProcess(process, log, _port(process, log))
        with closing(exporter.http):
            wait_until(lambda: _is_ready(exporter), "the exporter is not ready")
            yield exporter
    finally:
        process.kill()
        process.wait()


def _port(process: subprocess.Popen[bytes], log: Path) -> int:
    def found() -> re.Match[str] | None:
        assert process.poll() is None, f"it ended: {log.read_text()}"
        return _PORT.search(log.read_text())

    listening = wait_until(found, "it does not listen")
    assert listening is not None
    return int(listening[1])


def _is_ready(exporter: Endpoint) -> bool:
    try:
        return exporter.get("/readyz").status_code == 200
    except httpx2.TransportError:  # it does not listen yet
        return False
