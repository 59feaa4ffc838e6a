"""Results as lines for the terminal."""

from trimtab.errors import ConfigError
from trimtab.study.execution.rerun import RerunVerdict
from trimtab.study.inputs.identity import Versions
from trimtab.study.report.tables import badges, change_text
from trimtab.study.results.measures import IMBALANCE, MIGRATIONS, MINIMUM
from trimtab.study.results.ranking import NOTHING
from trimtab.study.results.result import CandidateTable, Row, StudyResult
from trimtab.study.results.summary import gap_text, interval, number
from trimtab.view.study import RankLine, WinnerLine
from trimtab.view.terminal import say, show_table, tell


def winner_lines(result: StudyResult) -> list[WinnerLine]:
    """What came out best on each scenario."""
    return [_winner(result, index) for index in range(len(result.tables))]


def rank_lines(result: StudyResult, table: CandidateTable) -> list[RankLine]:
    """Every candidate of one table."""
    return [_rank(result, table, row) for row in table.rows]


def table_of(result: StudyResult, scenario: str | None) -> tuple[CandidateTable, str]:
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


def _winner(result: StudyResult, index: int) -> WinnerLine:
    table, facts = result.tables[index], result.scenarios[index]
    rows = {row.candidate: row for row in table.rows}
    best, pick = rows[table.best], rows[table.stock_pick]
    same = pick.candidate == best.candidate
    return WinnerLine(
        scenario=facts.name,
        size=f"{facts.nodes} × {facts.vms}",
        best=result.labels[table.best],
        imbalance=interval(best.measures[IMBALANCE]),
        nothing=number(rows[NOTHING].measures[IMBALANCE].value),
        pick="the same" if same else result.labels[pick.candidate],
        migrations=interval(pick.measures[MIGRATIONS]),
        minimum=number(pick.measures[MINIMUM].value),
    )


def _rank(result: StudyResult, table: CandidateTable, row: Row) -> RankLine:
    imbalance = row.measures[IMBALANCE]
    return RankLine(
        rank=row.rank,
        label=result.labels[row.candidate],
        marks=_marks(row, table, result),
        imbalance=(imbalance.value or 0.0, imbalance.low or 0.0, imbalance.high or 0.0),
        change=change_text(row.versus_nothing),
        migrations=number(row.measures[MIGRATIONS].value),
        gap=gap_text(row),
    )


def _marks(row: Row, table: CandidateTable, result: StudyResult) -> str:
    """The report's badges, but for those that a label tells already."""
    told = ("own", "what-if")
    return ", ".join(b.text for b in badges(row, table, result) if b.kind not in told)
