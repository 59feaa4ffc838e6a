"""How many examples a property of Hypothesis gets.

`make unit` and `make quick` look at a few, `make test` at the usual number, `make test-full` at
many. Another number is another choice of examples, and so are other modules that are loaded:
Hypothesis takes numbers and words from them.
"""

import os

FULL = bool(os.environ.get("TRIMTAB_TEST_FULL"))
QUICK = bool(os.environ.get("TRIMTAB_TEST_QUICK")) and not FULL

FEWEST = 3


def examples(usual: int, *, full: int | None = None) -> int:
    """`usual`, an eighth of it in a quick run, `full` of them (or `usual`) in a full one."""
    if FULL:
        return usual if full is None else full
    return max(min(usual, FEWEST), usual // 8) if QUICK else usual
