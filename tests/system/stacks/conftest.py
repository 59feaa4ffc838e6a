"""One lab for all tests that let the loop run: they begin by loading the scenario anew."""

from builders.labs.shared_loop import loop, shared

__all__ = ["loop", "shared"]
