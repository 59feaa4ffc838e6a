"""Durations as people write them: `90`, `90s`, `10m`, `1h30m`, `2d`."""

import math
import re

from trimtab.errors import ConfigError
from trimtab.model.limits import MAX_SECONDS

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", re.ASCII)
_SECONDS = re.compile(r"\d+(?:\.\d+)?", re.ASCII)


def parse_duration(text: str | float | int, field: str = "duration") -> float:
    """Seconds, at most 31 years of them; a bare number is seconds already."""
    seconds = _seconds(text, field)
    if not 0 <= seconds <= MAX_SECONDS:  # also what is not a number at all
        raise ConfigError(f"{field}: {text!r} must be within 0..{MAX_SECONDS:g} seconds")
    return seconds


def _seconds(text: str | float | int, field: str) -> float:
    if isinstance(text, int) and not isinstance(text, bool):
        return float(min(text, 2**60))  # a larger one has no float
    if isinstance(text, float) or _SECONDS.fullmatch(str(text)):
        return float(text)
    parts = _PART.findall(str(text))
    if not parts or "".join(number + unit for number, unit in parts) != str(text):
        raise ConfigError(f"{field}: {text!r} is not a duration; write it like 90s, 10m or 1h30m")
    return math.fsum(float(number) * _UNITS[unit] for number, unit in parts)


def format_duration(seconds: float) -> str:
    """The shortest text, to the millisecond: `1h30m`, `45s`, `0s`."""
    rest, parts = round(abs(seconds) * 1000), []
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)):
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{unit}")
    return ("-" if seconds < 0 and parts else "") + ("".join(parts) or "0s")
