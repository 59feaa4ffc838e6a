"""The page: one line a controller, byte for byte as the tool that people know prints it.

Fields are aligned to the right, 20, 9 and four times 20 wide, with two spaces between them;
longer names are never cut. Durations are written as Go writes them: above one second in whole
seconds, everything else, and everything below zero, to the millisecond, towards zero.
"""

import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache

from trimtab.qos.ledger.time_to_violation import SECOND
from trimtab.qos.page.slo_status import AccountView

MILLI = SECOND // 1000
HEADER = (
    f"{'CONTROLLER':>20}  {'QOS/SLO':>9}  {'TTV':>20}  {'RUNNING':>20}"
    f"  {'WAITING':>20}  {'BINDING':>20}"
)
WIDE = (
    f"  {'NAMESPACE':>20}  {'KIND':>15}  {'STATE':>9}  {'REPLICAS':>11}  {'DEADLINE':>24}"
    f"  {'RANK':>6}  {'GATED':>20}"
)
USUAL = len("1.00/0.80")


def duration(ns: int | None) -> str:
    """As the page shows a time; None is one that never comes."""
    if ns is None:
        return "inf"
    if ns > SECOND:
        return _whole(ns // SECOND)
    if ns >= 0:
        return "1s" if ns == SECOND else _small(ns // MILLI)
    return _below_zero(-ns // MILLI)


def _whole(seconds: int) -> str:
    if seconds < 60:
        return f"{seconds}s"
    if seconds < 3600:
        return _PAST_THE_HOUR[seconds]
    return f"{seconds // 3600}h{_PAST_THE_HOUR[seconds % 3600]}"


_PAST_THE_HOUR = tuple(f"{minutes}m{seconds}s" for minutes in range(60) for seconds in range(60))
"""Every page has other times; these parts of them come again."""


def _small(millis: int) -> str:
    return f"{millis}ms" if millis else "0s"


def _below_zero(millis: int) -> str:
    if millis < 1000:
        return f"-{millis}ms" if millis else "0s"
    seconds, millis = divmod(millis, 1000)
    return f"-{_whole(seconds)[:-1]}{_fraction(millis)}s"


@lru_cache(maxsize=1000)
def _fraction(millis: int) -> str:
    return f".{millis:03d}".rstrip("0").rstrip(".")


def _cell(ns: int | None) -> str:
    """A field with the gap before it."""
    if not ns:
        return _NOTHING[ns]
    if ns <= SECOND:
        return f"  {duration(ns):>20}"
    seconds = ns // SECOND
    if seconds < 3600:
        return _CELLS[seconds]
    return _whole(seconds).rjust(22)


_CELLS = tuple(f"  {_whole(seconds):>20}" for seconds in range(3600))
_NOTHING = {0: f"  {'0s':>20}", None: f"  {'inf':>20}"}


def ratios(qos: float, slo: float) -> str:
    """Availability and promise with two decimals, or with as many as it takes to be true."""
    return f"{_share(qos)}/{_promise(slo)}"


def _share(qos: float) -> str:
    """Rounded, but never up to 1: four decimals then, cut."""
    short = f"{qos:.2f}"
    if short != "1.00" or qos >= 1:
        return short
    return f"{math.floor(qos * 10_000) / 10_000:.4f}".rstrip("0")


@lru_cache(maxsize=1 << 10)
def _promise(slo: float) -> str:
    """All its decimals, at least two."""
    digits = f"{slo:.9f}".rstrip("0")
    return digits if len(digits) > len("0.80") else f"{slo:.2f}"


def row(view: AccountView) -> str:
    """A row of the page."""
    reading = view.reading
    binding = reading.binding
    bound = f"  {'~' + duration(binding):>20}" if view.approximate else _cell(binding)
    shares, ttv = ratios(view.qos, view.promise.slo), _cell(view.ttv)
    if len(shares) > USUAL:  # more decimals take the room that the next field leaves
        ttv = f"  {ttv.strip():>{20 + USUAL - len(shares)}}"
    return f"{view.name:>20}  {shares}{ttv}{_cell(reading.running)}{_cell(reading.waiting)}{bound}"


def wide_row(view: AccountView, rank: int | None) -> str:
    """The row with more columns; `rank` is that of its waiting pods."""
    owner, pace = view.owner, view.reading.pace
    shown = "-" if rank is None else f"{rank:06d}"
    return (
        f"{row(view)}  {owner.namespace:>20}  {owner.kind:>15}  {view.state:>9}"
        f"  {f'{pace.running}+{pace.waiting}':>11}  {moment(view.deadline) or 'never':>24}"
        f"  {shown:>6}  {duration(view.reading.gated):>20}"
    )


def page(views: Iterable[AccountView]) -> str:
    return "\n".join([HEADER, *map(row, views), ""])


def wide_page(views: Iterable[AccountView], ranks: Mapping[str, int]) -> str:
    """`ranks` are those of waiting pods, by account."""
    rows = (wide_row(view, ranks.get(view.owner.uid)) for view in views)
    return "\n".join([HEADER + WIDE, *rows, ""])


def moment(ns: int | None) -> str | None:
    """RFC 3339 to the millisecond; None for what never comes or lies outside the calendar."""
    if ns is None or not 0 <= ns < 4_102_444_800 * SECOND:
        return None
    at = datetime.fromtimestamp(ns // SECOND, UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{ns % SECOND // 1_000_000:03d}Z"
