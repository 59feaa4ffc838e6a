"""`trimtab sim`: one run of the closed loop in memory, beside the same time left alone."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from trimtab.cli.examples import examples
from trimtab.errors import ConfigError

if TYPE_CHECKING:
    from trimtab.cli.sim_files import SimResult
    from trimtab.model.scenario import Scenario
    from trimtab.sim.outcome import Outcome
    from trimtab.sim.spec import RunSpec

Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print JSON instead of tables.")]

app = App(
    name="sim",
    help="Simulate one run: a scenario, a score and a policy, from a seed.",
    help_epilogue=examples(
        "trimtab sim examples/scenarios/one-hot-node.yaml",
        "trimtab sim examples/scenarios/diurnal.yaml --score cpu_focused --thresholds 0:5",
        "trimtab sim my.yaml --policy examples/policies/deviation-10-10.yaml --seed 7",
        "trimtab sim my.yaml --victims steepest-pair --consecutive 3 --cooldown 1h",
        "trimtab sim my.yaml --json | jq .card",
    ),
)


@app.default
def sim(
    scenario: str,
    /,
    *,
    score: str = "linear_amplified_ippd_k3",
    policy: Path | None = None,
    thresholds: str | None = None,
    limits: str | None = None,
    placement: Literal["spread", "binpack", "least-loaded", "soft-taints"] = "spread",
    victims: Literal["stock", "best-fit", "steepest-pair"] = "stock",
    migration: Literal["live", "recreate"] | None = None,
    consecutive: int = 1,
    cooldown: str = "0s",
    minimum_gain: float = 0.0,
    seed: int = 0,
    duration: str | None = None,
    interval: str = "60s",
    out: Annotated[Path | None, Parameter(name=("--out", "-o"))] = None,
    json: Json = False,
) -> int:
    """Simulate one run and compare it with doing nothing.

    Exits with 1 when the descheduler failed in every cycle, 2 on bad input.

    Parameters
    ----------
    scenario
        A scenario file, or file.json#name for one of several scenarios in a file.
    score
        Name of a node score (`trimtab scores list`) or a Python file that defines one.
    policy
        A descheduler policy file. Default: 0 to 10 points around the mean, 5 in all, 2 a node.
    thresholds
        Points below and above the mean, e.g. 0:10, instead of the policy's.
    limits
        Evictions at a time in all and per node, e.g. 5:2, instead of the policy's.
    placement
        The scheduler: spread is the default one, binpack fills nodes; the others are what-ifs.
    victims
        Who goes: stock as the descheduler does; the others are what-ifs with own targets.
    migration
        How VMs move, instead of what the scenario says.
    consecutive
        Relieve only nodes that were over-utilised in this many cycles in a row.
    cooldown
        A VM that moved stays this long, twice as long after each further move.
    minimum_gain
        What a move must lower the sum of squared loads by (best-fit and steepest-pair).
    seed
        What is left to chance: ties, victims, failures, phases of the timers.
    duration
        How long, e.g. 2h, instead of what the scenario says.
    interval
        Time between two descheduling cycles.
    out
        A directory for inputs, result.json, events.parquet and report.html.
    """
    from trimtab.cli.sim_files import make_result
    from trimtab.model.duration import parse_duration
    from trimtab.model.scenario_io import load_scenario
    from trimtab.obs.log import configure
    from trimtab.sim.spec import Restraint, RunSpec, Timing

    configure("warning")
    spec = RunSpec(
        scenario=_adapted(load_scenario(scenario), migration, duration),
        score=score,
        policy=_policy_text(policy),
        thresholds=_pair(thresholds, "--thresholds", "0:10"),
        limits=_limits(limits),
        placement=placement,
        victims=victims,
        restraint=Restraint(parse_duration(cooldown, "--cooldown"), consecutive, minimum_gain),
        timing=Timing(descheduling_s=parse_duration(interval, "--interval")),
    )
    outcome, nothing = _simulate(spec, seed)
    result = make_result(spec, seed, outcome, nothing)
    _show(spec, result, outcome, nothing, json=json)
    if out is not None:
        _save(out, spec, result, outcome, nothing, json=json)
    failed = [line for line in outcome.errors if line.startswith("cycle")]
    return 1 if len(failed) == len(outcome.course.times) else 0


def _simulate(spec: "RunSpec", seed: int) -> tuple["Outcome", "Outcome"]:
    from msgspec.structs import replace

    from trimtab.sim import simulate
    from trimtab.view.terminal import progress

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
    spec: "RunSpec", result: "SimResult", outcome: "Outcome", nothing: "Outcome", *, json: bool
) -> None:
    from trimtab.view.sim import Run, show_run
    from trimtab.view.terminal import show_json

    if json:
        show_json(result)
        return
    scenario = spec.scenario
    names = [node.name for node in scenario.nodes]
    show_run(Run(result.title, names, scenario.duration_s, outcome, nothing))


def _save(
    out: Path,
    spec: "RunSpec",
    result: "SimResult",
    outcome: "Outcome",
    nothing: "Outcome",
    *,
    json: bool,
) -> None:
    from trimtab.cli.sim_files import save
    from trimtab.view.study import say, tell

    report = save(out, spec, result, outcome, nothing)
    if report is None:
        say(f"{out}: no report.html without jinja2; pip install 'trimtab[study]'")
    elif not json:
        tell(f"\nReport: {report.resolve()}")
        tell(f"Open it in a browser: {report.resolve().as_uri()}")


def _adapted(scenario: "Scenario", migration: str | None, duration: str | None) -> "Scenario":
    from msgspec.structs import replace

    from trimtab.model.duration import parse_duration

    if migration is not None:
        scenario = replace(scenario, migration=replace(scenario.migration, mode=migration))
    if duration is not None:
        scenario = replace(scenario, duration_s=parse_duration(duration, "--duration"))
    return scenario


def _policy_text(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(f"{path}: cannot read the policy: {reason}") from error


def _pair(text: str | None, option: str, example: str) -> tuple[float, float] | None:
    if text is None:
        return None
    first, _, second = text.partition(":")
    try:
        pair = float(first), float(second)
    except ValueError as error:
        raise ConfigError(f"{option}: {text!r} is not a pair; write it like {example}") from error
    if not all(0 <= number <= 100 for number in pair):
        raise ConfigError(f"{option}: {text!r}: both must be within 0..100")
    return pair


def _limits(text: str | None) -> tuple[int, int] | None:
    pair = _pair(text, "--limits", "5:2")
    if pair is None:
        return None
    if any(number != int(number) or number < 1 for number in pair):
        raise ConfigError(f"--limits: {text!r}: both must be whole and at least 1")
    return int(pair[0]), int(pair[1])
