"""What a score is made of: a handful of frozen node types and the usual operators.

An expression has one value per node of the cluster, one for the whole cluster, or is a
number. It says nothing about time: the same expression is evaluated on instant values
(`score`) and on 1-minute means (`avg1m`). Only `Over` looks back, and only at something
that is recorded, because a range selector can read nothing else.

Expressions are compared by identity: a part that two scores share is one object, so it is
computed once and recorded once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias, get_args

from msgspec import Struct

Column: TypeAlias = Literal[
    "cpu_usage",
    "cpu_pressure",
    "memory_usage",
    "memory_pressure",
    "cpu_in_flight",
    "memory_in_flight",
]
COLUMNS: tuple[Column, ...] = get_args(Column)

Level: TypeAlias = Literal["number", "cluster", "node"]
Kind: TypeAlias = Literal["helper", "score", "cluster"]
Operator: TypeAlias = Literal["+", "-", "*", "/", "^"]
Aggregate: TypeAlias = Literal["avg", "max", "quantile"]
Reducer: TypeAlias = Literal["avg", "quantile", "stddev", "predict"]


class Expr(Struct, frozen=True, eq=False):
    """Something with a value; the operators build larger ones."""

    @property
    def parts(self) -> tuple[Expr, ...]:
        """The expressions this one is made of."""
        return ()

    @property
    def level(self) -> Level:
        """Whether the value belongs to a node, to the cluster, or to neither."""
        levels = {part.level for part in self.parts}
        return "node" if "node" in levels else "cluster" if "cluster" in levels else "number"

    def __add__(self, other: Operand) -> Expr:
        return Binary("+", self, wrap(other))

    def __radd__(self, other: float) -> Expr:
        return Binary("+", wrap(other), self)

    def __sub__(self, other: Operand) -> Expr:
        return Binary("-", self, wrap(other))

    def __rsub__(self, other: float) -> Expr:
        return Binary("-", wrap(other), self)

    def __mul__(self, other: Operand) -> Expr:
        return Binary("*", self, wrap(other))

    def __rmul__(self, other: float) -> Expr:
        return Binary("*", wrap(other), self)

    def __truediv__(self, other: Operand) -> Expr:
        return Binary("/", self, wrap(other))

    def __rtruediv__(self, other: float) -> Expr:
        return Binary("/", wrap(other), self)

    def __pow__(self, other: float) -> Expr:
        return Binary("^", self, wrap(other))


Operand: TypeAlias = Expr | float


class Number(Expr, frozen=True, eq=False):
    value: float


class Input(Expr, frozen=True, eq=False):
    """One of the columns of a window: a base record in Prometheus."""

    column: Column

    @property
    def level(self) -> Level:
        return "node"


class Binary(Expr, frozen=True, eq=False):
    operator: Operator
    left: Expr
    right: Expr

    @property
    def parts(self) -> tuple[Expr, ...]:
        return (self.left, self.right)


class Function(Expr, frozen=True, eq=False):
    name: Literal["sqrt", "abs"]
    argument: Expr

    @property
    def parts(self) -> tuple[Expr, ...]:
        return (self.argument,)


class Clamp(Expr, frozen=True, eq=False):
    argument: Expr
    low: float | None = None
    high: float | None = None

    @property
    def parts(self) -> tuple[Expr, ...]:
        return (self.argument,)


class Extreme(Expr, frozen=True, eq=False):
    """The larger (or smaller) of two values, node by node."""

    which: Literal["larger", "smaller"]
    left: Expr
    right: Expr

    @property
    def parts(self) -> tuple[Expr, ...]:
        return (self.left, self.right)


class Pick(Expr, frozen=True, eq=False):
    """`then` where `left > right`, elsewhere `otherwise`, node by node."""

    left: Expr
    right: Expr
    then: Expr
    otherwise: Expr

    @property
    def parts(self) -> tuple[Expr, ...]:
        return (self.left, self.right, self.then, self.otherwise)


class Across(Expr, frozen=True, eq=False):
    """One value for the cluster from the values of its nodes."""

    how: Aggregate
    argument: Expr
    quantile: float = 0.5

    @property
    def parts(self) -> tuple[Expr, ...]:
        return (self.argument,)

    @property
    def level(self) -> Level:
        return "cluster"


class Record(Expr, frozen=True, eq=False):
    """A named part: computed once, and a recording rule of its own in Prometheus."""

    name: str
    argument: Expr
    kind: Kind = "helper"
    dimension: Column | None = None

    @property
    def parts(self) -> tuple[Expr, ...]:
        return (self.argument,)


class Over(Expr, frozen=True, eq=False):
    """A reducer over the last `window_s` seconds of a recorded series.

    `parameter` is the quantile, or the seconds ahead of `predict`.
    """

    how: Reducer
    argument: Input | Record
    window_s: float
    parameter: float = 0.0

    @property
    def parts(self) -> tuple[Expr, ...]:
        return (self.argument,)


class Dominant(Expr, frozen=True, eq=False):
    """The candidate whose cluster mean is the largest; the first of those within `tolerance`.

    Without the tolerance the order of a summation would choose between mirror-image columns.
    """

    candidates: tuple[Expr, ...]
    means: tuple[Record, ...]
    tolerance: float

    @property
    def parts(self) -> tuple[Expr, ...]:
        return (*self.candidates, *self.means)


class ParetoFront(Expr, frozen=True, eq=False):
    """Index of the non-dominated front plus crowding, over the four inputs."""

    inputs: tuple[Input, ...]

    @property
    def parts(self) -> tuple[Expr, ...]:
        return self.inputs


def wrap(value: Operand) -> Expr:
    """The expression itself, or a number as an expression."""
    return value if isinstance(value, Expr) else Number(float(value))


def walk(expr: Expr) -> Iterator[Expr]:
    """Every distinct part of `expr`, parts before the whole."""
    seen: set[Expr] = set()

    def visit(node: Expr) -> Iterator[Expr]:
        if node in seen:
            return
        seen.add(node)
        for part in node.parts:
            yield from visit(part)
        yield node

    yield from visit(expr)
