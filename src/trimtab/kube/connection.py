"""The seam to lightkube: from a kubeconfig or a service account to an authenticated HTTP client.

lightkube does what nobody should write twice: kubeconfig, TLS, tokens re-read when they
expire, exec plugins. We take its connection and speak to the API over it ourselves, because
its own requests have no bookmarks and decode a list three times slower than its bytes allow
(docs/decisions/0004). No other file of the project imports it.
"""

from ipaddress import ip_address
from pathlib import Path

import httpx2
from lightkube.config.client_adapter import ConnectionParams
from lightkube.config.kubeconfig import SERVICE_ACCOUNT, KubeConfig, SingleConfig
from lightkube.core.exceptions import ConfigError as LightkubeError

from trimtab.errors import ConfigError
from trimtab.kube.transport import Transport

Config = SingleConfig
TRANSPORT_ERRORS = (httpx2.HTTPError, httpx2.StreamError, LightkubeError, OSError)


def kubeconfig(path: Path, context: str | None = None) -> Config:
    """The cluster and user that a kubeconfig's context (by default the current one) names."""
    try:
        config = KubeConfig.from_file(path).get(context)
    except LightkubeError as error:
        raise ConfigError(f"kubeconfig {path}: {error}") from error
    except Exception as error:  # bad YAML and missing keys surface as whatever the parser met
        raise ConfigError(f"kubeconfig {path}: not a kubeconfig ({error!r})") from error
    if config is None or config.user is None:
        raise ConfigError(f"kubeconfig {path}: the context names no user; set contexts[].user")
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


def connect(config: Config, agent: str, timeout_s: float) -> httpx2.AsyncClient:
    """An HTTP client for that cluster as that user; nothing is sent yet."""
    try:
        params = ConnectionParams(timeout=httpx2.Timeout(timeout_s), trust_env=False).httpx_params(
            config
        )
    except (LightkubeError, OSError) as error:
        raise ConfigError(f"cluster {config.cluster.server}: {error}") from error
    params["transport"] = Transport(params["verify"])
    headers = {"Accept": "application/json", "User-Agent": agent}
    if is_loopback(httpx2.URL(config.cluster.server).host):
        headers["Accept-Encoding"] = "identity"  # gzip costs both sides more than loopback does
    return httpx2.AsyncClient(**params, headers=headers)


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
