"""Numbers on the command line: each kind of number has limits, and `nan` is none of them.

JSON has no NaN: sent to the API server it would silently become the default.
"""

import math
from collections.abc import Callable, Iterator
from typing import Annotated, Any

from cyclopts import Parameter

from trimtab.model.limits import MAX_SECONDS, MAX_USE

Validator = Callable[[Any, Any], None]


def within(low: float, high: float) -> Validator:
    """A cyclopts validator: every number that was given is from `low` to `high`."""

    def check(_: Any, value: Any) -> None:
        for number in _each(value):
            if not low <= number <= high:
                raise ValueError(f"{number:g} is not within {low:g}..{high:g}")

    return check


def finite(_: Any, value: Any) -> None:
    """For every number that no option limits further: neither nan nor infinite."""
    for number in _each(value):
        if not math.isfinite(number):
            raise ValueError(f"{number} is not a number to work with")


def _each(value: Any) -> Iterator[float]:
    values = value if isinstance(value, tuple | list) else (value,)
    return (each for each in values if isinstance(each, int | float))


CpuUse = Annotated[float, Parameter(validator=within(0, MAX_USE))]
MemoryUse = Annotated[float, Parameter(validator=within(0, 1))]
Seconds = Annotated[float, Parameter(validator=within(0, MAX_SECONDS))]
