"""Events of a build under way; the caller decides how to show them."""

from msgspec import Struct


class WaitingForOthers(Struct, frozen=True):
    """Another process works on the cache."""

    holder: str


class Installing(Struct, frozen=True):
    """No Go is new enough, so one is fetched."""

    requirement: str


class Started(Struct, frozen=True):
    """A program's turn; `number` counts those that were there already."""

    program: str
    number: int
    total: int


class Downloading(Struct, frozen=True):
    program: str
    module: str


class Compiling(Struct, frozen=True):
    """`done` of `total` packages; those in go's own cache are in neither number."""

    program: str
    done: int
    total: int


class Finished(Struct, frozen=True):
    program: str
    number: int
    total: int
    seconds: float


Progress = WaitingForOthers | Installing | Started | Downloading | Compiling | Finished
