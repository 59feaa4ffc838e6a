"""Who may change something: this computer itself, or whoever has the token.

A request counts as this computer's own if it comes from a loopback address and no web page
is behind it: pages of other origins, and names that somebody else lets point to 127.0.0.1
(DNS rebinding), are refused.
"""

import hmac
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from urllib.parse import urlsplit

from starlette.requests import Request

from trimtab.errors import ConfigError
from trimtab.exporter.problems import Refused


class Access:
    """Checks writing requests; the token file is read at each, so it can be replaced."""

    def __init__(self, token_file: Path | None = None) -> None:
        self._file = token_file
        if token_file is not None and not self._token():
            raise ConfigError(f"--token-file {token_file}: it is empty; put a token in it")

    def check(self, request: Request) -> None:
        scheme, _, offered = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            if not self._is_ours(offered.strip()):
                raise Refused(401, "Wrong token", "the bearer token is not the exporter's")
        elif not is_local(request):
            how = "send `Authorization: Bearer …`" if self._file else "start it with --token-file"
            raise Refused(
                403, "Not allowed", f"only this computer may do that without a token; {how}"
            )

    def _is_ours(self, offered: str) -> bool:
        token = self._token() if self._file else b""
        return bool(token) and hmac.compare_digest(offered.encode(), token)

    def _token(self) -> bytes:
        assert self._file is not None
        try:
            return self._file.read_bytes().strip()
        except OSError as error:
            raise ConfigError(f"--token-file {self._file}: {error.strerror}") from error


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
