"""A lab that is recorded by `trimtab record --lab`: at rest, and after it ran."""

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from msgspec import Struct

from builders.labs.loops import LoopLab
from trimtab.fidelity.lab import LabRunOrder, play
from trimtab.fidelity.recording import LabRun
from trimtab.fidelity.runs import SEEDS, RunFigures, reaction_of
from trimtab.fidelity.session import simulated
from trimtab.model.recorded.archive import read_recording
from trimtab.model.recorded.cleaning import recorded_moves
from trimtab.model.recorded.recording import ClusterRecording
from trimtab.study.recorded.scenario import recorded_scenario

STEP_S, REST_S = 2.0, 20.0
"""Real seconds."""


class RecordedRun(Struct, frozen=True, eq=False):
    """What the lab did, and recordings of the time before and of the time in which it did it."""

    run: LabRun
    before: ClusterRecording
    during: ClusterRecording


def play_and_record(loop: LoopLab, order: LabRunOrder, directory: Path) -> RecordedRun:
    """Play it; what happens next is not known to the first of the two recordings."""
    rested: list[float] = []
    found: list[ClusterRecording] = []

    async def at_rest() -> None:
        rested.append(time.time())
        await asyncio.sleep(REST_S)  # for as long as is recorded
        found.append(await asyncio.to_thread(record, loop, directory / "before", REST_S - 4))

    run = loop.ask(lambda asked: play(asked, order, print, at_rest))
    during = record(loop, directory / "during", time.time() - rested[0])
    return RecordedRun(run, found[0], during)


def record(loop: LoopLab, directory: Path, seconds: float) -> ClusterRecording:
    """The last so many seconds, by the command as a user types it."""
    directory.mkdir(parents=True)
    (directory / "trimtab").symlink_to(loop.lab.home.path)
    output = directory / "lab.trimtab"
    command = ["record", "--lab", loop.lab.lab.name, "-o", str(output)]
    period = ["--days", repr(seconds / 86_400), "--step", f"{STEP_S:g}s"]
    done = subprocess.run(
        [sys.executable, "-m", "trimtab.cli", *command, *period],
        env={**os.environ, "XDG_STATE_HOME": str(directory)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return read_recording(output)


def sampling_error(recording: ClusterRecording) -> float:
    """The most points of CPU by which a replay may be off on average, because of moves alone.

    A VM that moved counts on one node or the other for the whole step, and a node's load is a
    mean over a step too: for two steps both nodes may be off by all that it uses.
    """
    manifest = recording.manifest
    whole = {node.name: float(node.allocatable["cpu"]) for node in recording.snapshot.nodes}
    cores = np.array([whole[name] for name in manifest.nodes])
    moved = [
        np.nanmax(recording.vm_cpu[:, vm]) * (1 / cores[source] + 1 / cores[target])
        for _, vm, source, target in recorded_moves(recording.placement)
    ]
    return float(100 * 2 * sum(moved) / (manifest.moments * len(cores)))


def predicted(
    recorded: RecordedRun, order: LabRunOrder, interval_s: float, *, score: str | None = ""
) -> list[RunFigures]:
    """What so many runs of the cluster that was recorded before would come to."""
    before = LabRunOrder(
        scenario=recorded_scenario(recorded.before),
        score=order.score,
        policy=order.policy,
        cycles=order.cycles,
    )
    reaction_s = round(reaction_of(recorded.run), 1)
    return simulated(before, interval_s, SEEDS, score=score, reaction_s=reaction_s)
