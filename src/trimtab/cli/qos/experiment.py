"""`trimtab qos experiment FILE`: what the queue's order is worth, measured on real schedulers."""

import asyncio
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter

from trimtab.benchmarks.queue.experiment import Run, read_experiment, report, sequence
from trimtab.benchmarks.queue.labs import lab_of, play
from trimtab.benchmarks.queue.table import show_report
from trimtab.cli.common.output import Json, emit
from trimtab.cli.common.output_files import check_file
from trimtab.cli.lab import context as context
from trimtab.errors import ConfigError
from trimtab.model.examples import example_path
from trimtab.view.lab import StartDisplay
from trimtab.view.terminal import progress


def experiment(
    file: Path,
    *,
    output: Annotated[Path | None, Parameter(name=("--output", "-o"))] = None,
    sides: Annotated[tuple[str, ...], Parameter(name="--side", negative=())] = (),
    json: Json = False,
) -> None:
    """Play the same departures to several queues and compare whom they serve.

    Every side and seed gets a lab of its own, one after another: the stock scheduler, ranks by
    SLO alone, and QosAware, each as it is shipped; seed after seed, the sides of each in a drawn
    order. What is measured comes from a watch of the pods, not from the ledger.

    Parameters
    ----------
    file
        Slots, classes, lives, seeds and time; see examples/qos.
    output
        Also write every run and the report here as JSON, after each side; runs that are there
        already are not repeated.
    sides
        Only these sides: stock, rank, qos; may be repeated.
    """
    if output is not None:
        check_file(output, "--output")
    plan = read_experiment(example_path(file, "qos"))
    if unknown := set(sides) - set(plan.sides):
        raise ConfigError(f"--side {unknown.pop()}: {file} has {', '.join(plan.sides)}")
    runs: list[Run] = []
    if output is not None and output.exists():
        runs = msgspec.json.decode(output.read_bytes(), type=dict[str, list[Run]])["runs"]
    missing = [
        (side, seed)
        for side, seed in sequence(plan, sides)
        if not any(run.side == side and run.seed == seed for run in runs)
    ]
    with context.interruptible(), progress(f"experiment {plan.name}", len(missing)) as steps:
        for side, seed in missing:
            steps.note(f"{side}, seed {seed}")
            with lab_of(plan, side, context.means(StartDisplay(), {})) as lab:
                runs.append(asyncio.run(play(plan, side, seed, lab)))
            if output is not None:
                output.write_bytes(msgspec.json.format(msgspec.json.encode({"runs": runs})))
            steps.advance()
    found = report(plan, runs)
    emit(found, json, show_report)
