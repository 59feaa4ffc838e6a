"""The study in a few sentences, no stronger than its numbers."""

from collections.abc import Collection, Sequence

from trimtab.study.results.measures import CONVERGED, IMBALANCE, MIGRATIONS, MINIMUM
from trimtab.study.results.ranking import NOTHING
from trimtab.study.results.result import CandidateTable, Estimate, Row

MOST = 0.5  # of the runs


def summarise(
    table: CandidateTable,
    labels: Sequence[str],
    scenarios: int,
    reading_pressure: Collection[int] = (),
) -> str:
    """What a reader should take away, limited to the scenarios that were run.

    `reading_pressure` are the candidates whose score needs PSI on every node.
    """
    rows = {row.candidate: row for row in table.rows}
    best, pick, nothing = rows[table.best], rows[table.pick], rows[NOTHING]
    scope = "this scenario" if scenarios == 1 else f"these {scenarios} scenarios"
    if table.best == NOTHING:
        return f"On {scope} nothing that was tried is better than leaving every VM where it is."
    sentences = [
        f"On {scope} {labels[table.best]} keeps the cluster most level: "
        f"imbalance {interval(best.measures[IMBALANCE])} points, "
        f"against {number(nothing.measures[IMBALANCE].value)} if nothing is done, "
        f"with {moves(best)} migrations per run."
    ]
    others = sum(row.among_best for row in table.rows) - 1
    if others:
        sentences.append(f"{others} other{'s' * (others > 1)} cannot be told apart from it.")
    sentences.append(_choice("The best compromise", pick, best, nothing, labels))
    if table.stock_pick != table.pick:
        stock = rows[table.stock_pick]
        what = "Of what the stock descheduler can do, the best compromise"
        sentences.append(_choice(what, stock, best, nothing, labels))
    sentences += _needs_pressure(table, labels, reading_pressure)
    return " ".join(sentences)


def _needs_pressure(
    table: CandidateTable, labels: Sequence[str], reading_pressure: Collection[int]
) -> list[str]:
    """A recommendation that cannot be followed everywhere says so."""
    named = dict.fromkeys(c for c in (table.best, table.pick, table.stock_pick) if c != NOTHING)
    needing = [labels[c] for c in named if c in reading_pressure]
    if not needing:
        return []
    who = needing[0] if len(needing) == 1 else f"{', '.join(needing[:-1])} and {needing[-1]}"
    return [
        f"{who} read{'s' * (len(needing) == 1)} pressure: every node needs PSI (kernel argument "
        "psi=1, a reboot where it is off)."
    ]


def _choice(what: str, chosen: Row, best: Row, nothing: Row, labels: Sequence[str]) -> str:
    if chosen.candidate == best.candidate:
        return "It is also the best compromise with the number of migrations."
    if chosen.candidate == NOTHING:
        return f"{what} is to leave every VM where it is."
    before, now, least = (row.measures[IMBALANCE].value or 0.0 for row in (nothing, chosen, best))
    share = (before - now) / (before - least)
    return (
        f"{what} is {labels[chosen.candidate]}: "
        f"{100 * share:.0f} % of that gain with {moves(chosen)} migrations per run."
    )


def gap_text(row: Row) -> str:
    """Migrations over the minimum, or why that ratio would mislead.

    A run that did not level the cluster cannot be compared with the fewest moves that do, and
    over a minimum near zero every count looks enormous.
    """
    level, least = (row.measures[name].value or 0.0 for name in (CONVERGED, MINIMUM))
    if level == 0:
        return "never level"
    if least < 1:
        return "little to do" if least else "nothing to do"
    if level <= MOST:
        return f"level in {100 * level:.0f} %"
    return number(row.gap.value)


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
