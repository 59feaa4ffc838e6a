"""What a study found, on a terminal."""

from trimtab.errors import ConfigError
from trimtab.study.execution.rerun import RerunVerdict
from trimtab.study.inputs.identity import Versions
from trimtab.study.report.tables import badges, change_text
from trimtab.study.results.measures import IMBALANCE, MIGRATIONS, MINIMUM
from trimtab.study.results.ranking import NOTHING
from trimtab.study.results.result import CandidateTable, Row, ScenarioFacts, StudyResult
from trimtab.study.results.summary import gap_text, interval, number
from trimtab.view.tables.pictures import Bar
from trimtab.view.terminal import say, show_table, tell

_BAR = 14
_PICK = ("pick of today", "migrations", "minimum")


def show_result(result: StudyResult, scenario: str | None = None) -> None:
    """The ranking on one scenario or on all, what is best on each, and the summary."""
    table, title = _table_of(result, scenario)
    show_ranking(result, table, title)
    tell()
    _show_winners(result)
    tell()
    tell(result.summary)


def show_ranking(result: StudyResult, table: CandidateTable, title: str) -> None:
    """One line per candidate, a bar for its imbalance."""
    most = max((row.measures[IMBALANCE].value or 0.0 for row in table.rows), default=0.0)
    right = ("#", "imbalance", "migrations", "× minimum", "vs nothing")
    show_table(
        ("#", "candidate", "", *right[1:], " "),
        [_rank(result, table, row, most) for row in table.rows],
        title=title,
        right=right,
        drop=(" ", "× minimum", "vs nothing"),
    )


def _rank(result: StudyResult, table: CandidateTable, row: Row, most: float) -> tuple[object, ...]:
    imbalance = row.measures[IMBALANCE]
    mean, low, high = (x or 0.0 for x in (imbalance.value, imbalance.low, imbalance.high))
    return (
        row.rank,
        result.labels[row.candidate],
        _marks(row, table, result),
        f"{mean:.2f} ({low:.2f} to {high:.2f})",
        number(row.measures[MIGRATIONS].value),
        gap_text(row),
        change_text(row.versus_nothing),
        Bar(mean / most if most > 0 else 0.0, _BAR),
    )


def _marks(row: Row, table: CandidateTable, result: StudyResult) -> str:
    """The report's badges, but for those that a label tells already."""
    told = ("own", "what-if")
    return ", ".join(b.text for b in badges(row, table, result) if b.kind not in told)


def _show_winners(result: StudyResult) -> None:
    """What came out best on each scenario."""
    show_table(
        ("scenario", "nodes × VMs", "most level", "imbalance", "do nothing", *_PICK),
        [
            _winner(result, table, facts)
            for table, facts in zip(result.tables, result.scenarios, strict=True)
        ],
        title="Best on each scenario (imbalance in points, 95 % intervals)",
        right=("nodes × VMs", "imbalance", "do nothing", "migrations", "minimum"),
        drop=("nodes × VMs", "do nothing"),
    )


def _winner(result: StudyResult, table: CandidateTable, facts: ScenarioFacts) -> tuple[str, ...]:
    rows = {row.candidate: row for row in table.rows}
    best, pick = rows[table.best], rows[table.stock_pick]
    return (
        facts.name,
        f"{facts.nodes} × {facts.vms}",
        result.labels[table.best],
        interval(best.measures[IMBALANCE]),
        number(rows[NOTHING].measures[IMBALANCE].value),
        "the same" if pick.candidate == best.candidate else result.labels[pick.candidate],
        interval(pick.measures[MIGRATIONS]),
        number(pick.measures[MINIMUM].value),
    )


def _table_of(result: StudyResult, scenario: str | None) -> tuple[CandidateTable, str]:
    """The table of one scenario, or of all together, with its title."""
    if scenario is None and len(result.tables) > 1:
        return result.overall, "All scenarios together (imbalance in points, 95 % intervals)"
    names = [facts.name for facts in result.scenarios]
    wanted = names[0] if scenario is None else scenario
    if wanted not in names:
        raise ConfigError(f"--scenario: there is no {wanted!r} in this study; it has {names}")
    return result.tables[names.index(wanted)], f"{wanted} (imbalance in points, 95 % intervals)"


def show_repetition(verdict: RerunVerdict) -> None:
    """What came of repeating a study."""
    if verdict.then != verdict.now:
        say(f"made with {_made_with(verdict.then)}; repeated with {_made_with(verdict.now)}")
    if not verdict.differences:
        tell(f"all {verdict.compared:,} runs came out the same, bit for bit")
        return
    show_table(
        ("scenario", "candidate", "seed", "what"),
        [(d.scenario, d.candidate, d.seed, d.what) for d in verdict.differences[:20]],
    )
    tell(f"{len(verdict.differences):,} of {verdict.compared:,} runs came out differently")


def _made_with(made: Versions) -> str:
    return (
        f"trimtab {made.trimtab} (code {made.code}), Python {made.python}, "
        f"NumPy {made.numpy}, {made.platform}"
    )
