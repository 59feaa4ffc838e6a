"""Simulates one run beside a run that does nothing, shows and saves both."""

from pathlib import Path

from msgspec.structs import replace

from trimtab.cli.common.output import emit
from trimtab.cli.common.output_files import check_directory, writing
from trimtab.cli.simulation.sim.options import (
    PolicyOptions,
    SimulationOptions,
    policy_text,
)
from trimtab.errors import ConfigError
from trimtab.model.duration import parse_duration
from trimtab.model.examples import example_or_file
from trimtab.model.scenarios.io import load_scenario
from trimtab.model.scenarios.scenario import Scenario
from trimtab.sim import simulate
from trimtab.sim.outcome import Outcome
from trimtab.sim.spec import Restraint, RunSpec, Timing
from trimtab.study.run_directory import SimResult, make_result, save
from trimtab.view.sim import RunComparison, show_run
from trimtab.view.terminal import progress, say, tell

DEFAULT_SCORE = "linear_amplified_ippd_k3"


def run_once(
    scenario: str, policy: PolicyOptions, simulation: SimulationOptions, *, json: bool
) -> int:
    """Simulate, show and save; the exit code of `trimtab sim`."""
    if simulation.out is not None:
        check_directory(simulation.out, "--out")
    spec = _spec(scenario, policy, simulation)
    outcome, nothing = _simulate(spec, policy.seed)
    result = make_result(spec, policy.seed, outcome, nothing)
    _show(spec, result, outcome, nothing, json=json)
    if simulation.out is not None:
        _save(simulation.out, spec, result, outcome, nothing, json=json)
    failed = [line for line in outcome.errors if line.startswith("cycle")]
    return 1 if len(failed) == len(outcome.course.times) else 0


def _spec(scenario: str, policy: PolicyOptions, simulation: SimulationOptions) -> RunSpec:
    if simulation.consecutive < 1:
        raise ConfigError(f"--consecutive {simulation.consecutive}: must be at least 1")
    return RunSpec(
        scenario=_adapted(_loaded(scenario), simulation.migration, simulation.duration),
        score=policy.score or DEFAULT_SCORE,
        policy=policy_text(policy.policy),
        thresholds=policy.points,
        limits=policy.most_evictions,
        placement=simulation.placement,
        victims=simulation.victims,
        restraint=Restraint(
            parse_duration(simulation.cooldown, "--cooldown"),
            simulation.consecutive,
            simulation.minimum_gain,
        ),
        timing=Timing(descheduling_s=parse_duration(simulation.interval, "--interval")),
    )


def _simulate(spec: RunSpec, seed: int) -> tuple[Outcome, Outcome]:
    with progress(spec.scenario.name, 200) as steps:
        done = 0

        def advance(cycle: int, cycles: int, base: int = 0) -> None:
            nonlocal done
            now = base + 100 * cycle // cycles
            if now > done:
                steps.advance(now - done)
                done = now

        outcome = simulate(spec, [seed], advance)[0]
        idle = replace(spec, score=None)
        nothing = simulate(idle, [seed], lambda c, n: advance(c, n, 100))[0]
    return outcome, nothing


def _show(
    spec: RunSpec, result: SimResult, outcome: Outcome, nothing: Outcome, *, json: bool
) -> None:
    scenario = spec.scenario
    names = [node.name for node in scenario.nodes]
    run = RunComparison(result.title, names, scenario.duration_s, outcome, nothing, result.verdict)
    emit(run, json, show_run, result)


def _save(
    out: Path,
    spec: RunSpec,
    result: SimResult,
    outcome: Outcome,
    nothing: Outcome,
    *,
    json: bool,
) -> None:
    with writing(out, "--out"):
        report = save(out, spec, result, outcome, nothing)
    if report is None:
        say(f"{out}: no report.html without jinja2; pip install 'trimtab[study]'")
    elif not json:
        tell(f"\nReport: {report.resolve()}")
        tell(f"Open it in a browser: {report.resolve().as_uri()}")


def _loaded(scenario: str) -> Scenario:
    return load_scenario(example_or_file(scenario, "scenarios"))


def _adapted(scenario: Scenario, migration: str | None, duration: str | None) -> Scenario:
    if migration is not None:
        scenario = replace(scenario, migration=replace(scenario.migration, mode=migration))
    if duration is not None:
        scenario = replace(scenario, duration_s=parse_duration(duration, "--duration"))
    return scenario
