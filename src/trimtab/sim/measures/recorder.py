"""The course of a batch: what every replica looked like at each decision."""

import numpy as np

from trimtab.sim.fleet import Flags, Floats
from trimtab.sim.outcome import Course


class CourseRecorder:
    """Arrays (replicas, cycles, nodes), filled cycle by cycle."""

    def __init__(self, times: Floats, replicas: int, nodes: int) -> None:
        shape = (replicas, len(times), nodes)
        self.times = times
        self.cpu = np.zeros(shape, dtype=np.float32)
        self.memory = np.zeros(shape, dtype=np.float32)
        self.score = np.full(shape, np.nan, dtype=np.float32)
        self.classes = np.zeros(shape, dtype=np.int8)
        self.thresholds = np.full((replicas, len(times), 2), np.nan, dtype=np.float32)
        self.ready = np.ones((len(times), nodes), dtype=np.bool_)

    def course(self, replica: int) -> Course:
        return Course(
            times=self.times,
            cpu=self.cpu[replica],
            memory=self.memory[replica],
            score=self.score[replica],
            classes=self.classes[replica],
            thresholds=self.thresholds[replica],
        )

    def use(self, cycle: int, cpu: Floats, memory: Floats, ready: Flags) -> None:
        """Shares of the nodes in use at this moment: (replicas, nodes)."""
        self.cpu[:, cycle], self.memory[:, cycle] = cpu, memory
        self.ready[cycle] = ready
