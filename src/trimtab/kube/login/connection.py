"""The seam to lightkube: from a kubeconfig or a service account to an authenticated HTTP client.

lightkube does what need not be written twice: kubeconfig, TLS, tokens re-read when they
expire. We take its connection and speak to the API over it ourselves, because
its own requests have no bookmarks and decode a list three times slower than its bytes allow
(docs/decisions/0004). No other module imports it.
"""

import asyncio
import os
import shutil
from base64 import b64decode
from collections.abc import AsyncGenerator, Mapping, Sequence
from ipaddress import ip_address
from pathlib import Path

import httpx2
from lightkube.config.client_adapter import ConnectionParams
from lightkube.config.kubeconfig import SERVICE_ACCOUNT, KubeConfig, SingleConfig
from lightkube.config.models import User, UserExec
from lightkube.core.exceptions import ConfigError as LightkubeError
from msgspec import MsgspecError, Struct, json

from trimtab.errors import ConfigError
from trimtab.kube.http.transport import Transport
from trimtab.kube.login.kubeconfig import read

Config = SingleConfig
TRANSPORT_ERRORS = (httpx2.HTTPError, httpx2.StreamError, LightkubeError, OSError)


def kubeconfig(files: Path | Sequence[Path], context: str | None = None) -> Config:
    """The cluster and user that a context (by default the current one) of the files names."""
    given = [files] if isinstance(files, Path) else list(files)
    merged = read(given, context)
    try:
        config = KubeConfig.from_dict(merged).get()
    except Exception as error:  # a value of a wrong type surfaces as whatever the parser met
        said = ", ".join(map(str, given))
        raise ConfigError(f"kubeconfig {said}: not a kubeconfig ({error!r})") from error
    assert config is not None  # `read` made sure that there is a context with a cluster and a user
    return config


def service_account(directory: Path = Path(SERVICE_ACCOUNT)) -> Config:
    """The identity of the pod that we run in."""
    try:
        config = KubeConfig.from_service_account(directory).get()
    except (LightkubeError, KeyError) as error:
        raise ConfigError(
            f"no service account at {directory} ({error}); outside a pod pass --kubeconfig"
        ) from error
    assert config is not None  # from_service_account always makes one context, and selects it
    return config


def with_token(config: Config, token: str) -> Config:
    """The same cluster for the bearer of this token, with nothing of the first user's."""
    return config._replace(user=User(token=token))


def connect(config: Config, agent: str, timeout_s: float) -> httpx2.AsyncClient:
    """An HTTP client for that cluster as that user; nothing is sent yet."""
    try:
        params = ConnectionParams(timeout=httpx2.Timeout(timeout_s), trust_env=False).httpx_params(
            config
        )
    except (LightkubeError, OSError, ValueError, TypeError) as error:
        raise ConfigError(
            f"cluster {config.cluster.server}: its certificates cannot be used: {error}"
        ) from error
    user = config.user
    if user is not None and user.exec and not (user.token or user.token_file):
        params["auth"] = ExecAuth(user.exec)
    params["transport"] = Transport(params["verify"])
    headers = {"Accept": "application/json", "User-Agent": agent}
    if is_loopback(httpx2.URL(config.cluster.server).host):
        headers["Accept-Encoding"] = "identity"  # gzip costs both sides more than loopback does
    return httpx2.AsyncClient(**params, headers=headers)


async def bearer_token(config: Config) -> str:
    """The token of that user; empty if it logs in by a certificate or a password."""
    user = config.user
    if user is None:
        return ""
    if user.token_file:
        return _token_in(Path(user.token_file))
    return user.token or (await ask(user.exec) if user.exec else "")


def _token_in(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"token file {file}: it cannot be read: {error}") from error


def authority(config: Config) -> str:
    """The PEM text of the cluster's certificate authority; empty if it names none."""
    cluster = config.cluster
    try:
        if cluster.certificate_auth_data:
            return b64decode(cluster.certificate_auth_data).decode()
        if cluster.certificate_auth:
            return Path(cluster.certificate_auth).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"cluster {cluster.server}: its certificate authority cannot be read: {error}"
        ) from error
    return ""


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


# Logging in by an exec plugin: a program that prints a token (aws, gke-gcloud-auth-plugin, …).
#
# lightkube has this too, but it refuses the API version v1, does not tell the plugin which
# version is asked for, and ends in a KeyError when the plugin answers without a token.
_GROUP = "client.authentication.k8s.io"
VERSIONS = (f"{_GROUP}/v1", f"{_GROUP}/v1beta1", f"{_GROUP}/v1alpha1")


class _Status(Struct, frozen=True):
    token: str = ""


class _Credential(Struct, frozen=True):
    status: _Status = _Status()


class ExecAuth(httpx2.Auth):
    """Asks the plugin once, and again when the server no longer takes the token."""

    def __init__(self, plugin: UserExec) -> None:
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


def check(plugin: UserExec) -> None:
    """Refuse what cannot work before the first request."""
    if plugin.apiVersion not in VERSIONS:
        raise ConfigError(
            f"exec plugin {plugin.command}: apiVersion {plugin.apiVersion} is not supported; "
            f"use {VERSIONS[0]}"
        )
    if shutil.which(plugin.command, path=_environment(plugin).get("PATH")) is None:
        hint = " ".join((plugin.installHint or "install it, or use another context").split())
        raise ConfigError(f"exec plugin {plugin.command} is not on the PATH; {hint}")


async def ask(plugin: UserExec) -> str:
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


def _environment(plugin: UserExec) -> dict[str, str]:
    info = {"apiVersion": plugin.apiVersion, "kind": "ExecCredential"}
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
