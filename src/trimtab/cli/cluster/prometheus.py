"""How Prometheus is reached: its address, whom it trusts, and whom we trust.

A monitoring stack behind TLS usually wants a bearer token and has a certificate of the
cluster's own authority. Both are in the kubeconfig already, so they are taken from there;
the token only for addresses that belong to that cluster, because a token is a password.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from trimtab.cli.cluster.options import PrometheusAccess
from trimtab.cli.common.option_files import read_option_file
from trimtab.errors import ConfigError
from trimtab.kube.client import Client
from trimtab.prom.client import Prometheus, trusting

_SERVICES = (".svc", ".svc.cluster.local")  # names that only the cluster's own DNS knows
_LOCAL = ("localhost", "127.0.0.1", "::1")


@asynccontextmanager
async def open_prometheus(
    url: str,
    access: PrometheusAccess,
    client: Client | None,
    *,
    limit_s: float = 10.0,
    pace_s: float = 0.0,
) -> AsyncIterator[Prometheus | None]:
    """A client of the Prometheus at `url` that waits `limit_s` for answers; None without a URL.

    Nothing is sent yet.
    """
    if not url:
        yield None
        return
    if not url.startswith(("http://", "https://")):
        raise ConfigError(f"--prometheus {url}: start it with http:// or https://")
    token = _given_token(access)
    authorities = [] if access.ca is None else [read_option_file("--prometheus-ca", access.ca)]
    if client is not None and url.startswith("https://"):
        authorities += filter(None, [client.certificate_authority()])
        if not token and belongs_to(url, client.server):
            token = await client.token()
    verify = trusting(authorities)
    async with Prometheus(
        url, token=token or None, limit_s=limit_s, verify=verify, pace_s=pace_s
    ) as prometheus:
        yield prometheus


def belongs_to(url: str, server: str) -> bool:
    """Whether an address is of the cluster with this API server, or a port forwarded from it.

    `api.demo.example.com` serves `thanos-querier-openshift-monitoring.apps.demo.example.com`.
    """
    host, api = urlsplit(url).hostname or "", urlsplit(server).hostname or ""
    if host in _LOCAL or host == api or host.endswith(_SERVICES):
        return True
    domain = api.partition(".")[2]
    return domain.count(".") >= 1 and not _is_number(api) and host.endswith(f".{domain}")


def _is_number(host: str) -> bool:
    return host.replace(".", "").isdigit()


def _given_token(access: PrometheusAccess) -> str:
    if access.token_file is not None:
        return read_option_file("--prometheus-token-file", access.token_file).strip()
    return access.token.strip()
