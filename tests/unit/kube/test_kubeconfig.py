"""Kubeconfigs as users have them: several files, contexts, logins that we have and have not."""

import asyncio
import stat
from base64 import b64encode
from pathlib import Path
from typing import Any

import httpx2
import pytest
import trustme
import yaml

from trimtab.errors import ConfigError
from trimtab.kube.login.config import authority, kubeconfig, service_account, with_token
from trimtab.kube.login.connection import bearer_token, connect


def a_config(user: dict[str, Any], cluster: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "current-context": "one",
        "clusters": [{"name": "c", "cluster": {"server": "https://one:6443"} | (cluster or {})}],
        "contexts": [
            {"name": "one", "context": {"cluster": "c", "user": "u"}},
            {"name": "two", "context": {"cluster": "c", "user": "u", "namespace": "there"}},
            {"name": "lost", "context": {"cluster": "gone", "user": "u"}},
        ],
        "users": [{"name": "u", "user": user}],
    }


def written(path: Path, config: object) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(yaml.safe_dump(config))
    return path


def test_of_two_files_the_first_wins_entry_by_entry(tmp_path: Path) -> None:
    second = a_config({"token": "second"}) | {"current-context": "two"}
    first = {"users": [{"name": "u", "user": {"tokenFile": "token"}}], "clusters": None}
    files = [written(tmp_path / "a" / "x", first), written(tmp_path / "y", second)]
    (tmp_path / "a" / "token").write_text("first\n")
    config = kubeconfig(files)
    assert config.namespace == "there"
    assert asyncio.run(bearer_token(config)) == "first"


def test_a_context_is_chosen_by_its_name(tmp_path: Path) -> None:
    file = written(tmp_path / "x", a_config({"token": "t"}))
    assert kubeconfig(file).namespace == "default"
    assert kubeconfig(file, "two").namespace == "there"


@pytest.mark.parametrize(
    ("config", "context", "told"),
    [
        (a_config({}), "three", 'no context "three"; there are: one, two, lost'),
        (a_config({}), "lost", 'context "lost" names no cluster that is there'),
        (a_config({}) | {"users": []}, None, 'context "one" names no user that is there'),
        (a_config({}) | {"current-context": ""}, None, "no current context; name one with --cont"),
        (a_config({"auth-provider": {"name": "gcp"}}), None, 'auth-provider "gcp", which is not'),
        (a_config({"as": "root", "token": "t"}), None, "user.as is not supported"),
        (a_config({}, {"proxy-url": "socks5://x"}), None, "cluster.proxy-url is not supported"),
        (["a list"], None, "not a kubeconfig: it is no YAML mapping"),
        ({"clusters": [1]}, None, "clusters must list entries with a name and a cluster"),
        (a_config({"token": 7}), None, "not a kubeconfig"),
    ],
)
def test_what_cannot_be_done_is_said(
    config: object, context: str | None, told: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=f"kubeconfig {tmp_path}/x: .*{told}"):
        kubeconfig(written(tmp_path / "x", config), context)


def test_a_file_that_is_no_text_is_no_kubeconfig(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="not a kubeconfig"):
        kubeconfig(tmp_path / "x")


@pytest.mark.parametrize("data", [{"client-certificate-data": "!"}, {"client-certificate": "no"}])
def test_a_certificate_that_cannot_be_read_is_one_line(
    data: dict[str, str], tmp_path: Path
) -> None:
    config = kubeconfig(written(tmp_path / "x", a_config(data)))
    with pytest.raises(ConfigError, match="https://one:6443: its certificates cannot be used"):
        connect(config, "test", 1.0)


def encoded(pem: bytes) -> str:
    return b64encode(pem).decode()


@pytest.mark.parametrize("inside", [True, False], ids=["in the kubeconfig", "in files"])
def test_certificates_are_taken_from_files_and_from_the_kubeconfig(
    inside: bool, tmp_path: Path
) -> None:
    ca = trustme.CA()
    mine = ca.issue_cert("me@here")
    chain = b"".join(blob.bytes() for blob in mine.cert_chain_pems)
    pems = {
        "certificate-authority": ca.cert_pem.bytes(),
        "client-certificate": chain,
        "client-key": mine.private_key_pem.bytes(),
    }
    for name, pem in pems.items():
        (tmp_path / name).write_bytes(pem)
    data = {f"{name}-data": encoded(pem) for name, pem in pems.items()}
    entries: dict[str, Any] = data if inside else {name: name for name in pems}
    cluster = {name: entries.pop(name) for name in [*entries] if "authority" in name}
    config = kubeconfig(written(tmp_path / "x", a_config(entries, cluster)))
    assert authority(config).encode() == pems["certificate-authority"]
    client = connect(config, "test", 1.0)
    assert client.base_url == "https://one:6443"
    assert client.auth is None
    asyncio.run(client.aclose())


def test_a_certificate_without_a_key_is_refused(tmp_path: Path) -> None:
    config = kubeconfig(written(tmp_path / "x", a_config({"client-certificate-data": "eA=="})))
    with pytest.raises(ConfigError, match="a client certificate needs a client key"):
        connect(config, "test", 1.0)


def shown(user: dict[str, Any], tmp_path: Path, *answers: int) -> list[str | None]:
    """What a login shows to a server that answers with these codes, request by request."""
    config = kubeconfig(written(tmp_path / "x", a_config(user, {"insecure-skip-tls-verify": True})))
    client = connect(config, "test", 1.0)
    seen: list[str | None] = []
    codes = iter(answers)

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request.headers.get("Authorization"))
        (tmp_path / "token").write_text("new\n")
        return httpx2.Response(next(codes))

    async def ask() -> None:
        transport = httpx2.MockTransport(answer)
        async with httpx2.AsyncClient(transport=transport, auth=client.auth) as twin:
            await twin.get("https://one")
        await client.aclose()

    asyncio.run(ask())
    return seen


def test_a_login_shows_its_token_and_reads_it_again_when_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("old\n")
    file = {"tokenFile": "token", "token": "of the file's owner"}
    assert shown(file, tmp_path, 401, 200) == ["Bearer old", "Bearer new"]
    assert shown({"token": "t"}, tmp_path, 401) == ["Bearer t"]
    assert shown({"username": "u", "password": "p"}, tmp_path, 200) == ["Basic dTpw"]
    assert shown({}, tmp_path, 200) == [None]


def test_a_pod_logs_in_by_its_service_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match=f"no service account at {tmp_path} .* --kubeconfig"):
        service_account(tmp_path)
    for name in ("namespace", "token", "ca.crt"):
        (tmp_path / name).write_text(f"the {name}")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    config = service_account(tmp_path)
    assert (config.cluster.server, config.namespace) == ("https://[fd00::1]:443", "the namespace")
    assert asyncio.run(bearer_token(config)) == "the token"
    assert authority(config) == "the ca.crt"
    assert asyncio.run(bearer_token(with_token(config, "other"))) == "other"


def plugin(path: Path, script: str) -> dict[str, Any]:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(stat.S_IRWXU)
    return {"apiVersion": "client.authentication.k8s.io/v1", "command": f"./{path.name}"}


def test_an_exec_plugin_is_asked_as_kubectl_asks_it(tmp_path: Path) -> None:
    script = """echo "{\\"status\\": {\\"token\\": \\"$1 $HELLO $(echo $KUBERNETES_EXEC_INFO |
      grep -c client.authentication.k8s.io/v1)\\"}}" """
    entry = plugin(tmp_path / "login", script)
    entry |= {"args": ["an-argument"], "env": [{"name": "HELLO", "value": "a-variable"}]}
    config = kubeconfig(written(tmp_path / "x", a_config({"exec": entry})))
    assert asyncio.run(bearer_token(config)) == "an-argument a-variable 1"


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("echo no >&2; echo log in first >&2; exit 3", "ended with 3: log in first"),
        ("echo hello", "it printed no credential"),
        ('echo \'{"status": {"clientKeyData": "x"}}\'', "it gave no token"),
    ],
)
def test_an_exec_plugin_that_fails_says_why(script: str, told: str, tmp_path: Path) -> None:
    entry = plugin(tmp_path / "login", script)
    config = kubeconfig(written(tmp_path / "x", a_config({"exec": entry})))
    with pytest.raises(ConfigError, match=told):
        asyncio.run(bearer_token(config))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"apiVersion": "client.authentication.k8s.io/v9"}, "v9 is not supported; use .*/v1"),
        ({"command": "no-such-plugin", "installHint": "see there"}, "not on the PATH; see there"),
    ],
)
def test_an_exec_plugin_that_cannot_be_run_is_said_first(
    change: dict[str, Any], told: str, tmp_path: Path
) -> None:
    entry = plugin(tmp_path / "login", "") | change
    config = kubeconfig(written(tmp_path / "x", a_config({"exec": entry})))
    with pytest.raises(ConfigError, match=told):
        connect(config, "test", 1.0)
