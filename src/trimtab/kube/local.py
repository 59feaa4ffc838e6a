"""Whether a request comes from this computer itself.

It does if it comes from a loopback address and no web page is behind it: pages of other
origins, and names that somebody else lets point to 127.0.0.1 (DNS rebinding), are not local.
"""

from ipaddress import IPv6Address, ip_address
from urllib.parse import urlsplit

from starlette.requests import Request


def is_local(request: Request) -> bool:
    """Whether a program on this computer asks, not a web page in its browser."""
    headers = request.headers
    pages = [headers["origin"]] if "origin" in headers else []
    names = [_host(f"//{headers.get('host', '')}"), *map(_host, pages)]
    return _is_loopback(request.client.host if request.client else "") and all(
        name == "localhost" or _is_loopback(name) for name in names
    )


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
