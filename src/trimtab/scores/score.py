"""A score: an expression with a name and the words that help to choose it."""

import re
from collections.abc import Collection
from typing import Literal, TypeAlias

from msgspec import Struct

from trimtab.errors import ConfigError
from trimtab.scores.expr import Clamp, Column, Expr, Input, Over, Record, walk
from trimtab.scores.inputs import IN_FLIGHT, PRESSURE

Mode: TypeAlias = Literal["score", "avg1m"]

MEAN_WINDOW_S = 60.0


class Score(Struct, frozen=True, eq=False):
    """One way to tell how loaded a node is, between 0 and 1; made by `define`."""

    name: str
    value: Record
    formula: str
    choose: str
    weakness: str
    answers: str
    aliases: tuple[str, ...]
    reach_s: float

    @property
    def lookback_s(self) -> float:
        """How much history `avg1m` needs, in seconds."""
        return self.lookback("avg1m")

    def lookback(self, mode: Mode) -> float:
        """How much history the score needs, in seconds; 0 for the latest sample alone."""
        return self.reach_s + (MEAN_WINDOW_S if mode == "avg1m" else 0.0)

    @property
    def reads_pressure(self) -> bool:
        """Whether the score needs PSI on the nodes."""
        return self._reads(PRESSURE)

    @property
    def reads_migrations(self) -> bool:
        """Whether the score uses the two columns about load in flight."""
        return self._reads(IN_FLIGHT)

    def _reads(self, columns: Collection[Column]) -> bool:
        return any(isinstance(e, Input) and e.column in columns for e in walk(self.value))


def define(
    name: str,
    expression: Expr,
    *,
    formula: str,
    choose: str = "",
    weakness: str = "",
    answers: str = "",
    aliases: tuple[str, ...] = (),
) -> Score:
    """A score from its expression, clamped to [0, 1] at the end whatever it says.

    The descheduler gives up on a whole cycle when the score of one node is outside.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise ConfigError(f'score "{name}": a name is lower-case letters, digits and underscores')
    if expression.level != "node":
        raise ConfigError(
            f'score "{name}": the expression has no value per node; '
            "use at least one input outside mean(), maximum() and median()"
        )
    value = Record(name, Clamp(expression, 0, 1), "score")
    return Score(name, value, formula, choose, weakness, answers, aliases, _reach(value))


def _reach(expr: Expr) -> float:
    """The seconds back to the oldest sample that counts, windows over windows added up."""
    own = expr.window_s if isinstance(expr, Over) else 0.0
    return own + max((_reach(part) for part in expr.parts), default=0.0)
