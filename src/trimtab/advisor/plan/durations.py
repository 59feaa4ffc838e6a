"""Durations as Go writes them: `1h30m`, `90s`, `1.5h`; neither days nor bare numbers."""

import re

from trimtab.errors import ConfigError
from trimtab.model.duration import parse_duration

PATTERN = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$"


def problem(text: str) -> str | None:
    """What is wrong with it, if anything is."""
    if not text:
        return None
    if not re.match(PATTERN, text):
        return f'"{text}" is not a duration; write it like 90s, 30m or 1h30m'
    try:
        parse_duration(text)
    except ConfigError as error:
        return str(error)
    return None


def seconds(text: str) -> float | None:
    """None for an empty text: no limit."""
    if not text:
        return None
    if (wrong := problem(text)) is not None:
        raise ConfigError(wrong)
    return parse_duration(text)
