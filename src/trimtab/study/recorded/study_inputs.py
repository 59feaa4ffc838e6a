"""A recording as an input of a study: the cluster as a scenario, its policy, and the verdict."""

from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from trimtab.model.load.curve import Curve, Trace
from trimtab.model.nodes_and_vms import Vm
from trimtab.model.recorded.archive import read_recording
from trimtab.model.scenarios.scenario import Scenario
from trimtab.study.recorded.questions import policy_in_use
from trimtab.study.recorded.replay import replay, verdict
from trimtab.study.recorded.scenario import recorded_scenario


class RecordedInputs(Struct, frozen=True):
    """What a study needs of a recording."""

    scenario: Scenario
    policy: str
    notes: tuple[str, ...]
    """The replay's verdict, and what stands for what the simulator cannot do."""


def recorded_inputs(path: Path) -> RecordedInputs:
    """Read a recording and replay it; the scenario is called as the file is."""
    recording = read_recording(path)
    mine, trust = policy_in_use(recording), replay(recording)
    scenario = recorded_scenario(recording)
    named = replace(scenario, name=path.stem, vms=tuple(map(_with_own_values, scenario.vms)))
    return RecordedInputs(named, mine.text, (verdict(trust), *trust.why, *mine.notes))


def _with_own_values(vm: Vm) -> Vm:
    """The VM with its loads as plain numbers: a study keeps its scenarios as text."""
    return replace(vm, cpu_load=_plain(vm.cpu_load), memory_load=_plain(vm.memory_load))


def _plain(load: Curve) -> Curve:
    return replace(load, values=tuple(load.values)) if isinstance(load, Trace) else load
