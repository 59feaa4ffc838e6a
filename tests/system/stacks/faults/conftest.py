"""One lab for all faults: each begins by loading the scenario anew."""

from builders.labs.shared_loop import loop, shared

__all__ = ["loop", "shared"]
