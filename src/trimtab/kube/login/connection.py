"""From a cluster and a user to an authenticated HTTP client: TLS, tokens, exec plugins."""

import asyncio
import os
import shutil
import ssl
from base64 import b64decode
from collections.abc import AsyncGenerator, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path
from tempfile import NamedTemporaryFile

import httpx2
from msgspec import MsgspecError, Struct, json

from trimtab.errors import ConfigError
from trimtab.kube.http.transport import Transport
from trimtab.kube.login.config import Config, ExecPlugin, UserEntry

TRANSPORT_ERRORS = (httpx2.HTTPError, httpx2.StreamError, OSError)


def connect(config: Config, agent: str, timeout_s: float) -> httpx2.AsyncClient:
    """An HTTP client for that cluster as that user; nothing is sent yet."""
    try:
        tls = _tls(config)
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"cluster {config.cluster.server}: its certificates cannot be used: {error}"
        ) from error
    headers = {"Accept": "application/json", "User-Agent": agent}
    if is_loopback(httpx2.URL(config.cluster.server).host):
        headers["Accept-Encoding"] = "identity"  # gzip costs both sides more than loopback does
    return httpx2.AsyncClient(
        base_url=config.cluster.server,
        auth=_auth(config.user),
        verify=tls,
        transport=Transport(tls),
        timeout=httpx2.Timeout(timeout_s),
        trust_env=False,
        headers=headers,
    )


def _tls(config: Config) -> ssl.SSLContext:
    cluster, user = config.cluster, config.user
    if cluster.authority_data or cluster.authority_file:
        with _as_file(cluster.authority_data, cluster.authority_file) as file:
            context = ssl.create_default_context(cafile=file)
    else:
        context = httpx2.create_ssl_context(verify=not cluster.insecure, trust_env=False)
    if user.certificate_file or user.certificate_data:
        with (
            _as_file(user.certificate_data, user.certificate_file) as certificate,
            _as_file(user.key_data, user.key_file) as key,
        ):
            context.load_cert_chain(certificate, key)
    return context


@contextmanager
def _as_file(data: str | None, file: str | None) -> Iterator[str]:
    """Where a certificate or key is: Python's ssl reads keys from files only. Data come first."""
    if not data:
        if not file:
            raise ValueError("a client certificate needs a client key")
        yield file
        return
    with NamedTemporaryFile() as copy:
        copy.write(b64decode(data))
        copy.flush()
        yield copy.name


def _auth(user: UserEntry) -> httpx2.Auth | None:
    if user.token_file:
        return TokenFileAuth(Path(user.token_file))
    if user.token:
        return TokenAuth(user.token)
    if user.exec is not None:
        return ExecAuth(user.exec)
    if user.username and user.password:
        return httpx2.BasicAuth(user.username, user.password)
    return None


class TokenAuth(httpx2.Auth):
    """Shows one token."""

    def __init__(self, token: str) -> None:
        self._bearer = f"Bearer {token}"

    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response]:
        request.headers["Authorization"] = self._bearer
        yield request


class TokenFileAuth(httpx2.Auth):
    """Shows the token in a file, which the kubelet renews: read again when it is refused."""

    def __init__(self, file: Path) -> None:
        self._file, self._bearer = file, ""

    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response]:
        self._bearer = self._bearer or self._read()
        request.headers["Authorization"] = self._bearer
        response = yield request
        if response.status_code == 401:
            self._bearer = request.headers["Authorization"] = self._read()
            yield request

    def _read(self) -> str:
        return f"Bearer {self._file.read_text(encoding='utf-8').strip()}"


async def bearer_token(config: Config) -> str:
    """The token of that user; empty if it logs in by a certificate or a password."""
    user = config.user
    if user.token_file:
        return _token_in(Path(user.token_file))
    return user.token or (await ask(user.exec) if user.exec else "")


def _token_in(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"token file {file}: it cannot be read: {error}") from error


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


# Logging in by an exec plugin: a program that prints a token (aws, gke-gcloud-auth-plugin, …).
_GROUP = "client.authentication.k8s.io"
VERSIONS = (f"{_GROUP}/v1", f"{_GROUP}/v1beta1", f"{_GROUP}/v1alpha1")


class _Status(Struct, frozen=True):
    token: str = ""


class _Credential(Struct, frozen=True):
    status: _Status = _Status()


class ExecAuth(httpx2.Auth):
    """Asks the plugin once, and again when the server no longer takes the token."""

    def __init__(self, plugin: ExecPlugin) -> None:
        check(plugin)
        self._plugin, self._bearer = plugin, ""

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        if self._bearer:
            request.headers["Authorization"] = self._bearer
            response = yield request
            if response.status_code != 401:
                return
        self._bearer = f"Bearer {await ask(self._plugin)}"
        request.headers["Authorization"] = self._bearer
        yield request


def check(plugin: ExecPlugin) -> None:
    """Refuse what cannot work before the first request."""
    if plugin.api_version not in VERSIONS:
        raise ConfigError(
            f"exec plugin {plugin.command}: apiVersion {plugin.api_version} is not supported; "
            f"use {VERSIONS[0]}"
        )
    if shutil.which(plugin.command, path=_environment(plugin).get("PATH")) is None:
        hint = " ".join((plugin.install_hint or "install it, or use another context").split())
        raise ConfigError(f"exec plugin {plugin.command} is not on the PATH; {hint}")


async def ask(plugin: ExecPlugin) -> str:
    """The token that the plugin prints."""
    command = [plugin.command, *(plugin.args or ())]
    output = await _run(command, _environment(plugin))
    try:
        token = json.decode(output, type=_Credential).status.token
    except MsgspecError as error:
        raise ConfigError(f"exec plugin {plugin.command}: it printed no credential") from error
    if not token:
        raise ConfigError(
            f"exec plugin {plugin.command}: it gave no token; client certificates from a plugin "
            "are not supported"
        )
    return token


def _environment(plugin: ExecPlugin) -> dict[str, str]:
    info = {"apiVersion": plugin.api_version, "kind": "ExecCredential"}
    asked = json.encode(info | {"spec": {"interactive": False}}).decode()
    own = {each.name: each.value for each in plugin.env or ()}
    return {**os.environ, "KUBERNETES_EXEC_INFO": asked, **own}


async def _run(command: Sequence[str], environment: Mapping[str, str]) -> bytes:
    pipe = asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(
            *command, env=environment, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe
        )
    except OSError as error:
        raise ConfigError(f"exec plugin {command[0]}: {error.strerror}") from error
    output, said = await process.communicate()
    if process.returncode != 0:
        last = said.decode(errors="replace").strip().splitlines()[-1:] or ["it said nothing"]
        raise ConfigError(f"exec plugin {command[0]} ended with {process.returncode}: {last[0]}")
    return output
