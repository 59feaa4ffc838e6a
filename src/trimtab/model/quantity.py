"""Kubernetes quantities, exactly: `500m`, `1.5Gi`, `2e3`, `128974848`.

A quantity is an integer number of nano-units, the finest that Kubernetes keeps. Finer input
is rounded away from zero, and a binary suffix stops at 2^63 - 1, both as the API server does.
So sums never drift, and `value()` and `milli_value()` round exactly where Kubernetes does.
Unlike there, nothing overflows: beyond 2^63 the API server's own numbers are garbage.
"""

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from trimtab.errors import ConfigError

NANO = 10**9
_MAX = 2**63 - 1
_LONGEST = 64
"""Characters: nobody writes more, and thousands of digits cost seconds."""
_DECIMAL = {"n": -3, "u": -2, "m": -1, "": 0, "k": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_PATTERN = re.compile(
    r"(?P<number>[+-]?(?:\d+\.?\d*|\.\d+))"
    r"(?:(?P<suffix>[KMGTPE]i|[numkMGTPE])|[eE](?P<exponent>[+-]?\d{1,3}))?",
    re.ASCII,
)


@dataclass(frozen=True, order=True, slots=True)
class Quantity:
    """An amount of a resource: cores for CPU, bytes for memory."""

    nano: int

    def value(self) -> int:
        """Whole units, rounded away from zero: how Kubernetes counts memory and pods."""
        return _divided(self.nano, NANO)

    def milli_value(self) -> int:
        """Thousandths, rounded away from zero: how Kubernetes counts CPU."""
        return _divided(self.nano, NANO // 1000)

    def __float__(self) -> float:
        return self.nano / NANO

    def __add__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.nano + other.nano)

    def __sub__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.nano - other.nano)

    def times(self, factor: Fraction | float | int) -> "Quantity":
        """This many times as much, rounded to the nearest nano-unit."""
        return Quantity(round(self.nano * Fraction(factor)))

    def __str__(self) -> str:
        """The shortest text that reads back as the same quantity: `2`, `1500m`, `128Gi`."""
        if self.nano % NANO == 0:
            return _whole(self.nano // NANO)
        for suffix, unit in (("m", NANO // 1000), ("u", NANO // 10**6)):
            if self.nano % unit == 0:
                return f"{self.nano // unit}{suffix}"
        return f"{self.nano}n"


def _divided(number: int, by: int) -> int:
    """`number / by`, rounded away from zero."""
    return -(-number // by) if number > 0 else number // by


def _whole(units: int) -> str:
    sizes = {suffix: 1000**power for suffix, power in _DECIMAL.items() if power >= 0}
    if abs(units) <= _MAX:  # larger ones would be cut off when read back
        sizes |= {suffix: 1024**power for suffix, power in _BINARY.items()}
    texts = [f"{units // size}{suffix}" for suffix, size in sizes.items() if units % size == 0]
    return min(texts, key=len) if units else "0"


def cores(amount: float | int) -> Quantity:
    """A number of CPU cores, to the nearest nano-core."""
    return Quantity(round(Fraction(amount) * NANO))


def gib(amount: float | int) -> Quantity:
    """A number of GiB, to the nearest nano-byte."""
    return Quantity(round(Fraction(amount) * 1024**3 * NANO))


def parse_quantity(text: str | int | float, field: str = "quantity") -> Quantity:
    """Read a quantity as the API server does; `field` names the place in the error."""
    quantity = _parse(str(text)) if not isinstance(text, int) or abs(text) < 10**30 else None
    if quantity is None:
        raise ConfigError(
            f"{field}: {text!r} is not a quantity; write it like 500m, 2, 1.5Gi or 4e9"
        )
    return quantity


@lru_cache(maxsize=4096)
def _parse(text: str) -> Quantity | None:
    match = _PATTERN.fullmatch(text)
    if not match or len(text) > _LONGEST:
        return None
    number = Fraction(match["number"]) * NANO
    suffix = match["suffix"] or ""
    if match["exponent"]:
        number *= Fraction(10) ** int(match["exponent"])
    elif suffix in _BINARY:
        number = min(abs(number) * 1024 ** _BINARY[suffix], Fraction(_MAX * NANO)) * _sign(number)
    else:
        number *= Fraction(1000) ** _DECIMAL[suffix]
    return Quantity(_divided(number.numerator, number.denominator))


def _sign(number: Fraction) -> int:
    return -1 if number < 0 else 1
