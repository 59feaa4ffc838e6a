"""`trimtab sim`: one run of the closed loop in memory, beside the same time left alone."""

from collections.abc import Sequence

from cyclopts import App

from trimtab.cli.common.output import Json, examples
from trimtab.cli.simulation.sim.options import LiveOptions, PolicyOptions, SimulationOptions
from trimtab.errors import ConfigError

app = App(
    name="sim",
    help="Simulate one run: a scenario, a score and a policy, from a seed.",
    help_epilogue=examples(
        "trimtab sim examples/scenarios/one-hot-node.yaml",
        "trimtab sim examples/scenarios/diurnal.yaml --score cpu_focused --thresholds 0:5",
        "trimtab sim my.yaml --policy examples/policies/deviation-10-10.yaml --seed 7",
        "trimtab sim my.yaml --victims steepest-pair --consecutive 3 --cooldown 1h",
        "trimtab sim my.yaml --json | jq .card",
        "trimtab sim --lab default --dry-run",
        "trimtab sim --live http://127.0.0.1:9090 http://127.0.0.1:8000 --dry-run",
    ),
)


LIVE, POLICY, SIMULATION = LiveOptions(), PolicyOptions(), SimulationOptions()


@app.default
def sim(
    scenario: str | None = None,
    /,
    *,
    live: LiveOptions = LIVE,
    policy: PolicyOptions = POLICY,
    simulation: SimulationOptions = SIMULATION,
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
    """
    from trimtab.obs.log import configure

    configure("warning")
    if live.live is not None or live.names_a_cluster:
        _refuse("with --live", (["SCENARIO"] if scenario else []) + simulation.given())
        from trimtab.cli.simulation.sim.live import live_cycle

        return live_cycle(live, policy, json=json)
    without = {"--dry-run": live.dry_run, "--token-file": live.token_file}
    _refuse("without --live", [name for name, value in without.items() if value])
    if scenario is None:
        raise ConfigError(
            "name a scenario file, or a running loop: --lab NAME, --live PROMETHEUS EXPORTER"
        )
    from trimtab.cli.simulation.sim.simulation import run_once

    return run_once(scenario, policy, simulation, json=json)


def _refuse(where: str, given: Sequence[str]) -> None:
    if given:
        raise ConfigError(f"{', '.join(given)}: of no use {where}; leave it out")
