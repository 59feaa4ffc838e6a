"""The catalogue: every score once, as an expression, with the words that help to choose it.

Symbols in the formulas: c, p, m, q are CPU usage, CPU pressure, memory usage and memory
pressure of a node; D_x = x - mean of x over the nodes; d_x = max(0, D_x), the excess;
norm(r) = r / max(largest r of any node, 1e-5). Every score ends with a clamp to [0, 1].
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from types import MappingProxyType

from trimtab.errors import ConfigError
from trimtab.scores.expr import Dominant, Expr, ParetoFront
from trimtab.scores.further import AMPLIFIED, FURTHER, IDEAL_POINT, excess_norm
from trimtab.scores.inputs import (
    cpu_pressure,
    cpu_usage,
    deviations,
    excess_means,
    excesses,
    inputs,
    length,
    memory_pressure,
    memory_usage,
    norm,
    total,
)
from trimtab.scores.language import larger, record, sqrt
from trimtab.scores.score import Score, define

PRESSURE_WEIGHTS = (0.15, 0.35, 0.15, 0.35)
PRESSURE_DOUBLED = (1, 2, 1, 2)


def weighted(weights: Iterable[float], terms: Iterable[Expr]) -> Expr:
    """The weighted sum; a weight of one is not written."""
    return total([t if w == 1 else w * t for w, t in zip(weights, terms, strict=True)])


def squares(terms: Iterable[Expr]) -> list[Expr]:
    return [term**2 for term in terms]


excess_mean_square = record("excess_mean_square", weighted(PRESSURE_WEIGHTS, squares(excesses)))
centroid_distance_raw = record("centroid_distance_raw", length(deviations))
variance_minimization_raw = record(
    "variance_minimization_raw", sqrt(weighted(PRESSURE_DOUBLED, squares(deviations)))
)
directional_variance_minimization_raw = record(
    "directional_variance_minimization_raw", weighted(PRESSURE_DOUBLED, excesses)
)
critical_dimension_excess = record(
    "critical_dimension_excess", Dominant(excesses, excess_means, tolerance=1e-9)
)

LEVELS = (
    define(
        "weighted_average",
        total(inputs) / 4,
        formula="(c + p + m + q) / 4",
        choose="You want one plain number that everyone understands.",
        weakness="A node with one exhausted input and three idle ones looks a quarter full.",
    ),
    define(
        "max_metric",
        larger(larger(cpu_usage, cpu_pressure), larger(memory_usage, memory_pressure)),
        formula="max(c, p, m, q)",
        choose="Any single exhausted input is reason enough to move VMs.",
        weakness="Memory usage is often the largest everywhere and hides the other three.",
    ),
    define(
        "euclidean_distance",
        length(inputs) / 2,
        formula="sqrt(c² + p² + m² + q²) / 2",
        choose="Like weighted_average, but high inputs should count for more than low ones.",
        weakness="Still a level: a cluster that is evenly full scores as high as one hot node.",
    ),
    define(
        "pressure_focused",
        (cpu_pressure + memory_pressure + (cpu_usage + memory_usage) / 2) / 3,
        formula="(2 · (p + q) / 2 + (c + m) / 2) / 3",
        choose="PSI works on all nodes and VMs that wait matter more than nodes that work.",
        weakness="Pressure rises late and steeply: there is little warning before it does.",
    ),
    define(
        "cpu_focused",
        0.7 * cpu_usage + 0.3 * cpu_pressure,
        formula="0.7 c + 0.3 p",
        choose="Memory is never short: only the processors are to be levelled.",
        weakness="Blind to memory; it will fill a node's memory to relieve another's CPU.",
    ),
    define(
        "memory_focused",
        0.7 * memory_usage + 0.3 * memory_pressure,
        formula="0.7 m + 0.3 q",
        choose="Memory is what runs out first, as with large databases.",
        weakness="Blind to CPU; memory hardly changes over time, so it reacts to moves only.",
    ),
)

DEVIATIONS = (
    define(
        "weighted_rms_positive_deviation",
        sqrt(excess_mean_square),
        formula="sqrt(0.15 d_c² + 0.35 d_p² + 0.15 d_m² + 0.35 d_q²)",
        choose="Nodes above the mean matter, pressure more than usage.",
        weakness="Usage alone can hardly exceed 0.39, so a threshold of 10 points is far away.",
    ),
    define(
        "weighted_mean_square_positive_deviation",
        excess_mean_square,
        formula="0.15 d_c² + 0.35 d_p² + 0.15 d_m² + 0.35 d_q²",
        choose="Only extreme nodes should ever be touched.",
        weakness="An excess of 0.3 in usage is a score of 0.0135: one percent after truncation.",
    ),
    define(
        "linear_weighted_positive_deviation",
        weighted(PRESSURE_WEIGHTS, excesses),
        formula="0.15 d_c + 0.35 d_p + 0.15 d_m + 0.35 d_q",
        choose="Like weighted_rms_positive_deviation, but several small excesses should add up.",
        weakness="Small values, as there: combine it with small thresholds.",
    ),
)

RELATIVE = (
    define(
        "centroid_distance",
        norm(centroid_distance_raw),
        formula="norm(sqrt(D_c² + D_p² + D_m² + D_q²))",
        choose="To find unusual nodes, whichever way they differ.",
        weakness="An idle node is as far from the mean as a hot one: idle nodes get evictions.",
    ),
    define(
        "directional_centroid_distance",
        norm(excess_norm),
        formula="norm(sqrt(d_c² + d_p² + d_m² + d_q²))",
        choose="The worst node should always be treated, however small the imbalance.",
        weakness="Never at rest: the worst node scores 1 even in a well-levelled cluster.",
    ),
    define(
        "variance_minimization",
        norm(variance_minimization_raw),
        formula="norm(sqrt(D_c² + 2 D_p² + D_m² + 2 D_q²))",
        choose="As centroid_distance, with pressure counted double.",
        weakness="As centroid_distance: direction is lost.",
    ),
    define(
        "directional_variance_minimization",
        norm(directional_variance_minimization_raw),
        formula="norm(d_c + 2 d_p + d_m + 2 d_q)",
        choose="As directional_centroid_distance, with pressure counted double.",
        weakness="As directional_centroid_distance: never at rest.",
    ),
    define(
        "critical_dimension_focus",
        norm(critical_dimension_excess),
        formula="norm(d of the input with the largest mean excess; of equal ones the first)",
        choose="One input at a time is out of balance and it changes which.",
        weakness="Switches input from one cycle to the next when two are alike, and ignores three.",
    ),
    define(
        "pareto_front",
        ParetoFront(inputs),
        formula="f / (F - 1) + crowding, f the front by dominance, F their number",
        choose="No weights can be agreed on: a node is worse only if it is worse in everything.",
        weakness="Ranks, not amounts: a gap of 0.001 counts like one of 0.5; needs pair series.",
    ),
)

CLASSIC: tuple[Score, ...] = (*LEVELS, *DEVIATIONS, *RELATIVE, IDEAL_POINT, *AMPLIFIED)

CATALOG: Mapping[str, Score] = MappingProxyType({s.name: s for s in (*CLASSIC, *FURTHER)})

_ALIASES = {alias: score for score in CATALOG.values() for alias in score.aliases}


def find_score(name: str) -> Score:
    """The score of that name or alias."""
    if (score := CATALOG.get(name) or _ALIASES.get(name)) is not None:
        return score
    near = get_close_matches(name, [*CATALOG, *_ALIASES], n=1)
    hint = f'did you mean "{near[0]}"?' if near else "`trimtab scores list` names them all"
    raise ConfigError(f'score "{name}": there is no such score; {hint}')
