"""Kubernetes quantities, exactly: `500m`, `1.5Gi`, `2e3`, `128974848`.

A quantity is an integer number of nano-units, the finest that Kubernetes keeps (finer
input is rounded up, as the API server does). So sums never drift, and `value()` and
`milli_value()` round up exactly where Kubernetes does.
"""

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from trimtab.errors import ConfigError

NANO = 10**9
_DECIMAL = {"n": -3, "u": -2, "m": -1, "": 0, "k": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_PATTERN = re.compile(
    r"(?P<number>[+-]?(?:\d+\.?\d*|\.\d+))(?:(?P<suffix>[KMGTPE]i|[numkMGTPE])|[eE](?P<exponent>[+-]?\d{1,3}))?"
)


@dataclass(frozen=True, order=True, slots=True)
class Quantity:
    """An amount of a resource: cores for CPU, bytes for memory."""

    nano: int

    def value(self) -> int:
        """Whole units, rounded up: how Kubernetes counts memory and pods."""
        return -(-self.nano // NANO)

    def milli_value(self) -> int:
        """Thousandths, rounded up: how Kubernetes counts CPU."""
        return -(-self.nano * 1000 // NANO)

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


def _whole(units: int) -> str:
    for suffix, power in reversed(_BINARY.items()):
        if units and units % 1024**power == 0:
            return f"{units // 1024**power}{suffix}"
    return str(units)


def cores(amount: float | int) -> Quantity:
    """A number of CPU cores."""
    return Quantity(round(Fraction(amount) * NANO))


def gib(amount: float | int) -> Quantity:
    """A number of GiB."""
    return Quantity(round(Fraction(amount) * 1024**3 * NANO))


@lru_cache(maxsize=4096)
def parse_quantity(text: str | int | float, field: str = "quantity") -> Quantity:
    """Read a quantity as the API server does; `field` names the place in the error."""
    match = _PATTERN.fullmatch(str(text))
    if not match:
        raise ConfigError(
            f"{field}: {text!r} is not a quantity; write it like 500m, 2, 1.5Gi or 4e9"
        )
    number = Fraction(match["number"])
    if match["exponent"]:
        number *= Fraction(10) ** int(match["exponent"])
    elif (suffix := match["suffix"] or "") in _BINARY:
        number *= 1024 ** _BINARY[suffix]
    else:
        number *= Fraction(1000) ** _DECIMAL[suffix]
    nano = number * NANO
    return Quantity(-((-nano.numerator) // nano.denominator))
