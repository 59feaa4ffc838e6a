"""The study in a few sentences, no stronger than its numbers."""

from collections.abc import Sequence

from trimtab.study.measures import IMBALANCE, MIGRATIONS
from trimtab.study.ranking import NOTHING
from trimtab.study.result import Estimate, Row, Table


def summarise(table: Table, labels: Sequence[str], scenarios: int) -> str:
    """What a reader should take away, limited to the scenarios that were run."""
    rows = {row.candidate: row for row in table.rows}
    best, nothing = rows[table.best], rows[NOTHING]
    scope = "this scenario" if scenarios == 1 else f"these {scenarios} scenarios"
    if table.best == NOTHING:
        return f"On {scope} nothing that was tried is better than leaving every VM where it is."
    sentences = [
        f"On {scope} {labels[table.best]} keeps the cluster most level: "
        f"imbalance {interval(best.measures[IMBALANCE])} points, "
        f"against {number(nothing.measures[IMBALANCE].value)} if nothing is done."
    ]
    others = [row for row in table.rows if row.among_best and row.candidate != table.best]
    if others:
        sentences.append(_others(others, rows[table.pick], best, labels))
    return " ".join(sentences)


def _others(others: Sequence[Row], pick: Row, best: Row, labels: Sequence[str]) -> str:
    count = f"{len(others)} others" if len(others) > 1 else labels[others[0].candidate]
    text = f"{count} cannot be told apart from it"
    if pick.candidate == best.candidate:
        return f"{text}; it moves the fewest VMs of them ({moves(pick)} per run)."
    name = labels[pick.candidate]
    return (
        f"{text}; of them {name} moves the fewest VMs ({moves(pick)} per run, not {moves(best)})."
    )


def moves(row: Row) -> str:
    return number(row.measures[MIGRATIONS].value)


def interval(estimate: Estimate) -> str:
    """`4.21 (4.02 to 4.40)`."""
    return f"{number(estimate.value)} ({number(estimate.low)} to {number(estimate.high)})"


def number(value: float | None) -> str:
    """Three digits that matter; a dash where there is no value."""
    if value is None:
        return "–"
    if value == 0:
        return "0"
    size = abs(value)
    decimals = 0 if size >= 100 else 1 if size >= 10 else 2
    return f"{value:,.{decimals}f}"
