"""From the chunks of a directory to the study's result: which runs are there, and what they say."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from trimtab.errors import NotReady
from trimtab.model.scenarios.scenario import Scenario
from trimtab.scores import CATALOG
from trimtab.study.inputs.candidate import labels
from trimtab.study.inputs.identity import Versions, digest, run_id
from trimtab.study.inputs.plan import Cells, StudyPlan
from trimtab.study.results.measures import MEASURES, values
from trimtab.study.results.ranking import MeasuredRuns, make_table, ranks_of, together
from trimtab.study.results.record import Chunk, FullChunk, RunRecord, StudyPicture
from trimtab.study.results.result import ScenarioFacts, StudyResult
from trimtab.study.results.summary import summarise


class KnownRuns(Struct, frozen=True):
    """What is known so far: runs by their id, and for each cell the picture of its first seed."""

    records: Mapping[str, RunRecord]
    pictures: Mapping[str, StudyPicture]

    def of(self, cell: str, seeds: Iterable[int]) -> list[RunRecord]:
        """The runs of one cell, in the order of the seeds."""
        return [self.records[run_id(cell, seed)] for seed in seeds]


def gather(chunks: Iterable[Chunk | FullChunk]) -> KnownRuns:
    """Put chunks together; a run that was done twice counts once (it is the same run)."""
    records: dict[str, RunRecord] = {}
    pictures: dict[str, StudyPicture] = {}
    for chunk in chunks:
        records.update((run.id, run) for run in chunk.runs)
        known = pictures.get(chunk.cell)
        if known is None or chunk.picture.seed < known.seed:
            pictures[chunk.cell] = chunk.picture
    return KnownRuns(records, pictures)


def missing(plan: StudyPlan, cells: Cells, runs: KnownRuns) -> int:
    """How many runs of the plan are not there yet."""
    return sum(
        run_id(cell, seed) not in runs.records
        for row in cells
        for cell in row
        for seed in plan.seeds
    )


def study_result(
    plan: StudyPlan,
    cells: Cells,
    runs: KnownRuns,
    made_with: Versions,
    warnings: Sequence[str] = (),
) -> StudyResult:
    """Rank the candidates; every run of the plan must be there."""
    absent = missing(plan, cells, runs)
    if absent:
        raise NotReady(
            f"{absent} of {plan.runs} runs are not done yet; "
            "run the study (or its other shards) to the end first"
        )
    observed = [
        _observed(scenario, [runs.of(cell, plan.seeds) for cell in row])
        for scenario, row in zip(plan.scenarios, cells, strict=True)
    ]
    what_if = [place for place, c in enumerate(plan.candidates) if c.is_what_if]
    overall = make_table(together(observed), plan.default, what_if)
    tables = tuple(make_table(part, plan.default, what_if) for part in observed)
    names = tuple(labels(plan.candidates))
    return StudyResult(
        name=plan.name,
        description=plan.description,
        id=digest([cells, plan.seeds]),
        versions=made_with,
        seeds=plan.seeds,
        scenarios=tuple(_facts(scenario) for scenario in plan.scenarios),
        candidates=plan.candidates,
        labels=names,
        default=plan.default,
        runs=plan.runs,
        failed_cycles=sum(
            len(run.errors) for row in cells for cell in row for run in runs.of(cell, plan.seeds)
        ),
        overall=overall,
        tables=tables,
        summary=summarise(overall, names, len(tables), _reading_pressure(plan)),
        warnings=tuple(warnings),
    )


def _reading_pressure(plan: StudyPlan) -> list[int]:
    """The places of candidates whose score, one of the catalogue, needs PSI."""
    reading = {name for name, score in CATALOG.items() if score.reads_pressure}
    return [place for place, each in enumerate(plan.candidates) if each.score in reading]


def _observed(scenario: Scenario, records: Sequence[Sequence[RunRecord]]) -> MeasuredRuns:
    cards = [[run.card for run in row] for row in records]
    measures = {measure.name: values(measure, cards) for measure in MEASURES}
    return MeasuredRuns(
        scenario=scenario.name,
        measures=measures,
        ranks=ranks_of(measures),
        vms=float(len(scenario.vms)),
    )


def _facts(scenario: Scenario) -> ScenarioFacts:
    return ScenarioFacts(
        name=scenario.name,
        description=scenario.description,
        nodes=len(scenario.nodes),
        vms=len(scenario.vms),
        duration_s=scenario.duration_s,
    )
