"""Prints expressions as PromQL.

Values per node are vectors labelled `node` and `instance` and match each other without `on`.
Values of the cluster are vectors without labels; beside a value per node they are wrapped in
`scalar()`, because `x - avg(x)` matches nothing and is silently empty. Everything named is a
record of its own, so an expression never repeats another's work.
"""

from typing import NamedTuple

from trimtab.scores.expr import (
    Across,
    Binary,
    Clamp,
    Dominant,
    Expr,
    Extreme,
    Function,
    Input,
    Number,
    Over,
    ParetoFront,
    Pick,
    Record,
)
from trimtab.scores.inputs import cluster_means
from trimtab.scores.prometheus.pareto_promql import ParetoRules
from trimtab.scores.prometheus.records import base_record, duration, helper_ending, number
from trimtab.scores.score import Mode

# How tightly PromQL's operators bind; an operand that binds less needs parentheses.
OR, AND, COMPARE, SUM, PRODUCT, POWER, ATOM = range(1, 8)
_STRENGTH = {"+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "^": POWER}


class Text(NamedTuple):
    """PromQL, and how tightly its outermost operator binds."""

    text: str
    strength: int = ATOM

    def inside(self, strength: int) -> str:
        """The text as an operand of something that binds with `strength`."""
        return self.text if self.strength >= strength else f"({self.text})"


class Printer:
    """PromQL for one mode; all windows are divided by `scale`."""

    def __init__(self, mode: Mode, scale: float = 1.0, pareto: ParetoRules | None = None) -> None:
        self.mode = mode
        self._scale = scale
        self._pareto = pareto or ParetoRules(mode)

    def show(self, expr: Expr) -> str:
        """The expression as PromQL."""
        return self._text(expr).text

    def definition(self, record: Record) -> str:
        """The right-hand side of a record's rule."""
        return self.show(record.argument)

    def name(self, expr: Input | Record) -> str:
        """The record that holds `expr`."""
        if isinstance(expr, Input):
            return base_record(expr.column, self.mode)
        place = "cluster" if expr.kind == "cluster" else "node"
        return f"descheduler:{place}:{expr.name}:{self._ending(expr)}"

    def _ending(self, record: Record) -> str:
        if record.kind == "score":
            return self.mode
        if self.mode == "score" and record in cluster_means:  # a name that users know
            return "avg"
        return helper_ending(self.mode)

    def _text(self, expr: Expr) -> Text:
        match expr:
            case Number():
                return Text(number(expr.value))
            case Input() | Record():
                return Text(self.name(expr))
            case Binary():
                return self._binary(expr)
            case Function():
                return Text(f"{expr.name}({self.show(expr.argument)})")
            case Clamp():
                return self._clamp(expr)
            case Extreme():
                return self._extreme(expr)
            case Pick():
                return self._pick(expr)
            case Across():
                quantile = f"{number(expr.quantile)}, " if expr.how == "quantile" else ""
                return Text(f"{expr.how}({quantile}{self.show(expr.argument)})")
            case Dominant():
                return self._dominant(expr)
            case Over():
                return self._over(expr)
            case ParetoFront():
                return Text(self._pareto.expression, OR)
        raise TypeError(f"{type(expr).__name__} cannot be printed")

    def _beside(self, operand: Expr, other: Expr) -> Text:
        """`operand` as it must be written next to `other`."""
        if operand.level == "cluster" and other.level == "node":
            return Text(f"scalar({self.show(operand)})")
        return self._text(operand)

    def _binary(self, expr: Binary) -> Text:
        strength = _STRENGTH[expr.operator]
        # The right side of an equal operator keeps its parentheses, and with them the order in
        # which sums are rounded; `^` groups the other way round.
        left = self._beside(expr.left, expr.right).inside(strength + (expr.operator == "^"))
        right = self._beside(expr.right, expr.left).inside(strength + 1)
        return Text(f"{left} {expr.operator} {right}", strength)

    def _clamp(self, expr: Clamp) -> Text:
        inner = self.show(expr.argument)
        match expr.low, expr.high:
            case None, None:
                return self._text(expr.argument)
            case low, None if low is not None:
                return Text(f"clamp_min({inner}, {number(low)})")
            case None, high if high is not None:
                return Text(f"clamp_max({inner}, {number(high)})")
            case low, high:
                return Text(f"clamp({inner}, {number(low)}, {number(high)})")  # type: ignore[arg-type]

    def _extreme(self, expr: Extreme) -> Text:
        left, right = expr.left, expr.right
        if left.level == right.level:
            sign = ">=" if expr.which == "larger" else "<="
            one, two = self._text(left), self._text(right)
            kept = f"{one.inside(SUM)} {sign} {two.inside(SUM)}"
            return Text(f"{kept} or {two.inside(AND)}", OR)
        if left.level == "cluster" and right.level == "node":
            left, right = right, left
        function = "clamp_min" if expr.which == "larger" else "clamp_max"
        return Text(f"{function}({self.show(left)}, {self._beside(right, left).text})")

    def _pick(self, expr: Pick) -> Text:
        left = self._beside(expr.left, expr.right).inside(SUM)
        right = self._beside(expr.right, expr.left).inside(SUM)
        test = f"({left} > {right})"
        everyone = self._text(expr.left if expr.left.level == "node" else expr.right)
        then = self._where(expr.then, test) or f"{self._text(expr.then).inside(AND)} and {test}"
        otherwise = self._where(expr.otherwise, everyone.inside(PRODUCT))
        return Text(f"{then} or {otherwise or self._text(expr.otherwise).inside(AND)}", OR)

    def _where(self, expr: Expr, nodes: str) -> str | None:
        """A value of the cluster, or a number, given to each of `nodes`."""
        if expr.level == "node":
            return None
        value = self.show(expr) if expr.level == "number" else f"scalar({self.show(expr)})"
        return f"0 * {nodes} + {value}"

    def _dominant(self, expr: Dominant) -> Text:
        means = self.name(expr.means[0])
        limit = f"scalar(max({means})) - {number(expr.tolerance)}"
        terms = (
            f'({self._text(candidate).inside(COMPARE)} and on () ({means}{{dimension="'
            f'{mean.dimension}"}} >= {limit}))'
            for candidate, mean in zip(expr.candidates, expr.means, strict=True)
        )
        return Text(" or ".join(terms), OR)

    def _over(self, expr: Over) -> Text:
        """`and x` drops nodes that have left but still have samples inside the window."""
        series = self.name(expr.argument)
        samples = f"{series}[{duration(expr.window_s / self._scale)}]"
        match expr.how:
            case "quantile":
                call = f"quantile_over_time({number(expr.parameter)}, {samples})"
            case "predict":
                # Silent on a single sample: such a node predicts itself.
                ahead = number(expr.parameter / self._scale)
                return Text(f"predict_linear({samples}, {ahead}) and {series} or {series}", OR)
            case how:
                call = f"{how}_over_time({samples})"
        return Text(f"{call} and {series}", AND)
