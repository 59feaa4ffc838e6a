"""The page's API from the other side: what `trimtab qos` asks a running service."""

from typing import Any

import httpx2
import msgspec

from trimtab.errors import ConfigError, TrimtabError, Unavailable
from trimtab.qos.queue.overbooking import Advice
from trimtab.qos.queue.waiting import QueueExplanation, Waiter

LIMIT_S = 10.0


class PageReader:
    """Asks one service; `token` is needed where its page is exposed."""

    def __init__(self, url: str, token: str = "") -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            self._http = httpx2.Client(
                base_url=url, headers=headers, timeout=LIMIT_S, trust_env=False
            )
        except httpx2.InvalidURL as error:
            raise ConfigError(f"--url {url}: {error}") from error
        self._url = url

    def __enter__(self) -> "PageReader":
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def page(self, **query: str) -> str:
        return self._get("/", query).decode()

    def controllers(self, namespace: str = "") -> Any:
        return msgspec.json.decode(self._get("/v1/controllers", {"ns": namespace}))

    def overbooking(self, namespace: str = "") -> list[Advice]:
        return msgspec.convert(self.controllers(namespace)["overbooking"], list[Advice])

    def queue(self, namespace: str = "") -> list[Waiter]:
        answer = msgspec.json.decode(self._get("/v1/queue", {"ns": namespace}))
        return msgspec.convert(answer["pods"], list[Waiter])

    def explain(self, pod: str) -> QueueExplanation:
        return msgspec.json.decode(self._get("/v1/explain", {"pod": pod}), type=QueueExplanation)

    def history(self, name: str) -> Any:
        """Of the controller with this name, namespace/name or uid."""
        found = [
            each
            for each in self.controllers()["controllers"]
            if name in (each["name"], f"{each['namespace']}/{each['name']}", each["uid"])
        ]
        if not found:
            raise ConfigError(f'no controller "{name}"; see: trimtab qos top')
        if len(found) > 1:
            names = ", ".join(f"{each['namespace']}/{each['name']}" for each in found)
            raise ConfigError(f'"{name}" is several controllers; say which: {names}')
        return msgspec.json.decode(self._get("/v1/history", {"uid": found[0]["uid"]}))

    def _get(self, path: str, query: dict[str, str]) -> bytes:
        asked = {name: value for name, value in query.items() if value}
        try:
            answer = self._http.get(path, params=asked)
        except httpx2.HTTPError as error:
            reason = str(error) or type(error).__name__
            raise Unavailable(
                f"{self._url}: the QoS page does not answer ({reason}); is `trimtab run qos` there?"
            ) from error
        if answer.status_code in (400, 404):
            raise ConfigError(answer.text.strip())
        if answer.status_code != 200:
            raise TrimtabError(
                f"{self._url}{path}: HTTP {answer.status_code}: {answer.text.strip()}"
            )
        content: bytes = answer.content
        return content
