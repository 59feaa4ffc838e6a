"""A real kube-apiserver on etcd, and nothing else: no scheduler, no controllers.

Starts in about three seconds in a directory of its own, with certificates of its own, on
loopback. Tests may kill and restart the API server; etcd keeps the data.
"""

import os
import random
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import trustme
import yaml
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from trimtab.engines import locate

START_S = 400.0
PORTS = (20_000, 32_000)
"""Below what the kernel gives to connections and to whoever asks for any port."""
ADMIN = ("admin", "system:masters")
GARBAGE = "400"
"""Go's GOGC: a start takes 3.1 s of CPU time instead of 3.7, and 370 MiB instead of 260."""


class ApiServer:
    """A running API server; `kubeconfig` is for its administrator."""

    def __init__(self, directory: Path, *, without: tuple[str, ...] = ()) -> None:
        """without: names of admission plugins that are left out."""
        self.directory, self._without = directory, without
        self.port = free_port()
        self.ca = trustme.CA(key_type=trustme.KeyType.ECDSA)
        self._write_keys()
        self.kubeconfig = self.kubeconfig_for(self.url, *ADMIN)
        self._etcd: subprocess.Popen[bytes] | None = None
        self._server: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._server is not None
        return self._server.pid

    def kubeconfig_for(self, url: str, user: str, group: str = "") -> Path:
        """A kubeconfig for `user`, a member of `group`, at `url` (perhaps a proxy's)."""
        name = f"{user}-{url.rpartition(':')[2]}"
        # the e-mail only because Go refuses trustme's critical but empty list of names
        cert = self.ca.issue_cert("a@b.test", common_name=user, organization_name=group or None)
        self._secret(f"{name}.pem", cert.private_key_and_cert_chain_pem.bytes())
        pem = str(self.directory / f"{name}.pem")
        cluster = {"server": url, "certificate-authority": str(self.directory / "ca.crt")}
        text = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": user, "user": {"client-certificate": pem, "client-key": pem}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": user}}],
        }
        return self._secret(f"{name}.kubeconfig", yaml.safe_dump(text).encode())

    def start(self) -> None:
        """Bring up what is not running and wait until the API is ready."""
        if self._etcd is None:
            self._etcd = self._spawn("etcd", *etcd_flags())
        self._server = self._spawn("kube-apiserver", *apiserver_flags(self.port, self._without))
        deadline = time.monotonic() + START_S
        while not self._ready():
            if self._server.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"kube-apiserver did not start:\n{self.log('kube-apiserver')}")
            time.sleep(0.05)

    def kill(self, sig: signal.Signals = signal.SIGKILL) -> None:
        """End the API server; etcd stays."""
        if self._server is not None:
            self._server.send_signal(sig)
            self._server.wait()
            self._server = None

    def stop(self) -> None:
        self.kill()
        if self._etcd is not None:
            self._etcd.kill()
            self._etcd.wait()
            self._etcd = None

    def log(self, program: str) -> str:
        return (self.directory / f"{program}.log").read_text()[-4000:]

    def tls(self) -> ssl.SSLContext:
        """What a client needs to be the administrator."""
        context = ssl.create_default_context(cafile=self.directory / "ca.crt")
        context.load_cert_chain(self.directory / f"admin-{self.port}.pem")
        return context

    def _ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/readyz", context=self.tls(), timeout=5):
                return True
        except (urllib.error.URLError, OSError):
            return False

    def _write_keys(self) -> None:
        serving = self.ca.issue_cert("127.0.0.1", "localhost", common_name="kube-apiserver")
        account = ec.generate_private_key(ec.SECP256R1())
        # kube-apiserver reads EC keys in SEC1 form only
        sec1 = account.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
        self._secret("ca.crt", self.ca.cert_pem.bytes())
        self._secret("serving.pem", serving.private_key_and_cert_chain_pem.bytes())
        self._secret("sa.key", sec1)

    def _secret(self, name: str, content: bytes) -> Path:
        path = self.directory / name
        with os.fdopen(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as out:
            out.write(content)
        return path

    def _spawn(self, program: str, *flags: str) -> subprocess.Popen[bytes]:
        with (self.directory / f"{program}.log").open("ab") as log:
            return subprocess.Popen(
                [locate(program), *flags],
                cwd=self.directory,  # both programs find etcd's socket relative to it
                env={"GOGC": GARBAGE, **os.environ},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )


def etcd_flags() -> list[str]:
    peer = "unix://peer.sock:0"
    return [
        "--name=n0",
        "--data-dir=etcd",
        "--listen-client-urls=unix://etcd.sock:0",
        "--advertise-client-urls=unix://etcd.sock:0",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=n0={peer}",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def apiserver_flags(port: int, without: tuple[str, ...] = ()) -> list[str]:
    return [
        "--etcd-servers=unix://etcd.sock:0",
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        "--endpoint-reconciler-type=none",
        "--tls-cert-file=serving.pem",
        "--tls-private-key-file=serving.pem",
        "--client-ca-file=ca.crt",
        "--service-account-key-file=sa.key",
        "--service-account-signing-key-file=sa.key",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--authorization-mode=Node,RBAC",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--profiling=false",
        "--enable-priority-and-fairness=false",
        "--max-requests-inflight=0",
        "--max-mutating-requests-inflight=0",
        # nobody creates the accounts here
        f"--disable-admission-plugins={','.join(('ServiceAccount', *without))}",
    ]


def free_port() -> int:
    """A port that nobody has: no connection is given one from below, so it stays free."""
    while True:
        port = random.SystemRandom().randrange(*PORTS)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


@contextmanager
def running_apiserver(*, without: tuple[str, ...] = ()) -> Iterator[ApiServer]:
    """An API server for the time of the block; its directory (0700) is removed afterwards."""
    directory = Path(tempfile.mkdtemp(prefix="trimtab-apiserver-"))
    server = ApiServer(directory, without=without)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(directory, ignore_errors=True)
