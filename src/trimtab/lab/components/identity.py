"""Who is who in a lab: each program acts under its own name, so RBAC and managedFields can tell.

Programs of the control plane have client certificates; trimtab's services are ServiceAccounts
in trimtab-system with tokens in files, exactly as in a cluster. All of them get a kubeconfig
`pki/<name>.kubeconfig`.
"""

import base64
from typing import Any

from msgspec import Struct

from trimtab.files.yaml import as_yaml
from trimtab.model.names import SYSTEM_NAMESPACE

NAMESPACE = SYSTEM_NAMESPACE


class ClientCert(Struct, frozen=True):
    """A certificate that says: I am user `user`, in `groups`."""

    name: str
    user: str
    groups: tuple[str, ...] = ()


class ServerCert(Struct, frozen=True):
    """A certificate for a port of ours; `hosts` are names and addresses besides the loopback's.

    A name with a slash puts it into a directory of its own below `pki`.
    """

    name: str
    hosts: tuple[str, ...] = ()


class ServiceIdentity(Struct, frozen=True):
    """The ServiceAccount `namespace`:`name`; its token is in `pki/<name>.token`.

    The lab makes accounts in its own namespace; a stack that names another one makes it.
    """

    name: str
    lifetime_s: int = 3600
    renew_after_s: float = 2400.0
    namespace: str = NAMESPACE


def kubeconfig_file(name: str) -> str:
    """Where `name`'s kubeconfig is, seen from the lab's directory."""
    return f"pki/{name}.kubeconfig"


def token_file(name: str) -> str:
    """Where a service's token is, seen from the lab's directory."""
    return f"pki/{name}.token"


def by_certificate(lab: str, server: str, ca: bytes, cert: bytes, key: bytes) -> str:
    """A kubeconfig with everything inside, so that it can be copied elsewhere."""
    user = {"client-certificate-data": _base64(cert), "client-key-data": _base64(key)}
    return _kubeconfig(lab, server, ca, user)


def by_token(lab: str, server: str, ca: bytes, token: str) -> str:
    """A kubeconfig that reads the token at each use, so that a renewed one needs no restart."""
    return _kubeconfig(lab, server, ca, {"tokenFile": token})


def _kubeconfig(lab: str, server: str, ca: bytes, user: dict[str, str]) -> str:
    name = f"trimtab-{lab}"
    config: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": name,
                "cluster": {"server": server, "certificate-authority-data": _base64(ca)},
            }
        ],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    return as_yaml(config)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
