"""Which API server, and as whom: a kubeconfig's context, or the service account of a pod."""

import os
from base64 import b64decode
from collections.abc import Sequence
from pathlib import Path

from msgspec import MsgspecError, Struct, convert, field, structs

from trimtab.errors import ConfigError
from trimtab.kube.login.kubeconfig import read

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class ClusterEntry(Struct, frozen=True):
    """An API server, and how to know that it is the right one."""

    server: str = "http://localhost:8080"
    authority_file: str | None = field(name="certificate-authority", default=None)
    authority_data: str | None = field(name="certificate-authority-data", default=None)
    insecure: bool = field(name="insecure-skip-tls-verify", default=False)


class Variable(Struct, frozen=True):
    """A variable in the environment of an exec plugin."""

    name: str
    value: str


class ExecPlugin(Struct, frozen=True, rename="camel"):
    """A program that prints a token."""

    api_version: str
    command: str
    env: tuple[Variable, ...] | None = None
    args: tuple[str, ...] | None = None
    install_hint: str | None = None


class UserEntry(Struct, frozen=True):
    """Ways to log in; of several the file with a token comes first, then the token."""

    exec: ExecPlugin | None = None
    username: str | None = None
    password: str | None = None
    token: str | None = None
    token_file: str | None = field(name="tokenFile", default=None)
    certificate_file: str | None = field(name="client-certificate", default=None)
    certificate_data: str | None = field(name="client-certificate-data", default=None)
    key_file: str | None = field(name="client-key", default=None)
    key_data: str | None = field(name="client-key-data", default=None)


class Config(Struct, frozen=True):
    """One cluster as one user; paths are absolute."""

    cluster: ClusterEntry
    user: UserEntry
    namespace: str = "default"


def kubeconfig(files: Path | Sequence[Path], context: str | None = None) -> Config:
    """The cluster and user that a context (by default the current one) of the files names."""
    given = [files] if isinstance(files, Path) else list(files)
    chosen, cluster, user = read(given, context)
    try:
        return Config(
            cluster=convert(cluster, ClusterEntry),
            user=convert(user, UserEntry),
            namespace=convert(chosen.get("namespace") or "default", str),
        )
    except MsgspecError as error:
        said = ", ".join(map(str, given))
        raise ConfigError(f"kubeconfig {said}: not a kubeconfig ({error})") from error


def service_account(directory: Path = SERVICE_ACCOUNT) -> Config:
    """The identity of the pod that we run in."""
    try:
        namespace = (directory / "namespace").read_text(encoding="utf-8")
        (directory / "token").read_text(encoding="utf-8")
        host = os.environ["KUBERNETES_SERVICE_HOST"]
        port = os.environ["KUBERNETES_SERVICE_PORT"]
    except (FileNotFoundError, KeyError) as error:
        raise ConfigError(
            f"no service account at {directory} ({error}); outside a pod pass --kubeconfig"
        ) from error
    if ":" in host:  # IPv6
        host = f"[{host}]"
    return Config(
        cluster=ClusterEntry(f"https://{host}:{port}", authority_file=str(directory / "ca.crt")),
        user=UserEntry(token_file=str(directory / "token")),
        namespace=namespace,
    )


def with_token(config: Config, token: str) -> Config:
    """The same cluster for the bearer of this token, with nothing of the first user's."""
    return structs.replace(config, user=UserEntry(token=token))


def authority(config: Config) -> str:
    """The PEM text of the cluster's certificate authority; empty if it names none."""
    cluster = config.cluster
    try:
        if cluster.authority_data:
            return b64decode(cluster.authority_data).decode()
        if cluster.authority_file:
            return Path(cluster.authority_file).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"cluster {cluster.server}: its certificate authority cannot be read: {error}"
        ) from error
    return ""
