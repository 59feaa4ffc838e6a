"""What a restarted QoS service finds: checkpoints, pods, and the watch history of an API server."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec

from builders.values.qos import World, at
from builders.virtualtime import run
from trimtab.kube.codec import WatchEvent
from trimtab.kube.errors import Expired, Status
from trimtab.kube.resources import ObjectMeta
from trimtab.qos.ledger.account import Account
from trimtab.qos.ledger.pod_life import LifePod, PodMeta
from trimtab.qos.service.rebuild import Rebuild, RebuildOutcome
from trimtab.qos.wire import QosAccount, QosAccountSpec, QosAccountStatus, written_down

NEWEST = 1000
"""What the pods' store knows up to: other objects have versions too."""
AT_ONCE, SLOW_S = 3, 2.0


class Happening(msgspec.Struct, order=True):
    """A watch event at a second."""

    at: float
    version: int
    type: str
    pod: LifePod


class History:
    """What a rebuild asks the API server for; each watch ends after a few events, as it may."""

    def __init__(
        self,
        accounts: list[QosAccount],
        events: list[Happening],
        gone: bool = False,
        *,
        newest: int = NEWEST,
        slow_s: float = SLOW_S,
    ) -> None:
        self._accounts, self._events, self._gone = accounts, events, gone
        self.newest, self._slow_s = newest, slow_s
        self.on_watch: Callable[[], None] = lambda: None

    async def list(self, _: object) -> list[QosAccount]:
        return self._accounts

    async def watch(
        self, kind: object, namespace: object, params: dict[str, Any], idle_s: float
    ) -> AsyncIterator[tuple[WatchEvent[LifePod], ...]]:
        self.on_watch()
        if self._gone:
            raise Expired("watch", Status(410))
        start = int(params["resourceVersion"])
        later = [event for event in self._events if event.version > start]
        for event in later[:AT_ONCE]:
            await asyncio.sleep(self._slow_s)
            yield (WatchEvent(event.type, event.pod),)
        if len(later) < AT_ONCE:
            bookmark = LifePod(metadata=PodMeta(resource_version=str(self.newest)))
            yield (WatchEvent("BOOKMARK", bookmark),)


def checkpoint(account: Account, second: float, version: int, complete: int = 0) -> QosAccount:
    """As the service would have written the account down."""
    ledger = written_down(account, at(second), str(version), str(complete))
    stored = QosAccount(
        metadata=ObjectMeta(name="x"),
        spec=QosAccountSpec(owner=account.owner),
        status=QosAccountStatus(ledger=ledger),
    )
    return msgspec.json.decode(msgspec.json.encode(stored), type=QosAccount)


def rebuilt(world: World, history: History) -> RebuildOutcome:
    """The outcome, once the world's ledger is what a restart makes of it."""
    world.stores.pods._version = str(history.newest)
    rebuild = Rebuild(history, world.tracker)  # type: ignore[arg-type]
    return run(rebuild.run())
