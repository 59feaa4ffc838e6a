"""Who may call a webhook, and how much a caller may send.

A webhook acts on what it is told, so it must know who tells it. The API server proves itself
with a client certificate, where it was given one for webhooks; health checks and Prometheus
have none, so a certificate is asked for and not demanded, and each webhook looks at it.
"""

from collections.abc import Mapping
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from msgspec import Struct

from trimtab.obs import get_logger

if TYPE_CHECKING:  # settings name the callers; who reads them need not load a server
    from starlette.requests import Request
    from starlette.types import Receive, Scope

# Whether a request comes from this computer itself.
#
# It does if it comes from a loopback address and no web page is behind it: pages of other
# origins, and names that somebody else lets point to 127.0.0.1 (DNS rebinding), are not local.


def is_local(request: "Request") -> bool:
    """Whether a program on this computer asks, not a web page in its browser."""
    host = _host(f"//{request.headers.get('host', '')}")
    return (
        _is_loopback(request.client.host if request.client else "")
        and (host == "localhost" or _is_loopback(host))
        and not is_foreign_page(request)
    )


def is_foreign_page(request: "Request") -> bool:
    """Whether a web page asks that was not served here: another port is another origin, too."""
    origin = request.headers.get("origin")
    if origin is None:
        return False
    return origin != f"{request.url.scheme}://{request.headers.get('host', '')}"


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _is_loopback(host: str) -> bool:
    try:
        address = ip_address(host)
    except ValueError:
        return False
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        return address.ipv4_mapped.is_loopback
    return address.is_loopback


log = get_logger()
PEER = "trimtab.peer"
"""In a request's scope: the common name of the caller's verified certificate, or nothing."""
API_SERVER = "kube-apiserver-webhook-client"
"""Whom a webhook expects unless it is told otherwise."""
REFUSED = (
    b"only the API server may call this webhook, with its client certificate; "
    b"see docs/reference/webhooks.md\n"
)
MAX_EVICTION = 1024**2
MAX_POD = 3 * 1024**2
"""An object may have 1.5 MiB in etcd's default; a review holds at most two of them."""


class Callers(Struct, frozen=True):
    """Those whose certificate `client_ca` signed for `name`; without a CA, everybody."""

    client_ca: Path | None = None
    name: str = API_SERVER

    def admit(self, scope: "Scope") -> bool:
        return self.client_ca is None or scope.get(PEER) == self.name

    def warn(self) -> None:
        """Log a warning if every caller is admitted."""
        if self.client_ca is None:
            log.warning(
                "webhook believes every caller",
                what_to_do="give --client-ca, and the API server a client certificate",
            )


class TooLarge(Exception):
    """A body beyond the limit; the rest of it was not read."""


async def bounded_body(receive: "Receive", limit: int) -> bytes:
    """The whole body, or TooLarge as soon as it is more than `limit` bytes."""
    body = bytearray()
    more = True
    while more:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > limit:
            raise TooLarge(f"the body is larger than {limit >> 20} MiB")
        more = message.get("more_body", False)
    return bytes(body)


def common_name(certificate: Mapping[str, Any] | None) -> str:
    """Whom a certificate, as the ssl module shows it, is for; empty without one."""
    subject = (certificate or {}).get("subject", ())
    return next((value for part in subject for name, value in part if name == "commonName"), "")
