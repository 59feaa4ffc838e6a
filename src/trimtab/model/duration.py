"""Durations as people write them: `90`, `90s`, `10m`, `1h30m`, `2d`."""

import re

from trimtab.errors import ConfigError

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")


def parse_duration(text: str | float | int, field: str = "duration") -> float:
    """Seconds; a bare number is seconds already."""
    if isinstance(text, int | float) and not isinstance(text, bool):
        seconds = float(text)
    else:
        parts = _PART.findall(str(text))
        if not parts or "".join(number + unit for number, unit in parts) != str(text):
            raise ConfigError(
                f"{field}: {text!r} is not a duration; write it like 90s, 10m or 1h30m"
            )
        seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    if seconds < 0 or seconds != seconds:
        raise ConfigError(f"{field}: {text!r} must not be negative")
    return seconds


def format_duration(seconds: float) -> str:
    """The shortest exact text: `1h30m`, `45s`, `0s`."""
    rest, parts = round(seconds * 1000), []
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)):
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
