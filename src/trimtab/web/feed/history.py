"""The pictures since the start, bounded: encoded changes, the first of which is a whole picture.

Each change is encoded once, whoever reads it. When there are too many, the older half is thinned
out: of two neighbours one change is made, which leads where both led. So the history reaches
back to its beginning, in ever longer steps.

A viewer names the last change it has seen. If it fell behind, it gets every change since then,
the older ones joined in pairs; it never has to begin again for being slow. It begins again with
the whole history only if the epoch is another one: the server was restarted, or the past was
filled in.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Sequence
from gzip import compress

import msgspec
from msgspec import Struct

from trimtab.web.feed.picture import Change, Picture, apply, difference, joined

MOST_CHANGES = 3600
MOST_BYTES = 48 * 1024**2
LONG_BYTES = 4 * 1024**2
"""A longer one would hold a viewer's first picture back: 25 MB take a browser more than 1 s."""
_encoder = msgspec.json.Encoder()
_changes = msgspec.json.Decoder(Change)


class Recorded(Struct, frozen=True):
    """A change by its number, encoded."""

    number: int
    data: bytes

    @property
    def change(self) -> Change:
        return _changes.decode(self.data)


class History:
    """What was seen; one writer, any number of readers in the same event loop."""

    def __init__(self, most_changes: int = MOST_CHANGES, most_bytes: int = MOST_BYTES) -> None:
        self.epoch = secrets.token_hex(4)
        self.latest = Picture()
        self._kept: list[Recorded] = []
        self._bytes = 0
        self._most = most_changes, most_bytes
        self._woken = asyncio.Event()
        self._packed = self._packed_newest = ("", -1, b"")
        self.viewers = 0

    @property
    def is_long(self) -> bool:
        """Whether a viewer should see the newest picture before all of it."""
        return self._bytes > LONG_BYTES and len(self._kept) > 1

    @property
    def number(self) -> int:
        return self._kept[-1].number if self._kept else 0

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
        self._bound()
        self._wake()

    def fill(self, pictures: Sequence[Picture]) -> None:
        """Put pictures of one stretch of time where nothing was seen; viewers begin again."""
        if not pictures:
            return
        state, place = Picture(), 0
        following = None
        while place < len(self._kept) and following is None:
            after = apply(state, self._kept[place].change)
            if after.at > pictures[-1].at:
                following = after
            else:
                state, place = after, place + 1
        filled = [each.data for each in self._kept[:place]]
        for picture in (*pictures, *([following] if following else [])):
            filled.append(_encoder.encode(difference(state, picture)))
            state = picture
        filled += [each.data for each in self._kept[place + 1 :]]
        self.epoch = secrets.token_hex(4)
        self._kept = [Recorded(number, data) for number, data in enumerate(filled, 1)]
        self._bytes = sum(map(len, filled))
        self._bound()
        self._wake()

    def knows(self, epoch: str, number: int) -> bool:
        """Whether a viewer that has seen this change can go on from there."""
        return epoch == self.epoch and 0 <= number <= self.number

    def packed(self) -> bytes:
        """All changes as JSON, gzipped once for all viewers that ask before the next one."""
        at = self.epoch, self.number  # first: a change that comes meanwhile is sent again, not lost
        if self._packed[:2] != at:
            self._packed = *at, _pack(*at, [each.data for each in self._kept])
        return self._packed[2]

    def packed_newest(self) -> bytes:
        """The newest picture alone, as a history of one change."""
        at = self.epoch, self.number
        if self._packed_newest[:2] != at:
            whole = difference(Picture(), self.latest)
            self._packed_newest = *at, _pack(*at, [_encoder.encode(whole)])
        return self._packed_newest[2]

    async def after(self, number: int) -> AsyncIterator[Recorded]:
        """Every change after this one, as they come; ends when viewers have to begin again."""
        epoch = self.epoch
        self.viewers += 1
        try:
            while epoch == self.epoch:
                woken = self._woken
                missed = self._missed(number)
                for each in missed:
                    yield each
                    number = each.number
                if not missed:
                    await woken.wait()
        finally:
            self.viewers -= 1

    def _missed(self, number: int) -> Sequence[Recorded]:
        """Changes after this one; mostly one of thousands, so the search begins at the end."""
        place = len(self._kept)
        while place and self._kept[place - 1].number > number:
            place -= 1
        return self._kept[place:]

    def _bound(self) -> None:
        most, most_bytes = self._most
        while len(self._kept) > max(most, 2) or (self._bytes > most_bytes and len(self._kept) > 2):
            self._thin()

    def _thin(self) -> None:
        """Pairs of the older half become one; the very first picture stays, and the newest."""
        half = max(3, len(self._kept) // 2)
        first, older, newer = self._kept[0], self._kept[1:half], self._kept[half:]
        thinned = [first]
        for at in range(0, len(older), 2):
            pair = older[at : at + 2]
            # numbered as its later one: whoever has seen that one has seen the pair
            change = pair[0].change if len(pair) == 1 else joined(pair[0].change, pair[1].change)
            thinned.append(Recorded(pair[-1].number, _encoder.encode(change)))
        self._kept = thinned + newer
        self._bytes = sum(len(each.data) for each in self._kept)

    def _wake(self) -> None:
        self._woken.set()
        self._woken = asyncio.Event()


def _pack(epoch: str, number: int, changes: Sequence[bytes]) -> bytes:
    head = f'{{"epoch":"{epoch}","number":{number},"changes":['.encode()
    return compress(head + b",".join(changes) + b"]}", 1)
