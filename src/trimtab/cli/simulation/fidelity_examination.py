"""Plays a scenario in a lab of its own and compares it with what trimtab predicts."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import to_builtins

from trimtab.cli.common.output import emit
from trimtab.cli.lab import context, starting
from trimtab.cli.lab.stacks import balancer as with_balancer
from trimtab.cli.lab.stacks import kubevirt as with_kubevirt
from trimtab.cli.lab.stacks import loop as with_loop
from trimtab.cli.lab.stacks.loop import read_policy_file
from trimtab.errors import ConfigError
from trimtab.fidelity.balancer import (
    PACES,
    BalancerRun,
    BalancerVerdict,
    comparable,
    judge_balancer,
)
from trimtab.fidelity.balancer_lab import watch_balancer
from trimtab.fidelity.lab import LabRunOrder, playable
from trimtab.fidelity.recording import LabRun
from trimtab.fidelity.session import Examination, examine, numbered
from trimtab.fidelity.table import show_balancer_verdict, show_verdict
from trimtab.fidelity.verdict import ScenarioVerdict
from trimtab.lab.files.layout import LabDir
from trimtab.lab.starting.resolve_request import LabRequest
from trimtab.lab.starting.start import up
from trimtab.lab.stop import down, wipe
from trimtab.model.scenarios.io import load_scenario
from trimtab.policy.file.default import DEFAULT_POLICY
from trimtab.policy.file.reader import read_policy
from trimtab.policy.file.settings import queries
from trimtab.scores import find_score
from trimtab.stacks.balancer.stack import STACK as BALANCER
from trimtab.stacks.kubevirt.settings import STACK as KUBEVIRT
from trimtab.stacks.loop.connection import open_loop
from trimtab.stacks.loop.projector.policy_file import algorithm_of, with_algorithm
from trimtab.stacks.loop.settings import STACK as LOOP
from trimtab.view.lab import StartDisplay
from trimtab.view.terminal import ProgressSteps, progress

MINUTE_S = 60.0


def compare(
    scenario: str,
    wanted: Examination,
    *,
    kubevirt: bool,
    scale: int,
    name: str,
    out: Path | None,
    json: bool,
) -> int:
    """Examine, show the verdict, and give the exit code."""

    async def examined(lab: LabDir, steps: ProgressSteps) -> ScenarioVerdict:
        async with open_loop(lab, limit_s=30.0) as loop:
            return await examine(loop, wanted, _changes(steps.note), _keeper(out))

    if kubevirt:
        with_kubevirt.build_what_is_missing((KUBEVIRT,))
    with (
        progress(f"fidelity of {wanted.order.scenario.name}") as steps,
        _lab(name, scenario, wanted, scale, steps, kubevirt=kubevirt) as lab,
    ):
        verdict = asyncio.run(examined(lab, steps))
    if out is not None:
        _write(out / "verdict.json", verdict)
    emit(verdict, json, show_verdict, _shown(verdict))
    return 0 if verdict.passed else 1


def compare_balancer(
    scenario: str, wanted: Examination, *, scale: int, name: str, out: Path | None, json: bool
) -> int:
    """The same of the balancer: a new lab for each run."""
    played, span_s = wanted.order.scenario, wanted.order.cycles * MINUTE_S
    comparable(played)
    if wanted.seeds < PACES:
        raise ConfigError(f"--seeds must be {PACES} or more with --balancer")

    async def watched(lab: LabDir, note: Callable[[str], None]) -> BalancerRun:
        async with open_loop(lab, limit_s=30.0) as loop:
            return await watch_balancer(loop, played.name, span_s, note)

    runs: list[BalancerRun] = []
    with progress(f"fidelity of {played.name}, balanced") as steps:
        for number in range(1, wanted.runs + 1):
            with _lab(name, scenario, wanted, scale, steps, balancer=True) as lab:
                runs.append(asyncio.run(watched(lab, numbered(steps.note, number, wanted.runs))))
            if out is not None:
                _write(out / f"run-{number}.json", runs[-1])
        steps.note(f"simulating it with {wanted.seeds} seeds")
        verdict = judge_balancer(played, runs, span_s, seeds=wanted.seeds)
    if out is not None:
        _write(out / "verdict.json", verdict)
    emit(verdict, json, show_balancer_verdict, _shown(verdict))
    return 0 if verdict.passed else 1


def asked_for(
    scenario: str, algorithm: str | None, policy: Path | None, runs: int, cycles: int, seeds: int
) -> Examination:
    if runs < 1 or cycles < 4 or seeds < 0:
        raise ConfigError("--runs must be 1 or more, --cycles 4 or more, --seeds 0 or more")
    text = DEFAULT_POLICY if policy is None else read_policy_file(policy)
    asked = queries(read_policy(text, "--policy"))
    if not asked:
        raise ConfigError("--policy: it asks Prometheus nothing; there is no score to compare")
    score = find_score(algorithm or algorithm_of(asked[0]))
    order = LabRunOrder(
        scenario=load_scenario(scenario),
        score=score,
        policy=with_algorithm(text, score.name),
        cycles=cycles,
    )
    playable(order)
    return Examination(order=order, runs=runs, seeds=seeds)


@contextmanager
def _lab(
    name: str,
    scenario: str,
    wanted: Examination,
    scale: int,
    steps: ProgressSteps,
    *,
    kubevirt: bool = False,
    balancer: bool = False,
) -> Iterator[LabDir]:
    """A lab with the loop, for the time of the examination."""
    home = context.home()
    lab = home.lab(name)
    if lab.spec_file.exists():
        raise ConfigError(f"there is a lab {name}; remove it, or choose another --name")
    stacks = [LOOP, *([KUBEVIRT] if kubevirt else []), *([BALANCER] if balancer else [])]
    options = with_loop.LoopOptions(scenario=scenario, page=False)
    chosen = with_loop.choose(home, name, stacks, options, dry_run=balancer)
    vms = with_kubevirt.stack_for(home, name, chosen, None)
    level = with_balancer.stack_for(home, name, chosen, "act" if balancer else None)
    known = {**chosen.stacks, vms.name: vms, level.name: level}
    count, cpu, memory, pods = with_loop.nodes_for(chosen, None, None)
    request = LabRequest(
        name=name,
        stacks=chosen.names,
        nodes=count,
        node_cpu=cpu,
        node_memory=memory,
        node_pods=pods,
        scale=scale,
    )
    with_loop.warn_of(wanted.order.scenario)
    try:
        with starting.interruptible():
            up(home, request, starting.means(StartDisplay(steps), known), None)
            with_loop.await_loop(lab, steps.note)
            yield lab
    finally:
        down(lab)
        if lab.path.exists():
            wipe(lab)


def _changes(note: Callable[[str], None]) -> Callable[[str], None]:
    """Say only what has not just been said."""
    last = ""

    def say(text: str) -> None:
        nonlocal last
        if text != last:
            last = text
            note(text)

    return say


def _keeper(out: Path | None) -> Callable[[int, LabRun], None]:
    def keep(number: int, run: LabRun) -> None:
        if out is not None:
            _write(out / f"run-{number}.json", run)

    return keep


def _write(file: Path, value: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n")


def _shown(verdict: ScenarioVerdict | BalancerVerdict) -> dict[str, object]:
    return {"passed": verdict.passed, **to_builtins(verdict)}
