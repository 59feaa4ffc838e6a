"""A recorded run made by hand: what a lab would leave behind if everything went by the rules.

The nodes' CPU use is given per evaluation, the other inputs are 0; the descheduler's log is
written from the decisions of `decide`, with choices of its own. Tests then change what was
recorded and see whether the verdict notices.
"""

from datetime import datetime
from functools import cache

import numpy as np

from trimtab.fidelity.recording import COLUMNS, LabRun, PodVersion, RecordedSeries
from trimtab.fidelity.scores import Floats
from trimtab.fidelity.state import RunState
from trimtab.fidelity.steps import KINDS, by_the_rules
from trimtab.model.snapshot import (
    EVICTION_IN_PROGRESS,
    REQUEST_EVICT_ONLY,
    ContainerResources,
    Owner,
    QueryResult,
    Sample,
    Snapshot,
    SnapshotNode,
    SnapshotPod,
)
from trimtab.observe.descheduler_log import (
    LoggedCycle,
    LoggedNode,
    LoggedPod,
    LoggedRun,
    LoggedSource,
)
from trimtab.policy.choices import Answer, Answers, Choose, Shuffled
from trimtab.policy.cycle import Class, Cycle, PodOutcome
from trimtab.policy.decision import decide
from trimtab.policy.file.default import DEFAULT_POLICY
from trimtab.policy.file.settings import METRIC_RESOURCE
from trimtab.policy.snapshot_view import SnapshotView, policy_of
from trimtab.scores import evaluate_means, find_score

SCORE = "cpu_focused"
NODES = ("n1", "n2", "n3")
SCALE, RULES_S, INTERVAL_S, CYCLES = 10.0, 1.5, 6.0, 8
START = datetime(datetime.now().year, 3, 1, 12).timestamp()
POLICY = DEFAULT_POLICY.replace(
    "descheduler:node:linear_amplified_ideal_point_positive_distance:k3:avg1m",
    f"descheduler:node:{SCORE}:avg1m",
)
ROOM = {"cpu": "32", "memory": "128Gi", "pods": "110"}
LABEL = {"kubevirt.io/schedulable": "true"}


def doing_nothing(snapshot: Snapshot, state: RunState, choose: Choose, _answer: Answers) -> Cycle:
    """A prediction that must fail: the same classes, and never an eviction."""
    return by_the_rules(snapshot, state, choose, lambda _pod: Answer.REFUSED)


def told(at: float) -> str:
    """A time as the log writes it."""
    return datetime.fromtimestamp(at).strftime("%m%d %H:%M:%S.%f")


def a_pod(number: int, node: str = "n1", **changes: object) -> SnapshotPod:
    fields: dict[str, object] = {
        "namespace": "default",
        "name": f"vm-{number}",
        "uid": f"uid-{number}",
        "node": node,
        "annotations": {REQUEST_EVICT_ONLY: ""},
        "owners": (Owner("VirtualMachine", f"owner-{number}"),),
        "containers": (ContainerResources(requests={"cpu": "1", "memory": "1Gi"}),),
    }
    return SnapshotPod(**(fields | changes))  # type: ignore[arg-type]


def loads(count: int) -> Floats:
    """(evaluations, nodes): one node hot, one in the middle, one cool; all the time."""
    return np.tile(np.array([0.8, 0.52, 0.2]), (count, 1))


class Recorder:
    """Plays a run of eight cycles: two victims each, gone before the next cycle."""

    def __init__(self, seed: int = 0) -> None:
        self._choose = Shuffled(seed)
        self.times = [START - 15.0 + RULES_S * n for n in range(60)]
        self.cpu = loads(len(self.times))
        self.changes = [PodVersion(START - 15.0, a_pod(n)) for n in range(40)]
        self._state = RunState({})
        for change in self.changes:
            self._state = self._state.after(change)
        self.cycles: list[LoggedCycle] = []
        self.nodes = tuple(
            SnapshotNode(
                n, labels=LABEL, allocatable={"cpu": "32", "memory": "128Gi", "pods": "110"}
            )
            for n in NODES
        )

    def run(self) -> LabRun:
        scores = self._scores()
        for number in range(CYCLES):
            self._cycle(START + INTERVAL_S * number + 0.2, scores)
        columns: dict[str, dict[str, RecordedSeries]] = {c: self._courses(c) for c in COLUMNS}
        return LabRun(
            scenario="by hand",
            score=SCORE,
            policy=POLICY,
            scale=SCALE,
            interval_s=INTERVAL_S,
            nodes=self.nodes,
            pods=tuple(self.changes),
            scrapes=columns,
            base=columns,
            scores={
                node: RecordedSeries(tuple(self.times[4:]), tuple(scores[4:, at].tolist()))
                for at, node in enumerate(NODES)
            },
            cycles=tuple(self.cycles),
        )

    def _courses(self, column: str) -> dict[str, RecordedSeries]:
        used = self.cpu if column == "cpu_usage" else np.zeros_like(self.cpu)
        return {
            node: RecordedSeries(tuple(self.times), tuple(used[:, at].tolist()))
            for at, node in enumerate(NODES)
        }

    def _scores(self) -> Floats:
        """What the rules would record: loads are constant, and so is the score of their mean."""
        inputs = np.zeros((1, len(NODES), 4))
        inputs[0, :, 0] = self.cpu[0]
        return np.tile(evaluate_means(find_score(SCORE), inputs)[0], (len(self.times), 1))

    def _cycle(self, at: float, scores: Floats) -> None:
        newest = max(n for n, time in enumerate(self.times) if time <= at)
        when = datetime.fromtimestamp(at).astimezone()
        samples = tuple(
            Sample({"instance": node}, repr(float(value)))
            for node, value in zip(NODES, scores[newest], strict=True)
        )
        snapshot = Snapshot(
            taken_at=when,
            policy=POLICY,
            query=QueryResult(time=when, samples=samples),
            nodes=self.nodes,
            pods=tuple(self._state.pods.values()),
        )
        decided = decide(
            SnapshotView(snapshot), policy_of(snapshot), self._state.in_flight, self._choose
        )
        self.cycles.append(logged(decided, at))
        self._carry_out(decided, at)

    def _carry_out(self, decided: Cycle, at: float) -> None:
        """The victims are marked, then gone two seconds later."""
        for eviction in decided.evictions:
            pod = self._state.pods[eviction.pod.uid]
            self._state = self._state.assuming([pod], at)
            marks = {**pod.annotations, EVICTION_IN_PROGRESS: "true"}
            marked = a_pod(int(pod.name[3:]), annotations=marks)
            for change in (PodVersion(at + 1.6, marked), PodVersion(at + 2.5, marked, gone=True)):
                self.changes.append(change)
                self._state = self._state.after(change)
        self.changes.sort(key=lambda change: change.at)


def logged(decided: Cycle, at: float) -> LoggedCycle:
    """The decision as the descheduler would have told it."""
    run = decided.runs[0]
    assert run.figures is not None
    readings = {
        node: LoggedNode(
            node,
            KINDS[Class(int(run.figures.classes[n]))],
            {METRIC_RESOURCE: str(int(run.figures.usage[METRIC_RESOURCE][n]))},
            {},
        )
        for n, node in enumerate(decided.nodes)
    }
    sources = tuple(
        LoggedSource(
            node=visit.node,
            usage={},
            notes=tuple(
                LoggedPod(PodOutcome.BACKGROUND, f"{step.pod.namespace}/{step.pod.name}")
                for step in visit.steps
                if step.outcome.is_eviction
            ),
        )
        for visit in run.visits
    )
    return LoggedCycle(
        pid=1,
        began=told(at),
        ended=told(at + 0.2),
        runs=(LoggedRun(plugin="LowNodeUtilization", readings=readings, sources=sources),),
    )


@cache
def a_run(seed: int = 0) -> LabRun:
    """A run by the rules."""
    return Recorder(seed).run()
