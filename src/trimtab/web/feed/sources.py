"""Where pictures come from: a cluster that is looked at again and again, or a file.

A file is a snapshot (one picture, and everything can be explained) or a feed: one JSON
object a line, a picture first and changes after it, as `trimtab web --keep` writes it. A feed
that grows is followed.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from trimtab.errors import ConfigError, TrimtabError
from trimtab.kube.client import Client
from trimtab.model.recorded.archive import read_recording
from trimtab.model.snapshot import Snapshot, load
from trimtab.obs import get_logger
from trimtab.observe.look import look
from trimtab.observe.policy_source import Source as PolicySource
from trimtab.prom.client import Prometheus, Sample
from trimtab.scores.prometheus.rules import EXPORTED
from trimtab.web.feed.from_snapshot import MeasuredNode, picture_of
from trimtab.web.feed.moves import read_moves
from trimtab.web.feed.past import PastReader
from trimtab.web.feed.picture import Change, Picture, apply
from trimtab.web.feed.places import Places, read_places
from trimtab.web.feed.recordings import pictures_of

log = get_logger()
T = TypeVar("T")
SCORES = '{__name__=~"descheduler:node:.+:avg1m"}'
SHARE_OF_TIME = 9
"""A look that took a second is followed by a pause of nine: a big cluster is asked less often."""
FILE_POLL_S = 0.2


class Seen(Struct, frozen=True, eq=False):
    """One look: the picture, and what `explain` needs to tell why, where it is known."""

    picture: Picture
    snapshot: Snapshot | None = None
    change: Change | None = None
    """What led to the picture, if the source knows it already."""


class FeedSource(Protocol):
    """What the page follows."""

    name: str
    explains: bool
    """Whether its looks come with snapshots, so that a click can be answered."""
    on_demand: bool
    """Whether a look costs the cluster something, so that none is made while nobody looks."""

    def looks(self) -> AsyncIterator[Seen]:
        """Picture after picture; ends where nothing more can come."""
        ...

    async def scores(self) -> Sequence[Sample]:
        """The scores that are recorded now, with their names; empty where nobody records."""
        ...

    async def places(self) -> Places:
        """What other services of the cluster say of themselves."""
        ...

    async def past(self, after: float, until: float) -> Sequence[Picture]:
        """Pictures between two moments at which nobody looked; empty where nobody tells."""
        ...

    @property
    def prometheus(self) -> str:
        """The address of Prometheus' own pages; empty where there are none."""
        ...


class ClusterSource:
    """A cluster, read with lists and gets only."""

    explains = True
    on_demand = True

    def __init__(
        self,
        name: str,
        client: Client,
        prometheus: Prometheus | None,
        policy: Callable[[], Awaitable[PolicySource]],
        *,
        in_background: bool | None = None,
        every_s: float = 2.0,
    ) -> None:
        self.name = name
        self._client, self._prometheus, self._policy = client, prometheus, policy
        self._in_background, self._every_s = in_background, every_s
        self._unanswered = False
        """Whether Prometheus let the last look wait in vain."""

    async def looks(self) -> AsyncIterator[Seen]:
        last = Picture()
        while True:
            begun = time.monotonic()
            try:
                seen = await self._look()
                # it took long because Prometheus did not answer, not because much was read
                pauses = 0 if self._unanswered else SHARE_OF_TIME
            except TrimtabError as error:
                # The cluster may be restarting: the old picture stays, and says that it is old.
                log.warning("look failed", error=str(error))
                stale = replace(
                    last.cluster, problem=f"the last look failed, so this is old: {error}"
                )
                seen = Seen(replace(last, at=time.time(), cluster=stale))
                pauses = 0  # nobody answered
            last = seen.picture
            took = time.monotonic() - begun
            yield seen
            # whoever asks for the next look may have let hours pass, which cost nothing
            since = time.monotonic() - begun
            await asyncio.sleep(max(self._every_s, (pauses + 1) * took, took + 0.5) - since)

    async def scores(self) -> Sequence[Sample]:
        return await self._prometheus.instant(SCORES) if self._prometheus else ()

    async def places(self) -> Places:
        return await read_places(self._client)

    async def past(self, after: float, until: float) -> Sequence[Picture]:
        if self._prometheus is None:
            return ()
        reader = PastReader(self._client, self._prometheus)
        return await reader.pictures(await self._policy(), after, until)

    @property
    def prometheus(self) -> str:
        return self._prometheus.url if self._prometheus else ""

    async def _look(self) -> Seen:
        policy = await self._policy()
        found = await look(
            self._client,
            policy,
            self._prometheus,
            in_background=self._in_background,
            must_ask=False,
        )
        moves = await read_moves(self._client, time.time())
        picture = await asyncio.to_thread(
            picture_of,
            found.snapshot,
            measured=await self._measured(),
            moves=moves.shown,
            moved=moves.succeeded,
            notes=(*found.notes, *await self._silent()),
        )
        return Seen(picture, found.snapshot)

    async def _silent(self) -> Sequence[str]:
        """Who does not answer Prometheus any more: a part of the loop that is down, mostly."""
        if self._prometheus is None:
            return ()
        try:
            found = await self._prometheus.instant("up == 0")
        except TrimtabError as error:
            self._unanswered = True
            return (str(error),)
        self._unanswered = False
        jobs = sorted({sample.labels.get("job", "?") for sample in found})
        return (f"no answer to Prometheus: {', '.join(jobs)}",) if jobs else ()

    async def _measured(self) -> Mapping[str, MeasuredNode]:
        """What the exporter measures; nothing where Prometheus does not know its series."""
        if self._prometheus is None:
            return {}
        try:
            cpu, waits_cpu, memory, waits_memory = [
                await self._prometheus.by_label(EXPORTED[column], "node")
                for column in ("cpu_usage", "cpu_pressure", "memory_usage", "memory_pressure")
            ]
        except TrimtabError as error:
            log.warning("loads not measured", error=str(error))
            return {}
        names = cpu.keys() | memory.keys()
        return {
            name: MeasuredNode(
                cpu.get(name),
                memory.get(name),
                max((w[name] for w in (waits_cpu, waits_memory) if name in w), default=None),
            )
            for name in names
        }


class _File:
    """What files have in common: nobody else is there to be asked."""

    on_demand = False
    prometheus = ""

    async def scores(self) -> Sequence[Sample]:
        return ()

    async def places(self) -> Places:
        return Places()

    async def past(self, after: float, until: float) -> Sequence[Picture]:
        return ()


class SnapshotSource(_File):
    """One snapshot from a file."""

    explains = True

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self._snapshot = load(path)

    async def looks(self) -> AsyncIterator[Seen]:
        picture = await asyncio.to_thread(picture_of, self._snapshot)
        yield Seen(picture, self._snapshot)

    async def scores(self) -> Sequence[Sample]:
        query = self._snapshot.query
        if query is None:
            return ()
        # what the policy's query selected, under the name of the record that it asks for
        named = {"__name__": query.query}
        at = query.time.timestamp()
        return [Sample(named | each.labels, at, float(each.value)) for each in query.samples]


class PictureSource(_File):
    """Pictures that are all there already: a recording, or a simulated run."""

    def __init__(self, name: str, pictures: Iterable[tuple[Picture, Snapshot | None]]) -> None:
        self.name = name
        self._pictures = list(pictures)
        self.explains = any(snapshot is not None for _, snapshot in self._pictures)

    async def looks(self) -> AsyncIterator[Seen]:
        for picture, snapshot in self._pictures:
            yield Seen(picture, snapshot)
            await asyncio.sleep(0)  # viewers are served while a long history comes in
        self._pictures.clear()


class FileSource(_File):
    """A feed from a file; lines that are added later are followed."""

    explains = False

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self._path = path
        if not path.is_file():
            raise ConfigError(f"{path}: no such file; give a snapshot, or a feed of --keep")

    async def looks(self) -> AsyncIterator[Seen]:
        picture: Picture | None = None
        number = 0
        with self._path.open("rb") as file:
            rest = b""
            while True:
                *lines, rest = (rest + await asyncio.to_thread(file.read)).split(b"\n")
                for line in lines:
                    number += 1
                    if picture is None:
                        picture = _read(line, Picture, f"{self._path}: line {number}")
                        yield Seen(picture)
                    elif line.strip():
                        change = _read(line, Change, f"{self._path}: line {number}")
                        picture = apply(picture, change)
                        yield Seen(picture, change=change)
                await asyncio.sleep(FILE_POLL_S)


def file_source(path: Path) -> FeedSource:
    """A feed (.jsonl), a recording (.trimtab) or a snapshot, by its name."""
    if path.suffix == ".jsonl":
        return FileSource(path)
    if path.suffix == ".trimtab":
        return PictureSource(path.name, pictures_of(read_recording(path)))
    return SnapshotSource(path)


def _read(line: bytes, kind: type[T], where: str) -> T:
    try:
        return msgspec.json.decode(line, type=kind)
    except msgspec.MsgspecError as error:
        raise ConfigError(f"{where}: not a feed of the page: {error}") from error
