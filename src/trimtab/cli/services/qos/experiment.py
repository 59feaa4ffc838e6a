"""`trimtab qos experiment FILE`: what the queue's order is worth, measured on real schedulers."""

import asyncio
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter
from msgspec import Struct

from trimtab.benchmarks.queue.experiment import SideRun, read_experiment, report, sequence
from trimtab.benchmarks.queue.labs import lab_of, play
from trimtab.benchmarks.queue.table import show_report
from trimtab.cli.common.output import Json, OutputFile, emit
from trimtab.cli.common.output_files import check_file
from trimtab.cli.lab import starting
from trimtab.errors import ConfigError
from trimtab.files.writing import write_whole
from trimtab.model.examples import example_path
from trimtab.view.lab import StartDisplay
from trimtab.view.terminal import progress


def experiment(
    file: Path,
    *,
    output: OutputFile = None,
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
    runs = [] if output is None else _kept_runs(output)
    missing = [
        (side, seed)
        for side, seed in sequence(plan, sides)
        if not any(run.side == side and run.seed == seed for run in runs)
    ]
    with starting.interruptible(), progress(f"experiment {plan.name}", len(missing)) as steps:
        for side, seed in missing:
            steps.note(f"{side}, seed {seed}")
            with lab_of(plan, side, starting.means(StartDisplay(), {})) as lab:
                runs.append(asyncio.run(play(plan, side, seed, lab)))
            if output is not None:
                write_whole(output, msgspec.json.format(msgspec.json.encode(KeptRuns(runs))))
            steps.advance()
    found = report(plan, runs)
    emit(found, json, show_report)


class KeptRuns(Struct):
    """What the output file holds."""

    runs: list[SideRun]


def _kept_runs(file: Path) -> list[SideRun]:
    """The runs of an earlier call; a file of anybody else is neither read nor overwritten."""
    if not file.exists() or not file.stat().st_size:
        return []
    try:
        return msgspec.json.decode(file.read_bytes(), type=KeptRuns).runs
    except OSError as error:
        raise ConfigError(f"--output {file}: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise ConfigError(
            f"--output {file}: it holds no runs of an experiment; name another file"
        ) from error
