"""A study's directory: what went in, what was run, what came of it.

    inputs/    study.yaml as written, plan.json with every file resolved, scenarios/,
               versions.json, cells.json (the ids of the grid's cells)
    runs/      one file per chunk of runs; what makes a study resumable
    result.json, runs.parquet, events.parquet, report.html

Every file appears in one piece or not at all, so a killed study leaves nothing half-written.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from trimtab.errors import ConfigError
from trimtab.files.writing import write_whole
from trimtab.model.scenarios.scenario import Scenario
from trimtab.study.inputs.identity import Versions, versions
from trimtab.study.inputs.plan import Cells, StudyPlan
from trimtab.study.results.record import AnyChunk, Chunk, Damaged, FullChunk, decode


class StudyStore:
    """Reads and writes one study directory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.inputs = path / "inputs"
        self.runs = path / "runs"

    def save_inputs(self, plan: StudyPlan, cells: Cells, text: str) -> None:
        """Keep the plan; refuse a directory that holds something else."""
        if self.path.exists() and any(self.path.iterdir()) and not self._is_a_study():
            raise ConfigError(
                f"{self.path}: there is something else in this directory; "
                "name an empty or a new one with --out"
            )
        self.runs.mkdir(parents=True, exist_ok=True)
        (self.inputs / "scenarios").mkdir(parents=True, exist_ok=True)
        write_whole(self.inputs / "study.yaml", text.encode())
        write_whole(self.inputs / "versions.json", pretty_json(versions()))
        write_whole(self.inputs / "cells.json", pretty_json(cells))
        for index, scenario in enumerate(plan.scenarios):
            write_whole(self._scenario(index), msgspec.json.encode(scenario))
        # The plan comes last: it is what says that the other inputs are there.
        write_whole(self._plan, pretty_json(msgspec.structs.replace(plan, scenarios=())))

    def load_plan(self) -> StudyPlan:
        """The plan that was kept, scenarios included."""
        if not self._is_a_study():
            raise ConfigError(
                f"{self.path}: not a study's directory (it has no {self._plan.name}); "
                "`trimtab study FILE --out DIR` makes one"
            )
        try:
            plan = msgspec.json.decode(self._plan.read_bytes(), type=StudyPlan)
            scenarios = tuple(
                msgspec.json.decode(path.read_bytes(), type=Scenario)
                for path in sorted((self.inputs / "scenarios").glob("*.json"))
            )
        except msgspec.MsgspecError as error:
            raise ConfigError(
                f"{self.inputs}: the inputs cannot be read ({error}); "
                "they come from another version of trimtab, or were edited: run the study again"
            ) from error
        return msgspec.structs.replace(plan, scenarios=scenarios)

    def load_cells(self) -> Cells:
        """The ids of the grid's cells, as the code that ran them computed them."""
        return msgspec.json.decode((self.inputs / "cells.json").read_bytes(), type=Cells)

    def load_text(self) -> str:
        """The study file as it was written."""
        return (self.inputs / "study.yaml").read_text(encoding="utf-8")

    def load_versions(self) -> Versions:
        """What the inputs were last run with."""
        return msgspec.json.decode((self.inputs / "versions.json").read_bytes(), type=Versions)

    def save_chunk(self, name: str, data: bytes) -> None:
        """Keep a finished chunk (encoded)."""
        write_whole(self.runs / f"{name}.chunk", data)

    def chunks(self) -> Iterator[Chunk]:
        """Every chunk on disk, without migrations."""
        return self._chunks(Chunk)

    def full_chunks(self) -> Iterator[FullChunk]:
        """Every chunk on disk with all migrations, one at a time."""
        return self._chunks(FullChunk)

    def _chunks(self, kind: type[AnyChunk]) -> Iterator[AnyChunk]:
        """A damaged chunk is set aside, and its seeds will run again."""
        for path in sorted(self.runs.glob("*.chunk")):
            try:
                yield decode(path.read_bytes(), kind)
            except Damaged:
                path.rename(path.with_suffix(".damaged"))

    def _is_a_study(self) -> bool:
        return self._plan.is_file()

    @property
    def _plan(self) -> Path:
        return self.inputs / "plan.json"

    def _scenario(self, index: int) -> Path:
        return self.inputs / "scenarios" / f"{index:03}.json"


def pretty_json(value: object) -> bytes:
    """For people, who look into these files."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
