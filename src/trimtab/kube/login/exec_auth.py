"""Logging in by an exec plugin: a program that prints a token (aws, gke-gcloud-auth-plugin, …).

lightkube has this too, but it refuses the API version v1, does not tell the plugin which
version is asked for, and ends in a KeyError when the plugin answers without a token.
"""

import asyncio
import os
import shutil
from collections.abc import AsyncGenerator, Mapping, Sequence

import httpx2
from lightkube.config.models import UserExec
from msgspec import MsgspecError, Struct, json

from trimtab.errors import ConfigError

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
