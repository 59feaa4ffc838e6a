"""Ranking: which candidate keeps the cluster most level, how sure that is, and at what price.

The order is by imbalance alone; those that cannot be told apart from the best (after Holm's
correction) are marked. The pick is the best compromise with the number of migrations, in
units that need no tuning: the imbalance that doing nothing leaves is 1, and so is one
migration per VM; the pick is nearest to none of both. It does not depend on who else takes
part. All claims are about the scenarios that were run: seeds are resampled, scenarios not.
"""

from collections.abc import Collection, Mapping

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from trimtab.study.results.measures import IMBALANCE, MIGRATIONS, MINIMUM
from trimtab.study.results.result import CandidateTable, Comparison, Estimate, Row, Verdict
from trimtab.study.results.statistics import (
    average_ranks,
    holm,
    intervals,
    paired_p_values,
    pareto_front,
    ratio_intervals,
    resampling,
)

Floats = NDArray[np.float64]
SIGNIFICANT = 0.05
NOTHING = 0  # the place of do-nothing among the candidates


class MeasuredRuns(Struct, frozen=True):
    """The runs of one table: (candidates, seeds) for each measure."""

    scenario: str | None
    measures: Mapping[str, Floats]
    ranks: Floats
    """(candidates, blocks), a block being one scenario and seed"""
    vms: float


def ranks_of(measures: Mapping[str, Floats]) -> Floats:
    """Ranks within each seed by imbalance, ties by migrations."""
    return average_ranks(measures[IMBALANCE], measures[MIGRATIONS])


def together(parts: list[MeasuredRuns]) -> MeasuredRuns:
    """All scenarios as one table: each measure's mean over the scenarios, seed by seed."""
    names = parts[0].measures.keys()
    return MeasuredRuns(
        scenario=None,
        measures={n: np.mean([part.measures[n] for part in parts], axis=0) for n in names},
        ranks=np.concatenate([part.ranks for part in parts], axis=1),
        vms=float(np.mean([part.vms for part in parts])),
    )


def make_table(
    observed: MeasuredRuns, default: int, what_if: Collection[int] = ()
) -> CandidateTable:
    """Order the candidates and compare each with do-nothing, the default and the best.

    `what_if` are the places of candidates that cannot be had today.
    """
    imbalance, moves = observed.measures[IMBALANCE], observed.measures[MIGRATIONS]
    means, cost = imbalance.mean(axis=1), moves.mean(axis=1)
    order = np.lexsort((cost, means))
    best = int(order[0])
    weights = resampling(imbalance.shape[1])
    against = {other: _compare(imbalance, other, weights) for other in {NOTHING, default, best}}
    estimates = {name: intervals(v, weights) for name, v in observed.measures.items()}
    gaps = ratio_intervals(moves, observed.measures[MINIMUM], weights)
    front = pareto_front(means, cost)
    distance = compromise(means, cost, observed.vms)
    chosen = compromise(imbalance @ weights.T, moves @ weights.T, observed.vms).argmin(axis=0)
    rows = tuple(
        Row(
            candidate=int(c),
            rank=place,
            mean_rank=float(observed.ranks[c].mean()),
            measures={name: _estimate(found[c]) for name, found in estimates.items()},
            gap=_estimate(gaps[c]),
            distance=float(distance[c]),
            picked_in=float(np.mean(chosen == c)),
            versus_nothing=against[NOTHING][c],
            versus_default=against[default][c],
            versus_best=against[best][c],
            among_best=_is_same(against[best][c]),
            on_front=bool(front[c]),
        )
        for place, c in enumerate(order, start=1)
    )
    today = np.where(np.isin(np.arange(len(distance)), list(what_if)), np.inf, distance)
    return CandidateTable(
        scenario=observed.scenario,
        best=best,
        pick=int(np.argmin(distance)),
        stock_pick=int(np.argmin(today)),
        rows=rows,
    )


def compromise(imbalance: Floats, migrations: Floats, vms: float) -> Floats:
    """Distance of each candidate (first axis) from no imbalance and no migrations.

    Where do-nothing is level already it has distance 0: nothing can be gained.
    """
    nothing = imbalance[NOTHING]
    left = np.divide(imbalance, nothing, out=np.ones_like(imbalance), where=nothing > 0)
    distance: Floats = np.hypot(left, migrations / vms)
    distance[NOTHING] = np.where(nothing > 0, distance[NOTHING], 0.0)
    return distance


def _is_same(with_best: Comparison | None) -> bool:
    return with_best is None or with_best.verdict == "same"


def _compare(imbalance: Floats, other: int, weights: Floats) -> list[Comparison | None]:
    """Each candidate against `other`; None for itself."""
    differences = imbalance - imbalance[other]
    rest = [c for c in range(len(imbalance)) if c != other]
    corrected = dict(zip(rest, holm(paired_p_values(differences[rest])), strict=True))
    found = intervals(differences, weights)
    percent = 100 * (ratio_intervals(imbalance, imbalance[other], weights) - 1)
    return [
        None
        if c == other
        else Comparison(
            difference=_estimate(found[c]),
            percent=_estimate(percent[c]),
            better_in=float(np.mean(differences[c] < 0)),
            p=float(corrected[c]),
            verdict=_verdict(float(found[c, 0]), float(corrected[c])),
        )
        for c in range(len(imbalance))
    ]


def _verdict(difference: float, p: float) -> Verdict:
    if p >= SIGNIFICANT:
        return "same"
    return "better" if difference < 0 else "worse"


def _estimate(numbers: Floats) -> Estimate:
    return Estimate(*(float(x) if np.isfinite(x) else None for x in numbers))
