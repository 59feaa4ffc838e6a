"""Who may read the page: this computer, or users whom the API server allows to GET its paths.

Callers from elsewhere are asked for a token only where the page listens for others at all; the
role `trimtab:qos-page` allows them to read it.
"""

from starlette.requests import Request

from trimtab.kube.client import Client
from trimtab.kube.http.authorize import AccessDenied, Authorizer
from trimtab.kube.http.local import is_local


class PageAccess:
    def __init__(self, client: Client, exposed: bool) -> None:
        self._exposed = exposed
        self._authorizer = Authorizer(client, advice="bind ClusterRole trimtab:qos-page")

    async def check(self, request: Request) -> None:
        """Raises AccessDenied unless the caller may read this path."""
        if is_local(request):
            return
        if not self._exposed:
            raise AccessDenied(403, "only this computer may read this")
        await self._authorizer.check(request)
