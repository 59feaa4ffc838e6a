"""A plan: the study with every file read, so that it can be kept, repeated and sent elsewhere.

`make_plan` turns a study file into one; from then on no path outside the study's own directory
is read again.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct, structs

from trimtab.errors import ConfigError
from trimtab.model.duration import parse_duration
from trimtab.model.examples import file_or_example
from trimtab.model.load.curve import Curve, Trace
from trimtab.model.nodes_and_vms import Vm
from trimtab.model.recorded.archive import read_recording
from trimtab.model.scenarios.io import load_scenario
from trimtab.model.scenarios.scenario import Scenario
from trimtab.scores import CATALOG, CLASSIC, find_score, load_score_file
from trimtab.sim.spec import RunSpec, Timing
from trimtab.study.inputs.candidate import Candidate, combine
from trimtab.study.inputs.file import CandidateGrid, StudyFile, seeds_of
from trimtab.study.recorded.questions import policy_in_use
from trimtab.study.recorded.replay import replay, verdict
from trimtab.study.recorded.scenario import recorded_scenario

Cells: TypeAlias = list[list[str]]
"""The id of each cell of the grid: one list per scenario, in the order of the candidates."""
OwnScores: TypeAlias = dict[str, tuple[str, str]]
"""For each Python file: the name of the score in it, and its text."""

RECORDED = "recorded"
"""Among policies: that of the recording."""


class StudyPlan(Struct, frozen=True, rename="camel"):
    """Everything that decides what a study's runs will be."""

    name: str
    description: str
    seeds: tuple[int, ...]
    scenarios: tuple[Scenario, ...]
    candidates: tuple[Candidate, ...]
    """Do-nothing first, then in the order of the file."""
    default: int
    """Which candidate the others are compared with."""
    policies: dict[str, str]
    """The text of each policy by its name."""
    own_scores: dict[str, str]
    """The Python text of each score that is not in the catalogue, by its name."""
    timing: Timing
    notes: tuple[str, ...] = ()
    """What a reader of the result must know of a recording."""

    @property
    def runs(self) -> int:
        return len(self.scenarios) * len(self.candidates) * len(self.seeds)

    def spec(self, scenario: int, candidate: int) -> RunSpec:
        """What the simulator gets for one cell of the grid; the seeds come beside it."""
        chosen = self.candidates[candidate]
        return RunSpec(
            scenario=self.scenarios[scenario],
            score=chosen.score,
            policy=self.policies.get(chosen.policy, ""),
            thresholds=chosen.thresholds,
            limits=chosen.limits,
            placement=chosen.placement,
            victims=chosen.victims,
            restraint=chosen.restraint,
            timing=self.timing,
        )


def make_plan(file: StudyFile, folder: Path, scenarios: Sequence[Scenario] = ()) -> StudyPlan:
    """Read what the file names, relative to `folder`, and lay out the grid.

    `scenarios` that a program has made already take the place of those that the file names.
    """
    recorded = _read_recording(folder / file.recording) if file.recording else None
    policies = _read_policies(file, folder)
    if recorded is not None:
        policies[RECORDED] = recorded.policy
        scenarios = [*(scenarios or _read_scenarios(file, folder)), recorded.scenario]
    own = _read_scores(file, folder)
    grids: tuple[CandidateGrid, ...] = (file, *file.also)
    usual = (RECORDED,) if recorded is not None else ()
    active = [c for grid in grids for c in _candidates(grid, own, usual)]
    unique = list(dict.fromkeys(active))
    first = unique[0]
    return StudyPlan(
        name=file.name,
        description=file.description,
        seeds=seeds_of(file),
        scenarios=_ready(file, scenarios or _read_scenarios(file, folder)),
        candidates=(structs.replace(first, score=None), *unique),
        default=1 + _default(file, unique),
        policies=policies,
        own_scores=dict(own.values()),
        timing=file.timing,
        notes=recorded.notes if recorded is not None else (),
    )


class _RecordedInputs(Struct, frozen=True):
    """What a study needs of a recording."""

    scenario: Scenario
    policy: str
    notes: tuple[str, ...]
    """The replay's verdict, and what stands for what the simulator cannot do."""


def _read_recording(path: Path) -> _RecordedInputs:
    """Read a recording and replay it; the scenario is called as the file is."""
    recording = read_recording(path)
    mine, trust = policy_in_use(recording), replay(recording)
    scenario = recorded_scenario(recording)
    named = structs.replace(
        scenario, name=path.stem, vms=tuple(map(_with_own_values, scenario.vms))
    )
    return _RecordedInputs(named, mine.text, (verdict(trust), *trust.why, *mine.notes))


def _with_own_values(vm: Vm) -> Vm:
    """The VM with its loads as plain numbers: a study keeps its scenarios as text."""
    return structs.replace(vm, cpu_load=_plain(vm.cpu_load), memory_load=_plain(vm.memory_load))


def _plain(load: Curve) -> Curve:
    return structs.replace(load, values=tuple(load.values)) if isinstance(load, Trace) else load


def _read_scenarios(file: StudyFile, folder: Path) -> list[Scenario]:
    paths = (file_or_example(folder, path, "scenarios") for path in file.scenarios)
    return [load_scenario(path) for path in paths]


def _candidates(grid: CandidateGrid, own: OwnScores, usual: Sequence[str]) -> list[Candidate]:
    """`usual` names the policy where the grid has none."""
    policies = [Path(path).stem for path in grid.policies]
    return combine(grid, _score_names(grid, own), policies or list(usual))


def _score_names(grid: CandidateGrid, own: OwnScores) -> list[str]:
    names: list[str] = []
    for name in _asked(grid):
        match name:
            case "all":
                names += CATALOG
            case "classic":
                names += [score.name for score in CLASSIC]
            case _ if name in own:
                names.append(own[name][0])
            case _:
                names.append(find_score(name).name)
    return list(dict.fromkeys(names))


def _asked(grid: CandidateGrid) -> Sequence[str]:
    return (grid.scores,) if isinstance(grid.scores, str) else grid.scores


def _read_scores(file: StudyFile, folder: Path) -> OwnScores:
    asked = dict.fromkeys(name for grid in (file, *file.also) for name in _asked(grid))
    return {
        path: (load_score_file(folder / path).name, (folder / path).read_text(encoding="utf-8"))
        for path in asked
        if path.endswith(".py")
    }


def _default(file: StudyFile, candidates: Sequence[Candidate]) -> int:
    """The default score in the first setting; the first candidate where it takes no part."""
    names = {candidate.score for candidate in candidates}
    name = file.default if file.default in names else find_score(file.default).name
    wanted = structs.replace(candidates[0], score=name)
    return candidates.index(wanted) if wanted in candidates else 0


def _ready(file: StudyFile, scenarios: Sequence[Scenario]) -> tuple[Scenario, ...]:
    names = [scenario.name for scenario in scenarios]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(
                f"scenarios: two are called {name!r}; results are told apart by the name, "
                "so give one of them another"
            )
    if file.duration is None:
        return tuple(scenarios)
    duration = parse_duration(file.duration, "duration")
    return tuple(structs.replace(scenario, duration_s=duration) for scenario in scenarios)


def _read_policies(file: StudyFile, folder: Path) -> dict[str, str]:
    texts: dict[str, str] = {}
    for path in dict.fromkeys(p for grid in (file, *file.also) for p in grid.policies):
        if path == RECORDED and file.recording:
            continue
        try:
            text = Path(file_or_example(folder, path, "policies")).read_text(encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"policies: {path}: cannot be read: {error.strerror}") from error
        if texts.setdefault(Path(path).stem, text) != text:
            raise ConfigError(
                f"policies: two files are called {Path(path).stem!r}; rename one of them"
            )
    return texts
