"""One lab for all tests that let the loop level a cluster: each loads its scenario anew."""

from builders.labs.shared_loop import loop, shared

__all__ = ["loop", "shared"]
