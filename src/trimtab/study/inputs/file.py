"""What a person writes in a study file (docs/reference/study.md): simulations, and their seeds.

A study is a grid: every scenario meets every combination of the lists below it. `also` adds
further, smaller grids on the same scenarios and seeds, so that thresholds can be varied for
one score without being multiplied by all of them.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from trimtab.errors import ConfigError
from trimtab.model.scenarios.file import API_VERSION, Amount
from trimtab.model.scenarios.io import explained
from trimtab.model.yaml_text import parse_text
from trimtab.sim.spec import Placement, Restraint, Timing, VictimChoice

Pair: TypeAlias = tuple[float, float]
Limits: TypeAlias = tuple[int, int]
ENOUGH_SEEDS = 20


class CandidateGrid(Struct, frozen=True, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """Lists to combine, each with each; the first value of a list is the one to compare with."""

    scores: str | tuple[str, ...] = "all"
    """Names, `all`, `classic` (the 19), or Python files with scores of one's own."""
    policies: tuple[str, ...] = ()
    """Descheduler policy files; without any that of the recording, else the default policy."""
    thresholds: tuple[Pair, ...] = ()
    """Points below and above the mean; without any those of the policy."""
    limits: tuple[Limits, ...] = ()
    """Evictions per cycle, in all and per node; without any those of the policy."""
    placement: tuple[Placement, ...] = ("spread",)
    victims: tuple[VictimChoice, ...] = ("stock",)
    restraint: tuple[Restraint, ...] = (Restraint(),)


class StudyFile(
    CandidateGrid, frozen=True, rename="camel", kw_only=True, forbid_unknown_fields=True
):
    """What a study file holds."""

    name: str
    scenarios: tuple[str, ...] = ()
    """Scenario files, relative to this one."""
    recording: str = ""
    """A recorded cluster (`trimtab record`), relative to this file: one more scenario."""
    api_version: str = API_VERSION
    kind: Literal["Study"] = "Study"
    description: str = ""
    seeds: int | tuple[int, ...] = ENOUGH_SEEDS
    """So many seeds from 0 on, or exactly these."""
    default: str = "linear_amplified_ippd_k3"
    """The score that the others are compared with (with the first value of each list)."""
    duration: Amount | None = None
    """Replaces the scenarios' own, e.g. `1h`."""
    timing: Timing = Timing()
    also: tuple[CandidateGrid, ...] = ()


def load_study(path: str | Path) -> StudyFile:
    """The study in a file, checked; errors name the file and the field."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(f"{path}: cannot read the study: {reason}") from error
    return parse_study(text, str(path))


def parse_study(text: str, where: str = "study") -> StudyFile:
    """A study from text; `where` names it in errors."""
    try:
        file = msgspec.convert(parse_text(text, where), StudyFile)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{where}: {explained(error)}") from error
    problem = next(_problems(file), None)
    if problem:
        raise ConfigError(f"{where}: {problem}")
    return file


def seeds_of(file: StudyFile) -> tuple[int, ...]:
    """The seeds, each once."""
    return tuple(range(file.seeds)) if isinstance(file.seeds, int) else file.seeds


def warnings_about(seeds: Sequence[int]) -> list[str]:
    """What is allowed but weakens the result."""
    count = len(seeds)
    if count >= ENOUGH_SEEDS:
        return []
    return [
        f"seeds: {count} give wide intervals and may hide real differences; "
        f"use {ENOUGH_SEEDS} or more before you decide"
    ]


def _problems(file: StudyFile) -> Iterator[str]:
    if file.api_version != API_VERSION:
        yield f"apiVersion: {file.api_version!r} is not known; write {API_VERSION}"
    if not file.name.strip():
        yield "name: must not be empty"
    if not (file.scenarios or file.recording):
        yield "scenarios: name at least one scenario file, or a recording"
    seeds = seeds_of(file)
    if len(seeds) < 1 or min(seeds) < 0:
        yield "seeds: at least one, none negative"
    if len(set(seeds)) < len(seeds):
        yield "seeds: the same seed twice is the same run twice; remove one"
    if file.timing.descheduling_s <= 0:
        yield "timing.deschedulingS: must be above 0"
    yield from _grid_problems(file, "")
    for index, grid in enumerate(file.also):
        yield from _grid_problems(grid, f"also[{index}].")


def _grid_problems(grid: CandidateGrid, where: str) -> Iterator[str]:
    for name in ("placement", "victims", "restraint"):
        if not getattr(grid, name):
            yield f"{where}{name}: give at least one value, or leave it out"
    if grid.scores == ():
        yield f"{where}scores: name at least one, or write all"
    for index, (below, above) in enumerate(grid.thresholds):
        if not (0 <= below <= 100 and 0 <= above <= 100):
            yield f"{where}thresholds[{index}]: points below and above the mean, each 0..100"
    for index, (total, per_node) in enumerate(grid.limits):
        if total < 0 or per_node < 0:
            yield f"{where}limits[{index}]: evictions in all and per node, not negative"
    for index, restraint in enumerate(grid.restraint):
        if restraint.cooldown_s < 0 or restraint.consecutive < 1 or restraint.minimum_gain < 0:
            yield (
                f"{where}restraint[{index}]: cooldownS and minimumGain must not be negative, "
                "consecutive at least 1"
            )
