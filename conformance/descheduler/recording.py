"""What the real descheduler did with one case: enough to judge it again at any time, offline."""

import lzma
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from conformance.descheduler.stubs import Reply
from trimtab.model.snapshot import Snapshot
from trimtab.policy.inflight import InFlight, PodEvent


class Assumed(Struct, frozen=True):
    """The webhook took an eviction into the background."""

    uid: str
    node: str
    namespace: str
    time: float


class Told(Struct, frozen=True):
    """One happening, as it is written into a file."""

    event: PodEvent | None = None
    assumed: Assumed | None = None


class Recording(Struct, frozen=True, kw_only=True):
    """One cycle. `history` is all that the in-flight cache has met since the process began."""

    seed: int
    session: int
    step: int
    theme: str
    kind: str
    snapshot: Snapshot
    replies: dict[str, Reply]
    calls: tuple[tuple[str, Reply], ...]
    """Evictions that the webhook was asked for, in order, with its answers."""
    lines: tuple[str, ...]
    history: tuple[Told, ...]

    @property
    def name(self) -> str:
        return f"seed-{self.seed}-session-{self.session}-step-{self.step}"

    def inflight(self) -> InFlight:
        """What the cache holds when the cycle begins."""
        known = InFlight()
        for told in self.history:
            if told.event is not None:
                known = known.observe(told.event)
            elif told.assumed is not None:
                one = told.assumed
                known = known.assume(one.uid, one.node, one.namespace, one.time)
        return known


def save(recordings: Sequence[Recording], directory: Path) -> list[Path]:
    """One file for each; `scripts/conformance --replay FILE` judges it again."""
    directory.mkdir(parents=True, exist_ok=True)
    paths = []
    for recording in recordings:
        path = directory / f"{recording.name}.json"
        path.write_bytes(msgspec.json.format(msgspec.json.encode(recording), indent=1))
        paths.append(path)
    return paths


def load(path: Path) -> Recording:
    return msgspec.json.decode(path.read_bytes(), type=Recording)


def save_together(recordings: Sequence[Recording], path: Path) -> None:
    """All in one compressed file: cycles of a session have most of their cluster in common."""
    path.write_bytes(lzma.compress(msgspec.msgpack.encode(recordings), preset=9))


def load_together(path: Path) -> list[Recording]:
    return msgspec.msgpack.decode(lzma.decompress(path.read_bytes()), type=list[Recording])
