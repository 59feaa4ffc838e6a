"""The pictures since the start, bounded: a base and the encoded changes after it.

Each change is encoded once, whoever reads it. When there are too many, the oldest ones are
folded into the base. A viewer names the last change it has seen; if that is not known any
more (the server was restarted, the viewer slept for hours), it starts from the base again.
"""

import asyncio
import secrets
from collections import deque
from collections.abc import AsyncIterator
from gzip import compress

import msgspec
from msgspec import Struct

from trimtab.web.feed.events import Change, Picture, apply, difference

MOST_CHANGES = 3600
MOST_BYTES = 48 * 1024**2
_encoder = msgspec.json.Encoder()
_changes = msgspec.json.Decoder(Change)


class Recorded(Struct, frozen=True):
    """A change by its number, encoded."""

    number: int
    data: bytes


class History:
    """What was seen; one writer, any number of readers in the same event loop."""

    def __init__(self, most_changes: int = MOST_CHANGES, most_bytes: int = MOST_BYTES) -> None:
        self.epoch = secrets.token_hex(4)
        self.latest = Picture()
        self._base, self._base_number = Picture(), 0
        self._kept: deque[Recorded] = deque()
        self._bytes = 0
        self._most = most_changes, most_bytes
        self._woken = asyncio.Event()
        self._packed: tuple[int, bytes] = (-1, b"")
        self.viewers = 0

    @property
    def number(self) -> int:
        return self._kept[-1].number if self._kept else self._base_number

    def publish(self, picture: Picture) -> Change:
        """The next picture."""
        change = difference(self.latest, picture)
        self.record(change, picture)
        return change

    def record(self, change: Change, picture: Picture | None = None) -> None:
        """The next change; `picture` is what it leads to, if that is known already."""
        self.latest = apply(self.latest, change) if picture is None else picture
        recorded = Recorded(self.number + 1, _encoder.encode(change))
        self._kept.append(recorded)
        self._bytes += len(recorded.data)
        while len(self._kept) > self._most[0] or (
            self._bytes > self._most[1] and len(self._kept) > 1
        ):
            oldest = self._kept.popleft()
            self._bytes -= len(oldest.data)
            self._base = apply(self._base, _changes.decode(oldest.data))
            self._base_number = oldest.number
        self._woken.set()
        self._woken = asyncio.Event()

    def knows(self, epoch: str, number: int) -> bool:
        """Whether a viewer that has seen this change can go on from there."""
        return epoch == self.epoch and self._base_number <= number <= self.number

    def packed(self) -> bytes:
        """Base and changes as JSON, gzipped once for all viewers that ask before the next one."""
        if self._packed[0] != self.number:
            head = f'{{"epoch":"{self.epoch}","number":{self.number},"base":'.encode()
            body = b",".join(each.data for each in self._kept)
            text = head + _encoder.encode(self._base) + b',"changes":[' + body + b"]}"
            self._packed = self.number, compress(text, 1)
        return self._packed[1]

    async def after(self, number: int) -> AsyncIterator[Recorded]:
        """Every change after this one, as they come; ends for a reader that fell behind."""
        self.viewers += 1
        try:
            while number >= self._base_number:
                woken = self._woken
                missed = [each for each in self._kept if each.number > number]
                for each in missed:
                    yield each
                    number = each.number
                if not missed:
                    await woken.wait()
        finally:
            self.viewers -= 1
