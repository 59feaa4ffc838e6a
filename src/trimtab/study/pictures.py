"""A simulated run as pictures for the page: what the nodes were, cycle by cycle, and the moves.

The run is simulated again from what its directory holds: runs are deterministic, and the
directory keeps results, not the course of each node. Cells of VMs show their mean load.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec.structs import replace

from trimtab.errors import ConfigError
from trimtab.model.load.curve import overall_mean
from trimtab.model.scenarios.scenario import Scenario
from trimtab.policy.file.default import DEFAULT_POLICY
from trimtab.sim.batch import simulate_one
from trimtab.sim.outcome import Course, MigrationRecord, Outcome
from trimtab.sim.spec import RunSpec
from trimtab.study.execution.run import load_result
from trimtab.study.results.store import StudyStore
from trimtab.web.feed.from_snapshot import imbalance
from trimtab.web.feed.picture import ClusterState, MoveState, NodeState, Picture, VmState

MOST_CYCLES = 3000
_KINDS = {-1: "under", 0: "appropriate", 1: "over"}


def run_pictures(directory: Path) -> tuple[str, list[Picture]]:
    """The title and the pictures of a run; of a study, those of its winner's first run."""
    if (directory / "inputs" / "run.json").is_file():
        title, spec, seed = _single(directory)
    elif (directory / "inputs" / "plan.json").is_file():
        title, spec, seed = _winner(directory)
    else:
        raise ConfigError(
            f"{directory}: neither a run of `trimtab sim -o` nor of `trimtab study --out`"
        )
    return title, list(pictures_of(spec.scenario, simulate_one(spec, seed)))


def _single(directory: Path) -> tuple[str, RunSpec, int]:
    inputs = directory / "inputs"
    try:
        run = json.loads((inputs / "run.json").read_text())
        scenario = msgspec.json.decode((inputs / "scenario.json").read_bytes(), type=Scenario)
        policy = (inputs / "policy.yaml").read_text()
        spec = msgspec.convert(run["spec"], RunSpec)
    except (OSError, ValueError, KeyError, msgspec.MsgspecError) as error:
        raise ConfigError(f"{inputs}: cannot be read ({error}); run it again") from error
    own = inputs / "score.py"
    spec = replace(
        spec,
        scenario=scenario,
        policy="" if policy == DEFAULT_POLICY else policy,
        score=str(own) if own.is_file() else spec.score,
    )
    return f"{scenario.name}, {spec.score or 'nothing moves'}", spec, int(run["seed"])


def _winner(directory: Path) -> tuple[str, RunSpec, int]:
    store = StudyStore(directory)
    plan, result = store.load_plan(), load_result(store)
    best = result.overall.pick
    spec = plan.spec(0, best)
    return f"{result.name}: {result.labels[best]} on {spec.scenario.name}", spec, plan.seeds[0]


def pictures_of(scenario: Scenario, outcome: Outcome) -> Iterator[Picture]:
    """One picture for each descheduling cycle, evenly left out where there are too many."""
    course = outcome.course
    stride = max(1, -(-len(course.times) // MOST_CYCLES))
    sizes = {
        vm.name: (
            round(float(vm.cpu) * overall_mean(vm.cpu_load), 3),
            float(vm.memory) * overall_mean(vm.memory_load),
        )
        for vm in scenario.vms
    }
    places = dict(outcome.placement_before)
    waiting = sorted(outcome.moves, key=_end)
    for cycle in range(0, len(course.times), stride):
        now = float(course.times[cycle])
        while waiting and _end(waiting[0]) <= now:
            move = waiting.pop(0)
            if move.outcome == "succeeded" and move.target:
                places[move.vm] = move.target
        shown = {
            f"{m.vm}@{m.requested_s:g}": _move(m, now) for m in waiting if m.requested_s <= now
        }
        moved = sum(_end(m) <= now and m.outcome == "succeeded" for m in outcome.moves)
        nodes = _nodes(scenario, course, cycle)
        cluster = ClusterState(
            imbalance=imbalance(list(nodes.values())),
            over=sum(node.kind == "over" for node in nodes.values()),
            low=round(float(course.thresholds[cycle, 0]), 2),
            high=round(float(course.thresholds[cycle, 1]), 2),
            moving=len(shown),
            moved=moved,
            notes=("simulated; cells show the mean load of a VM",),
        )
        vms = {name: VmState(node=node, cpu=sizes[name][0], memory=sizes[name][1])
               for name, node in places.items() if name in sizes}  # fmt: skip
        yield Picture(at=now, cluster=cluster, nodes=nodes, vms=vms, moves=shown)


def _end(move: MigrationRecord) -> float:
    return float("inf") if move.ended_s is None else move.ended_s


def _move(move: MigrationRecord, now: float) -> MoveState:
    started = move.started_s is not None and move.started_s <= now
    return MoveState(
        vm=move.vm,
        source=move.source,
        target=move.target or "",
        phase="PreCopy" if started else "Pending",
        begun=move.requested_s,
    )


def _nodes(scenario: Scenario, course: Course, cycle: int) -> dict[str, NodeState]:
    low, high = (round(float(each), 2) for each in course.thresholds[cycle])
    return {
        node.name: NodeState(
            kind=_KINDS[int(course.classes[cycle, number])],
            percent=round(100 * float(course.score[cycle, number]), 2),
            low=low,
            high=high,
            cpu=round(float(course.cpu[cycle, number]), 4),
            memory=round(float(course.memory[cycle, number]), 4),
            capacity=(float(node.cpu), float(node.memory)),
        )
        for number, node in enumerate(scenario.nodes)
    }
