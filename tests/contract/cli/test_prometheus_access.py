"""Reaching a Prometheus behind TLS: whom it trusts, whom we trust, and what goes wrong."""

import asyncio
import base64
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import trustme
import yaml

from trimtab.cli.cluster.options import PrometheusAccess
from trimtab.cli.cluster.prometheus import belongs_to, open_prometheus
from trimtab.errors import ConfigError, Unavailable
from trimtab.kube.client import Client

TOKEN = "sha256~right"
ONE = b'{"status":"success","data":{"resultType":"scalar","result":[1,"1"]}}'
CA = trustme.CA()


class _Monitoring(BaseHTTPRequestHandler):
    """What an OpenShift route shows: TLS of the cluster's authority, and a token or nothing."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        right = self.headers.get("Authorization") == f"Bearer {TOKEN}"
        self.send_response(200 if right else 403)
        self.end_headers()
        self.wfile.write(ONE if right else b"Forbidden")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    CA.issue_cert("127.0.0.1").configure_cert(context)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Monitoring)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def authority(tmp_path: Path) -> Path:
    CA.cert_pem.write_to_path(str(tmp_path / "ca.crt"))
    return tmp_path / "ca.crt"


def query(url: str, access: PrometheusAccess, kubeconfig: Path | None = None) -> float:
    async def run() -> float:
        client = None if kubeconfig is None else Client.from_kubeconfig(kubeconfig)
        async with open_prometheus(url, access, client) as prometheus:
            assert prometheus is not None, "there is an address"
            return (await prometheus.instant("1"))[0].value

    return asyncio.run(run())


def a_kubeconfig(file: Path, server: str, **user: str) -> Path:
    data = base64.b64encode(CA.cert_pem.bytes()).decode()
    config = {
        "current-context": "x",
        "clusters": [
            {"name": "x", "cluster": {"server": server, "certificate-authority-data": data}}
        ],
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        "users": [{"name": "x", "user": user}],
    }
    file.write_text(yaml.safe_dump(config))
    return file


def test_a_private_authority_and_a_token_are_given(port: int, authority: Path) -> None:
    file = authority.with_name("token")
    file.write_text(f"{TOKEN}\n")
    url = f"https://127.0.0.1:{port}"
    assert query(url, PrometheusAccess(ca=authority, token=TOKEN)) == 1.0
    assert query(url, PrometheusAccess(ca=authority, token_file=file)) == 1.0


def test_the_kubeconfig_has_both_already(port: int, tmp_path: Path) -> None:
    config = a_kubeconfig(tmp_path / "config", "https://127.0.0.1:6443", token=TOKEN)
    assert query(f"https://127.0.0.1:{port}", PrometheusAccess(), config) == 1.0


def test_a_token_is_not_sent_to_strangers(port: int, tmp_path: Path) -> None:
    config = a_kubeconfig(tmp_path / "config", "https://api.demo.test:6443", token=TOKEN)
    assert query(f"https://127.0.0.1:{port}", PrometheusAccess(), config) == 1.0  # a forwarded port
    assert belongs_to("https://thanos.apps.demo.test", "https://api.demo.test:6443")
    assert belongs_to("https://thanos-querier.openshift-monitoring.svc:9091", "https://172.30.0.1")
    assert not belongs_to("https://prometheus.elsewhere.test", "https://api.demo.test:6443")
    assert not belongs_to("https://demo.test.evil.test", "https://api.demo.test:6443")
    assert not belongs_to("https://10.0.0.7", "https://10.0.0.6:6443")
    assert not belongs_to("https://other.com", "https://api.com:6443")


@pytest.mark.parametrize(
    ("access", "told"),
    [
        (
            PrometheusAccess(),
            "certificate is not trusted .* give its authority with --prometheus-ca FILE",
        ),
        (PrometheusAccess(ca=Path("ca.crt")), r"refuses this user \(HTTP 403\); give a token"),
    ],
)
def test_tls_and_rights_are_named(
    access: PrometheusAccess, told: str, port: int, authority: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(authority.parent)
    with pytest.raises(Unavailable, match=told):
        query(f"https://127.0.0.1:{port}", access)


def test_a_certificate_for_another_name_and_plain_http_are_named(
    port: int, authority: Path
) -> None:
    with pytest.raises(Unavailable, match="certificate is for another name"):
        query(f"https://localhost:{port}", PrometheusAccess(ca=authority))
    with pytest.raises(Unavailable, match="does not answer"):
        query(f"http://127.0.0.1:{port}", PrometheusAccess())


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "--prometheus-ca .*: No such file or directory"),
        (b"\xff\xfe", "--prometheus-ca .*: it is not UTF-8 text"),
        (b"no certificate", "is not PEM"),
    ],
)
def test_a_bad_file_is_named(content: bytes | None, told: str, tmp_path: Path) -> None:
    file = tmp_path / "ca"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigError, match=told):
        query("https://127.0.0.1:1", PrometheusAccess(ca=file))


class _Stranger(_Monitoring):
    answer = b""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.answer)


@pytest.mark.parametrize(
    "answer",
    [
        b"<html>",
        b"{}",
        b'{"status": "ok"}',
        b'{"status": "success", "data": 3}',
        b'{"status": "success", "data": {"resultType": "vector", "result": 3}}',
    ],
)
def test_an_answer_that_is_not_prometheus_is_named(answer: bytes) -> None:
    handler = type("Stranger", (_Stranger,), {"answer": answer})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        with pytest.raises(Unavailable, match="answered 200 and not as Prometheus does"):
            query(f"http://127.0.0.1:{server.server_port}", PrometheusAccess())
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
