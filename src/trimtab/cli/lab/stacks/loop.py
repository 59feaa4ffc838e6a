"""`trimtab lab up --with loop`: from options to the stack, and from the stack to readiness."""

import asyncio
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from cyclopts import Parameter
from msgspec import Struct, structs

from trimtab.cli.common.option_files import read_option_file
from trimtab.cli.lab.context import kept_settings, refuse_while_running
from trimtab.cli.lab.stacks import recording as with_recording
from trimtab.errors import ConfigError
from trimtab.lab.components.stack import NONE, Stack
from trimtab.lab.files.layout import Home, LabDir
from trimtab.lab.spec import LabSpec
from trimtab.model.duration import parse_duration
from trimtab.model.examples import example_or_file, folder
from trimtab.model.scenarios.io import load_scenario
from trimtab.model.scenarios.scenario import Scenario
from trimtab.policy.file.default import DEFAULT_POLICY
from trimtab.policy.file.reader import read_policy
from trimtab.stacks.loop.projector.policy_file import with_algorithm
from trimtab.stacks.loop.scenario.objects import left_out, script_of
from trimtab.stacks.loop.settings import (
    STACK,
    WISHED_POLICY_FILE,
    LoopSettings,
    following,
    from_lab,
)
from trimtab.stacks.loop.stack import loop_stack
from trimtab.stacks.loop.state.ready import await_cycle
from trimtab.view.terminal import err

DEFAULT_SCENARIO = "scenarios/one-hot-node.yaml"


@Parameter(name="*")
@dataclass(frozen=True)
class LoopOptions:
    """Options of the loop; None where nothing was said.

    Parameters
    ----------
    scenario
        Nodes and VMs to begin with: a file, or file.json#name. New lab: one hot node of five.
    recording
        Nodes, VMs, loads and policy of a recorded cluster (`trimtab record`) instead.
    compress
        With --recording: how many times as fast the recorded time goes by, beside --scale.
    part
        With --recording: only so many of its nodes, hot and cool ones, and their VMs.
    policy
        The descheduler's policy file. New lab: 0 to 10 points around the mean.
    algorithm
        The node score that the policy asks for; `trimtab scores list` names them.
    interval
        Time between two descheduling cycles, in the lab's time. New lab: 60s.
    migration
        How VMs move: live, target first; recreate, source first. New lab: as the scenario says.
    soft_taints
        Also run the soft tainter, as OpenShift does. New lab: no.
    page
        Serve the lab's page, on 8080 or the next free port. New lab: yes.
    """

    scenario: str | None = None
    recording: Path | None = None
    compress: float | None = None
    part: int | None = None
    policy: Path | None = None
    algorithm: str | None = None
    interval: str | None = None
    migration: Literal["live", "recreate"] | None = None
    soft_taints: bool | None = None
    page: bool | None = None

    @property
    def names(self) -> list[str]:
        """The options that were given, as they are typed."""
        pairs = asdict(self).items()
        return [f"--{name.replace('_', '-')}" for name, value in pairs if value is not None]


class Chosen(Struct, frozen=True, kw_only=True):
    """What `up` is to start: stacks by name, and the nodes that the scenario wants."""

    names: tuple[str, ...] | None
    stacks: dict[str, Stack]
    scenario: Scenario | None = None

    @property
    def has_loop(self) -> bool:
        return STACK in (self.names or ())


def choose(
    home: Home,
    name: str,
    with_: list[str] | None,
    given: LoopOptions,
    *,
    dry_run: bool | None = None,
) -> Chosen:
    """The stacks of a lab; what is not given stays as it was, or takes its default.

    With `dry_run` the descheduler evicts nothing, because another balancer acts.
    """
    lab = home.lab(name)
    old = lab.read_spec()
    names = tuple(with_) if with_ else old.stacks if old else (STACK,)
    if STACK not in names:
        if given.names:
            raise ConfigError(f"{given.names[0]} belongs to the loop; add --with {STACK}")
        return Chosen(names=names, stacks={NONE.name: NONE, STACK: loop_stack(LoopSettings())})
    if given.names:
        _refuse_while_running(lab, given.names[0])
    with_recording.check(given.recording, given.scenario, given.compress, given.part)
    kept = kept_settings(lab, STACK)
    settings = from_lab(kept) if kept else LoopSettings()
    scenario, recorded = None, None
    if given.recording is not None:
        scenario, recorded = with_recording.read(given.recording, given.compress, given.part)
    elif given.scenario is not None or kept is None:
        named = example_or_file(given.scenario or "", "scenarios")
        scenario = load_scenario(named or default_scenario())
    if scenario is not None:
        settings = following(settings, scenario)
    script = None if scenario is None else script_of(scenario)
    policy = _policy(lab, given, recorded or (DEFAULT_POLICY if kept is None else None))
    settings = structs.replace(_changed(settings, given), dry_run=bool(dry_run))
    stack = loop_stack(settings, script=script, policy=policy)
    return Chosen(
        names=names,
        stacks={NONE.name: NONE, STACK: stack},
        scenario=scenario,
    )


def nodes_for(
    chosen: Chosen, old: LabSpec | None, asked: int | None
) -> tuple[int | None, str | None, str | None, int | None]:
    """How many nodes and of which size: as asked, or as the scenario wants them.

    A lab's nodes are of one size when it is made; the scenario service gives each its own.
    """
    if chosen.scenario is None:
        return asked, None, None, None
    wanted = chosen.scenario.nodes
    if asked is not None and asked < len(wanted):
        raise ConfigError(
            f"--nodes {asked}: scenario {chosen.scenario.name} has {len(wanted)} nodes"
        )
    if old is not None:
        return asked or max(old.nodes, len(wanted)), None, None, None
    first = wanted[0]
    return asked or len(wanted), str(first.cpu), str(first.memory), first.pods


def warn_of(scenario: Scenario | None) -> None:
    """What of a scenario a lab leaves out is said aloud."""
    for text in left_out(scenario) if scenario else ():
        err.print(f"note: {text}", markup=False)


def await_loop(lab: LabDir, note: Callable[[str], None]) -> None:
    """Wait until the loop has gone round once."""
    asyncio.run(await_cycle(lab, note))


def default_scenario() -> Path:
    """The scenario that a lab starts with: the checkout's, or the copy in the package."""
    file = folder() / DEFAULT_SCENARIO
    if not file.is_file():
        raise ConfigError("the examples are not part of this installation; give a --scenario")
    return file


def _refuse_while_running(lab: LabDir, option: str) -> None:
    hint = {"--algorithm": "lab algorithm", "--scenario": "lab scenario"}.get(option)
    instead = f"; while it runs, use: trimtab {hint}" if hint else ""
    refuse_while_running(lab, f"{option} cannot be taken", instead)


def _changed(settings: LoopSettings, given: LoopOptions) -> LoopSettings:
    every = given.interval
    wanted = {
        "interval_s": None if every is None else parse_duration(every, "--interval"),
        "migration": given.migration,
        "soft_taints": given.soft_taints,
        "page": given.page,
    }
    changes = {name: value for name, value in wanted.items() if value is not None}
    return structs.replace(settings, **changes)


def _policy(lab: LabDir, given: LoopOptions, usual: str | None) -> str | None:
    """The policy to ask for, if it is a new one; `usual` where no file was given."""
    if given.policy is not None:
        text = read_policy_file(given.policy)
    elif usual is not None:
        text = usual
    elif given.algorithm is not None:
        text = (lab.path / WISHED_POLICY_FILE).read_text()
    else:
        return None
    if given.algorithm is not None:
        return with_algorithm(text, given.algorithm, "--policy")
    return text


def read_policy_file(file: Path) -> str:
    text = read_option_file("--policy", file)
    read_policy(text, str(file))
    return text
