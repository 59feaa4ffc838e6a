"""`trimtab sim`: one run of the closed loop in memory, beside the same time left alone."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from trimtab.cli.common.examples import examples
from trimtab.errors import ConfigError

if TYPE_CHECKING:
    from trimtab.cli.sim.files import SimResult
    from trimtab.model.scenarios.scenario import Scenario
    from trimtab.sim.outcome import Outcome
    from trimtab.sim.spec import RunSpec

DEFAULT_SCORE = "linear_amplified_ippd_k3"
Live = Annotated[tuple[str, str] | None, Parameter(negative=())]
Flag = Annotated[bool, Parameter(negative=())]
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
        "trimtab sim --live http://127.0.0.1:9090 http://127.0.0.1:8000 --dry-run",
    ),
)


@app.default
def sim(
    scenario: str | None = None,
    /,
    *,
    live: Live = None,
    dry_run: Flag = False,
    token_file: Path | None = None,
    score: str | None = None,
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
    """Simulate one run and compare it with doing nothing, or decide one cycle of a running cluster.

    Exits with 1 when the descheduler failed in every cycle or a VM could not be moved,
    2 on bad input.

    Parameters
    ----------
    scenario
        A scenario file, the name of an example (`trimtab examples`), or file.json#name for one
        of several scenarios in a file.
    live
        PROMETHEUS and EXPORTER of a running loop: decide one cycle on what they say now, have
        the VMs moved, and tell where each was meant to go and where it went.
    dry_run
        With --live: decide only, move nothing.
    token_file
        With --live: the exporter's token; that of a lab of yours is found without it.
    score
        Name of a node score (`trimtab scores list`) or a Python file that defines one. Default:
        linear_amplified_ippd_k3; with --live the policy's query.
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
    from trimtab.cli.common.output_files import check_directory
    from trimtab.cli.sim.files import make_result
    from trimtab.cli.sim.options import limits_of, pair_of, policy_text
    from trimtab.model.duration import parse_duration
    from trimtab.obs.log import configure
    from trimtab.sim.spec import Restraint, RunSpec, Timing

    configure("warning")
    if live is not None:
        simulated = {
            "SCENARIO": scenario, "--placement": placement != "spread",
            "--victims": victims != "stock", "--migration": migration,
            "--consecutive": consecutive != 1, "--cooldown": cooldown != "0s",
            "--minimum-gain": minimum_gain, "--duration": duration,
            "--interval": interval != "60s", "--out": out,
        }  # fmt: skip
        _refuse("with --live", simulated)
        from trimtab.cli.sim.live import Chosen, live_cycle

        chosen = Chosen(policy, score, thresholds, limits, seed, dry_run, token_file)
        return live_cycle(*live, chosen, json=json)
    _refuse("without --live", {"--dry-run": dry_run, "--token-file": token_file})
    if scenario is None:
        raise ConfigError("name a scenario file, or a running loop with --live PROMETHEUS EXPORTER")
    if consecutive < 1:
        raise ConfigError(f"--consecutive {consecutive}: must be at least 1")
    if out is not None:
        check_directory(out, "--out")
    spec = RunSpec(
        scenario=_adapted(_loaded(scenario), migration, duration),
        score=score or DEFAULT_SCORE,
        policy=policy_text(policy),
        thresholds=pair_of(thresholds, "--thresholds", "0:10"),
        limits=limits_of(limits),
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


def _refuse(where: str, options: Mapping[str, object]) -> None:
    given = [name for name, value in options.items() if value]
    if given:
        raise ConfigError(f"{', '.join(given)}: of no use {where}; leave it out")


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
    shown = Run(result.title, names, scenario.duration_s, outcome, nothing, result.verdict)
    show_run(shown)


def _save(
    out: Path,
    spec: "RunSpec",
    result: "SimResult",
    outcome: "Outcome",
    nothing: "Outcome",
    *,
    json: bool,
) -> None:
    from trimtab.cli.common.output_files import writing
    from trimtab.cli.sim.files import save
    from trimtab.view.study import say, tell

    with writing(out, "--out"):
        report = save(out, spec, result, outcome, nothing)
    if report is None:
        say(f"{out}: no report.html without jinja2; pip install 'trimtab[study]'")
    elif not json:
        tell(f"\nReport: {report.resolve()}")
        tell(f"Open it in a browser: {report.resolve().as_uri()}")


def _loaded(scenario: str) -> "Scenario":
    from trimtab.model.examples import example_or_file
    from trimtab.model.scenarios.io import load_scenario

    return load_scenario(example_or_file(scenario, "scenarios"))


def _adapted(scenario: "Scenario", migration: str | None, duration: str | None) -> "Scenario":
    from msgspec.structs import replace

    from trimtab.model.duration import parse_duration

    if migration is not None:
        scenario = replace(scenario, migration=replace(scenario.migration, mode=migration))
    if duration is not None:
        scenario = replace(scenario, duration_s=parse_duration(duration, "--duration"))
    return scenario
