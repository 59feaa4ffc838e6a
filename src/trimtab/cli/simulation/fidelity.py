"""`trimtab fidelity`: its options and its help; `examination` does the work."""

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from trimtab.cli.common.output import Flag, Json, examples
from trimtab.errors import ConfigError

NAME = "fidelity"

app = App(
    name="fidelity",
    help="Is the lab predicted right? Cycles beside predictions, runs beside simulated ones.",
    help_epilogue=examples(
        "trimtab fidelity examples/scenarios/one-hot-node.yaml",
        "trimtab fidelity examples/scenarios/one-hot-node.yaml --seeds 0 --scale 15",
        "trimtab fidelity my.yaml --runs 5 --cycles 15 --out results/fidelity",
        "trimtab fidelity examples/scenarios/one-hot-node.yaml --kubevirt",
        "trimtab fidelity examples/scenarios/one-hot-node.yaml --balancer --runs 3 --scale 5",
        "trimtab fidelity my.yaml --json | jq .passed",
    ),
)


@app.default
def fidelity(
    scenario: str,
    /,
    *,
    algorithm: str | None = None,
    policy: Path | None = None,
    runs: int = 1,
    cycles: int = 15,
    seeds: int = 400,
    scale: int = 10,
    kubevirt: Flag = False,
    balancer: Flag = False,
    name: str = NAME,
    out: Annotated[Path | None, Parameter(name=("--out", "-o"))] = None,
    json: Json = False,
) -> int:
    """Play a scenario in a lab of its own, and say whether trimtab had predicted what happened.

    Every cycle of the real descheduler is predicted from what was recorded just before it;
    the runs as a whole are compared with simulated ones. Exits with 1 if a prediction is wrong.

    Parameters
    ----------
    scenario
        A scenario file; it should lead to ten evictions or more and have no events.
    algorithm
        The node score that the policy asks for. Default: the policy's own.
    policy
        The descheduler's policy file. Default: 0 to 10 points around the mean.
    runs
        Runs in the lab; five or more say something about the simulator.
    cycles
        Descheduling cycles of each run; with --balancer minutes of the lab from its first plan on.
    seeds
        Simulated runs; 0 leaves them out.
    scale
        How fast the lab's time goes, 1 to 15. What cannot be scaled, such as the API server's
        answers, weighs more in a faster lab.
    kubevirt
        Play it with KubeVirt's VMs; its programs are compiled the first time.
    balancer
        The balancer in a new lab for each run, beside the simulator's planned moves.
    name
        The lab's name; it is made for this and removed afterwards.
    out
        A directory for the recordings and the verdict.
    """
    from trimtab.cli.simulation.fidelity_examination import asked_for, compare, compare_balancer

    wanted = asked_for(scenario, algorithm, policy, runs, cycles, seeds)
    if balancer:
        if kubevirt or algorithm is not None or policy is not None:
            raise ConfigError("--balancer goes with neither --kubevirt, --algorithm nor --policy")
        return compare_balancer(scenario, wanted, scale=scale, name=name, out=out, json=json)
    return compare(scenario, wanted, kubevirt=kubevirt, scale=scale, name=name, out=out, json=json)
