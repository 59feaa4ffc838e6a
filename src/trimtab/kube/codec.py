"""Bytes to objects and back, in one pass and with as few Python steps as possible.

One object that does not fit its Struct must not take the other 9,999 away: it counts as
absent, in lists and watches alike, and that is logged and counted.
"""

from typing import Any, Generic, TypeVar

from msgspec import DecodeError, Raw, Struct, ValidationError, field, json, to_builtins

from trimtab.errors import ConfigError
from trimtab.kube.errors import Status, error_from, no_answer
from trimtab.kube.resources import Kind, Object, ObjectMeta
from trimtab.obs import get_logger
from trimtab.obs.metrics import counter

T = TypeVar("T")
log = get_logger()
undecodable = counter(
    "trimtab_kube_undecodable_total", "Objects left out because they do not fit", "kind"
)


class ListMeta(Struct, rename="camel", frozen=True):
    resource_version: str = ""
    continue_: str = field(default="", name="continue")


class ListPage(Struct, Generic[T], frozen=True):
    metadata: ListMeta
    items: list[T]


class WatchEvent(Struct, Generic[T], frozen=True, gc=False):
    type: str
    object: T


class Codec(Generic[T]):
    """The decoders of one kind."""

    def __init__(self, kind: Kind[T]) -> None:
        self._kind = kind
        self._one = json.Decoder(kind.type)
        self._page: json.Decoder[ListPage[T]] = json.Decoder(ListPage[kind.type])  # type: ignore[name-defined]
        self._event: json.Decoder[WatchEvent[T]] = json.Decoder(WatchEvent[kind.type])  # type: ignore[name-defined]

    def one(self, body: bytes) -> T:
        try:
            return self._one.decode(body)
        except DecodeError as error:
            raise ConfigError(f"{self._kind.kind} from the API server: {error}") from error

    def page(self, body: bytes) -> ListPage[T]:
        try:
            return self._page.decode(body)
        except ValidationError:
            rough = json.decode(body, type=ListPage[Raw])
            fits = [item for raw in rough.items if (item := self._fitting(raw)) is not None]
            return ListPage(rough.metadata, fits)
        except DecodeError as error:
            raise no_answer(f"list {self._kind.plural}", error) from error

    def events(self, lines: bytes) -> list[WatchEvent[T]]:
        """Whole lines of a watch; raises what an ERROR event in them says."""
        try:
            events = self._event.decode_lines(lines)
        except ValidationError:
            return [self._event_alone(line) for line in lines.splitlines() if line]
        except DecodeError as error:
            raise no_answer(f"watch {self._kind.plural}", error) from error
        if any(event.type == "ERROR" for event in events):
            raise_errors(self._kind, lines)
        return events

    def _event_alone(self, line: bytes) -> WatchEvent[T]:
        raise_errors(self._kind, line)
        try:
            return self._event.decode(line)
        except ValidationError as error:
            rough = json.decode(line, type=WatchEvent[Object])
            bare = self._one.decode(json.encode(rough.object))
            if rough.type == "BOOKMARK":  # has null where no real object has: containers of pods
                return WatchEvent("BOOKMARK", bare)
            self._leave_out(rough.object.metadata, error)
            return WatchEvent("DELETED", bare)

    def _fitting(self, raw: Raw) -> T | None:
        try:
            return self._one.decode(raw)
        except ValidationError as error:
            self._leave_out(json.decode(raw, type=Object).metadata, error)
            return None

    def _leave_out(self, meta: ObjectMeta, why: ValidationError) -> None:
        undecodable.labels(self._kind.plural).inc()
        log.warning("object left out", kind=self._kind.kind, key=str(meta.key), why=str(why))


def raise_errors(kind: Kind[Any], lines: bytes) -> None:
    """Raise for an ERROR event, whose object is a Status rather than one of the kind."""
    for line in lines.splitlines():
        event = json.decode(line, type=WatchEvent[Raw])
        if event.type == "ERROR":
            raise error_from(f"watch {kind.plural}", json.decode(event.object, type=Status))


_codecs: dict[Kind[Any], Codec[Any]] = {}


def codec(kind: Kind[T]) -> Codec[T]:
    """The codec of a kind; building one costs more than decoding a thousand objects with it."""
    if kind not in _codecs:
        _codecs[kind] = Codec(kind)
    return _codecs[kind]


def encode(kind: Kind[Any], obj: Any) -> bytes:
    """A Struct or dict as the API wants it: it must say what it is."""
    return json.encode(to_builtins(obj) | {"apiVersion": kind.api_version, "kind": kind.kind})
