"""The sides of a queue experiment as labs, one after another, each as it is shipped.

`stock` is kube-scheduler as it comes; `rank` orders by the SLO alone, as PriorityClasses would
(QosAware without stamps: priority, then age); `qos` is everything. The schedulers of `rank` and
`qos` have the values of k8s/qos/scheduler-config.conf.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import structs

from trimtab.benchmarks.queue.experiment import QueueExperiment, Side, SideRun
from trimtab.benchmarks.queue.side import Play
from trimtab.kube.client import Client
from trimtab.lab.components.stack import Lab, Stack, StackContribution
from trimtab.lab.files.layout import Home, LabDir
from trimtab.lab.starting.resolve_request import LabRequest
from trimtab.lab.starting.start import Means, up
from trimtab.lab.stop import down
from trimtab.stacks.qos.stack import PORTS, QosStackSettings, qos_stack, scheduler_file

NODE_MEMORY, NODE_PODS = "64Gi", 110
Note = Callable[[str], None]


def side_stack(side: Side) -> Stack:
    """The stack of one side: the scheduler alone, or with the service that stamps."""

    def contribute(lab: Lab) -> StackContribution:
        if side == "qos":
            return qos_stack(QosStackSettings()).contribute(lab)
        return StackContribution(files=scheduler_file(lab, measure_only=side == "stock"))

    return Stack(name="qos", contribute=contribute, ports=PORTS)


@contextmanager
def lab_of(experiment: QueueExperiment, side: Side, means: Means) -> Iterator[LabDir]:
    """A lab for one side and one seed, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="trimtab-qos-") as directory:
        home = Home(Path(directory))
        request = LabRequest(
            name=side,
            stacks=("qos",),
            nodes=experiment.nodes,
            node_cpu=str(experiment.slots_per_node),
            node_memory=NODE_MEMORY,
            node_pods=NODE_PODS,
        )
        stack = side_stack(side)
        apart = structs.replace(means, stacks={stack.name: stack}, port_shift=_port_shift())
        try:
            up(home, request, apart, None)
            yield home.lab(side)
        finally:
            down(home.lab(side))


def _port_shift() -> int:
    """Nobody visits these labs, so they stay out of the way of those that people use."""
    return 20_000 + os.getpid() % 100 * 100


async def play(experiment: QueueExperiment, side: Side, seed: int, lab: LabDir) -> SideRun:
    """Run one side with one seed in a lab that is ready for it."""
    async with Client.from_kubeconfig(lab.kubeconfig, manager="qos-experiment") as client:
        return await Play(client, experiment, seed, side).run()
