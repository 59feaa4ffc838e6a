"""One lab for all tests that look at a part of the loop, beside the one that runs next door."""

from builders.labs.shared_loop import loop, shared

__all__ = ["loop", "shared"]
