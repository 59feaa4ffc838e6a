"""A bare API server, only to read /version: what clients of a lab will see."""

import json
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from trimtab.engines import locate

pytestmark = pytest.mark.engines


@contextmanager
def running(name: str, directory: Path, *flags: str) -> Iterator[subprocess.Popen[bytes]]:
    with (directory / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            [locate(name), *flags], cwd=directory, env={}, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()


@contextmanager
def etcd(directory: Path) -> Iterator[None]:
    peer = "unix://peer.sock:0"
    with running(
        "etcd",
        directory,
        "--name=n0",
        "--data-dir=data",
        "--listen-client-urls=unix://etcd.sock:0",
        "--advertise-client-urls=unix://etcd.sock:0",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=n0={peer}",
        "--unsafe-no-fsync",
    ):
        yield


def a_free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def a_key(directory: Path) -> Path:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    path = directory / "sa.key"
    path.write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    )
    return path


def read_version(port: int, server: subprocess.Popen[bytes], log: Path) -> dict[str, str]:
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    deadline = time.monotonic() + 120
    trouble = "never asked"
    while server.poll() is None and time.monotonic() < deadline:
        try:
            url = f"https://127.0.0.1:{port}/version"
            with urllib.request.urlopen(url, context=trusting, timeout=60) as answer:
                version: dict[str, str] = json.load(answer)
                return version
        except (urllib.error.URLError, OSError) as error:
            trouble = str(error)
            time.sleep(0.1)
    pytest.fail(f"no answer ({trouble})\n{log.read_text()[-2000:]}")


def test_the_api_server_says_which_kubernetes_it_is(tmp_path: Path) -> None:
    port, key = a_free_port(), a_key(tmp_path)
    with (
        etcd(tmp_path),
        running(
            "kube-apiserver",
            tmp_path,
            "--etcd-servers=unix://etcd.sock:0",
            f"--secure-port={port}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
            "--cert-dir=certs",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--authorization-mode=RBAC",
            "--service-cluster-ip-range=10.96.0.0/16",
        ) as server,
    ):
        version = read_version(port, server, tmp_path / "kube-apiserver.log")
    assert (version["gitVersion"], version["major"], version["minor"]) == ("v1.36.3", "1", "36")
    assert version["gitTreeState"] == "clean"
