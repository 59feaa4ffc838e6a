"""A real Prometheus on a free loopback port, for as long as a `with` block."""

import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from builders.waiting import LIMIT_S, wait_until
from conformance.apiserver import free_port
from trimtab.engines import locate


@contextmanager
def running_prometheus(directory: Path, config: str, **files: str) -> Iterator[str]:
    """Its URL, once it is ready; `files` are written beside the configuration."""
    for name, text in files.items():
        (directory / name.replace("__", ".")).write_text(text)
    (directory / "prometheus.yml").write_text(config)
    port = free_port()
    command = [
        str(locate("prometheus")),
        "--config.file=prometheus.yml",
        f"--web.listen-address=127.0.0.1:{port}",
        "--storage.tsdb.path=data",
        "--scrape.discovery-reload-interval=100ms",
    ]
    with (directory / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=directory, stdout=log, stderr=log)
    try:
        _await_ready(process, f"http://127.0.0.1:{port}/-/ready", directory / "prometheus.log")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=LIMIT_S)


def _await_ready(process: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
    def answers() -> bool:
        if process.poll() is not None:
            raise AssertionError(f"Prometheus ended at once:\n{log.read_text()}")
        try:
            with urllib.request.urlopen(url, timeout=20):
                return True
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False

    wait_until(answers, f"Prometheus is not ready, see {log}")
