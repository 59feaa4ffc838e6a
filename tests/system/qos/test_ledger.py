"""The ledger against an independent recording of every watch event, with kills in the middle."""

import asyncio
import statistics
from typing import Any

import pytest

from builders.labs.queues import QueueLab
from builders.waiting import wait_until
from trimtab.benchmarks.queue.experiment import DeploymentGroup, QueueExperiment, Served
from trimtab.benchmarks.queue.side import NAMESPACE, Play
from trimtab.kube.client import Client

pytestmark = pytest.mark.engines
PLAN = QueueExperiment(
    name="kills",
    nodes=2,
    slots_per_node=10,
    classes={
        "gold": DeploymentGroup(slo=1.0, deployments=6),
        "silver": DeploymentGroup(slo=0.9, deployments=6),
        "bronze": DeploymentGroup(slo=0.5, deployments=20),
    },
    mean_life_s=5.0,
    duration_s=18.0,
    seeds=(1,),
)
GRAIN_S = 1.0
"""What the API rounds a moment to; a transition that nobody saw is known no better."""


Rows = dict[str, dict[str, Any]]


async def play_with_kills(queue: QueueLab, rounds: int) -> tuple[dict[str, Served], Rows]:
    """What the recording and the ledger say at the same moment."""
    async with Client.from_kubeconfig(queue.lab.kubeconfig, manager="qos-experiment") as client:
        play = Play(client, PLAN, 1, "qos")
        async with play.playing():
            for number in range(rounds):
                if number % 2:  # only who leads writes down, and the API server soon forgets
                    await asyncio.to_thread(wait_until, queue.leads, "nobody leads")
                await asyncio.sleep(PLAN.duration_s / 2)
                for component in ("qos", "kube-scheduler"):
                    await asyncio.to_thread(queue.lab.kill, component)
                await asyncio.to_thread(queue.lab.await_ready)
            await asyncio.sleep(PLAN.duration_s / 2)
            rows = await asyncio.to_thread(queue.controllers, NAMESPACE)
            return play.served(), rows


@pytest.mark.parametrize(
    "rounds",
    [
        pytest.param(1, id="killed once"),
        pytest.param(5, id="killed again and again", marks=pytest.mark.full),
    ],
)
def test_the_ledger_agrees_with_a_recording_though_stamper_and_scheduler_were_killed(
    queue: QueueLab, rounds: int
) -> None:
    recorded, rows = asyncio.run(play_with_kills(queue, rounds))
    queue.lab.kubectl("delete", "namespace", NAMESPACE, "--timeout=300s")
    assert rows.keys() == recorded.keys()
    # on a slow machine the API server may have forgotten what happened since the last checkpoint:
    # then time is missing, and every account says how much
    gaps = {name: row["gapSeconds"] for name, row in rows.items()}
    print(f"gaps: {sorted(round(each, 1) for each in gaps.values())}")
    for of_row, of_recording in (("runningSeconds", "running_s"), ("waitingSeconds", "queueing_s")):
        off = {n: rows[n][of_row] - getattr(served, of_recording) for n, served in recorded.items()}
        print(f"{of_row}: {sorted(round(each, 1) for each in off.values())}")
        for name, each in off.items():
            moments = 2 * recorded[name].incarnations + 1
            assert abs(each) <= moments * GRAIN_S + gaps[name], (name, of_row, off, gaps)
        most = GRAIN_S + statistics.mean(gaps.values())
        assert abs(statistics.mean(off.values())) <= most, (of_row, off, gaps)
