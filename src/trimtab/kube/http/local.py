"""Whether a request comes from this computer itself.

It does if it comes from a loopback address and no web page is behind it: pages of other
origins, and names that somebody else lets point to 127.0.0.1 (DNS rebinding), are not local.
"""

from ipaddress import IPv6Address, ip_address
from urllib.parse import urlsplit

from starlette.requests import Request


def is_local(request: Request) -> bool:
    """Whether a program on this computer asks, not a web page in its browser."""
    host = _host(f"//{request.headers.get('host', '')}")
    return (
        _is_loopback(request.client.host if request.client else "")
        and (host == "localhost" or _is_loopback(host))
        and not is_foreign_page(request)
    )


def is_foreign_page(request: Request) -> bool:
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
