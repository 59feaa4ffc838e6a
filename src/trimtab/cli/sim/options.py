"""Options of `trimtab sim` that need reading: a policy's text, pairs of numbers."""

from pathlib import Path

from trimtab.errors import ConfigError


def policy_text(path: Path | None) -> str:
    """The file's text; nothing where none is named."""
    if path is None:
        return ""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(f"{path}: cannot read the policy: {reason}") from error


def pair_of(text: str | None, option: str, example: str) -> tuple[float, float] | None:
    """`0:10` as two numbers of points."""
    if text is None:
        return None
    first, _, second = text.partition(":")
    try:
        pair = float(first), float(second)
    except ValueError as error:
        raise ConfigError(f"{option}: {text!r} is not a pair; write it like {example}") from error
    if not all(0 <= number <= 100 for number in pair):
        raise ConfigError(f"{option}: {text!r}: both must be within 0..100")
    return pair


def limits_of(text: str | None) -> tuple[int, int] | None:
    """`5:2` as evictions in all and per node."""
    pair = pair_of(text, "--limits", "5:2")
    if pair is None:
        return None
    if any(number != int(number) or number < 1 for number in pair):
        raise ConfigError(f"--limits: {text!r}: both must be whole and at least 1")
    return int(pair[0]), int(pair[1])
