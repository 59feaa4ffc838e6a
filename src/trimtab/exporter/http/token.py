"""Who may change something: whoever has the token; without one, this computer itself.

On a shared computer others reach a port on the loopback too, so where there is a token the
loopback is not enough. Web pages of other origins are refused either way.
"""

import hmac
from pathlib import Path

from starlette.requests import Request

from trimtab.errors import ConfigError
from trimtab.kube.http.authorize import AccessDenied, bearer_token
from trimtab.kube.http.callers import is_foreign_page, is_local


class TokenCheck:
    """Checks writing requests; the token file is read at each, so it can be replaced."""

    def __init__(self, token_file: Path | None = None) -> None:
        self._file = token_file
        if token_file is not None and not self._token():
            raise ConfigError(f"--token-file {token_file}: it is empty; put a token in it")

    def check(self, request: Request) -> None:
        """Raises AccessDenied unless the caller may change something."""
        if is_foreign_page(request):
            raise AccessDenied(403, "web pages of other origins may not do that")
        offered = bearer_token(request)
        if offered is not None:
            if not self._is_ours(offered):
                raise AccessDenied(401, "the bearer token is not the exporter's")
        elif self._file is not None:
            raise AccessDenied(401, f"send `Authorization: Bearer …`; it is in {self._file}")
        elif not is_local(request):
            how = "only this computer may do that without a token; start it with --token-file"
            raise AccessDenied(403, how)

    def _is_ours(self, offered: str) -> bool:
        token = self._token() if self._file else b""
        return bool(token) and hmac.compare_digest(offered.encode(), token)

    def _token(self) -> bytes:
        assert self._file is not None
        try:
            return self._file.read_bytes().strip()
        except OSError as error:
            raise ConfigError(f"--token-file {self._file}: {error.strerror}") from error
