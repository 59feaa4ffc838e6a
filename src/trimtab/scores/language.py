"""What scores are written with: functions that build expressions and refuse what cannot work.

Inputs are in `inputs`; `+ - * / **` are Python's. Prometheus could not evaluate what is refused
here: a reducer over time of something unnamed, a function of a plain number.
"""

from trimtab.errors import ConfigError
from trimtab.scores.expr import (
    Across,
    Clamp,
    Column,
    Expr,
    Extreme,
    Function,
    Input,
    Operand,
    Over,
    Pick,
    Record,
    wrap,
)


def sqrt(argument: Expr) -> Expr:
    """The square root."""
    return Function("sqrt", _not_a_number(argument))


def absolute(argument: Expr) -> Expr:
    """The distance from zero."""
    return Function("abs", _not_a_number(argument))


def clamp(argument: Expr, low: float | None = None, high: float | None = None) -> Expr:
    """`argument` kept between `low` and `high`; `None` leaves that side open."""
    return Clamp(_not_a_number(argument), low, high)


def larger(first: Expr, *others: Operand) -> Expr:
    """The largest of the arguments, node by node."""
    for other in others:
        first = Extreme("larger", _not_a_number(first), wrap(other))
    return first


def smaller(first: Expr, *others: Operand) -> Expr:
    """The smallest of the arguments, node by node."""
    for other in others:
        first = Extreme("smaller", _not_a_number(first), wrap(other))
    return first


def pick(left: Expr, right: Operand, *, then: Operand, otherwise: Operand) -> Expr:
    """`then` where `left > right`, elsewhere `otherwise`; one side of the test is per node."""
    result = Pick(left, wrap(right), wrap(then), wrap(otherwise))
    if "node" not in (result.left.level, result.right.level):
        raise ConfigError("pick() compares nodes; give it at least one value per node to compare")
    return result


def mean(argument: Expr) -> Expr:
    """The plain mean over the nodes."""
    return Across("avg", _per_node(argument))


def maximum(argument: Expr) -> Expr:
    """The largest value of any node."""
    return Across("max", _per_node(argument))


def median(argument: Expr) -> Expr:
    """The middle value; the mean of the two middle ones if the nodes are even in number."""
    return Across("quantile", _per_node(argument), 0.5)


def record(name: str, argument: Expr) -> Record:
    """Name a per-node part, so that it is recorded and a reducer over time can read it."""
    return Record(name, argument)


def cluster_record(name: str, argument: Expr, dimension: Column | None = None) -> Record:
    """Name a value of the whole cluster."""
    return Record(name, argument, "cluster", dimension)


def average_over(argument: Expr, window_s: float) -> Expr:
    """Prometheus' `avg_over_time`."""
    return Over("avg", _recorded(argument), window_s)


def quantile_over(quantile: float, argument: Expr, window_s: float) -> Expr:
    """Prometheus' `quantile_over_time`: linear between the two nearest ranks."""
    return Over("quantile", _recorded(argument), window_s, quantile)


def stddev_over(argument: Expr, window_s: float) -> Expr:
    """Prometheus' `stddev_over_time`: of the population, so 0 for a single sample."""
    return Over("stddev", _recorded(argument), window_s)


def predict(argument: Expr, window_s: float, ahead_s: float) -> Expr:
    """Prometheus' `predict_linear`; a series with one sample so far predicts itself."""
    return Over("predict", _recorded(argument), window_s, ahead_s)


def _not_a_number(argument: Expr) -> Expr:
    if argument.level == "number":
        raise ConfigError("this function works on inputs; compute plain numbers in Python instead")
    return argument


def _per_node(argument: Expr) -> Expr:
    if argument.level != "node":
        raise ConfigError("mean(), maximum() and median() need one value per node; give an input")
    return argument


def _recorded(argument: Expr) -> Input | Record:
    if isinstance(argument, Input | Record) and argument.level == "node":
        return argument
    raise ConfigError(
        "a reducer over time reads a recorded series of each node; "
        'name its argument first: record("my_part", ...)'
    )
