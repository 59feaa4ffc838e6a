"""KubevirtMigrationAware, the plugin that OpenShift's descheduler has beside DefaultEvictor.

A VM that migrates is no candidate; one that has migrated rests, twice as long with each
further migration of the last two days. Where nothing is known of a VM it refuses nothing.
The rules were read in the plugin's source; the program itself was not run beside ours.
"""

from collections.abc import Sequence

from msgspec import Struct

PLUGIN = "KubevirtMigrationAware"


class MigrationAware(Struct, frozen=True, kw_only=True):
    """The plugin's arguments, in seconds, with its defaults."""

    cooldown_s: float = 15 * 60.0
    longest_cooldown_s: float = 6 * 3600.0
    """0 means without limit."""
    history_s: float = 48 * 3600.0


class Migrated(Struct, frozen=True):
    """One migration of a VM in seconds since the epoch; `ended` is None while it is under way."""

    begun: float
    ended: float | None


def is_migrating(history: Sequence[Migrated]) -> bool:
    return any(migration.ended is None for migration in history)


def cooldown_s(history: Sequence[tuple[float, float]], now: float, aware: MigrationAware) -> float:
    """How long a VM rests after its last migration; `history` holds (begun, ended), oldest first.

    The base is the configured cooldown or the last migration's own length, whichever is longer.
    """
    recent = [(begun, ended) for begun, ended in history if now - ended <= aware.history_s]
    if not recent:
        return 0.0
    begun, ended = recent[-1]
    rest = max(aware.cooldown_s, ended - begun) * 2.0 ** (len(recent) - 1)
    return float(min(rest, aware.longest_cooldown_s) if aware.longest_cooldown_s else rest)


def resting_for_s(history: Sequence[Migrated], now: float, aware: MigrationAware) -> float:
    """Seconds until a VM may be evicted again; 0 if it may now."""
    ended = sorted((m.begun, m.ended) for m in history if m.ended is not None)
    if not ended:
        return 0.0
    last = max(end for _, end in ended)
    return max(0.0, last + cooldown_s(ended, now, aware) - now)
