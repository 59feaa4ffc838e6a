"""Durations as Go writes them: `1h30m`, `90s`, `1.5h`."""

import re

from trimtab.errors import ConfigError

PATTERN = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$"
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def problem(text: str) -> str | None:
    """What is wrong with it, if anything is."""
    if not text or re.match(PATTERN, text):
        return None
    return f'"{text}" is not a duration; write it like 90s, 30m or 1h30m'


def seconds(text: str) -> float | None:
    """None for an empty text: no limit."""
    if not text:
        return None
    if (wrong := problem(text)) is not None:
        raise ConfigError(wrong)
    return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
