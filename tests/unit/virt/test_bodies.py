"""The simulator, the vm-controller and snapshots of a live cluster give one answer each time.

They keep what they know in different ways: columns of numbers, objects of an API, annotations.
Each test asks all of them about the same case.
"""

from datetime import timedelta
from math import inf
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from builders.values.virt import a_launcher, a_vm
from builders.worlds.sim import a_scenario, nodes
from builders.worlds.sim import a_vm as a_simulated_vm
from builders.worlds.vm import World
from builders.worlds.vm_cluster import START
from trimtab.kube.resources import Key, ObjectMeta
from trimtab.kube.virtual_machines import EVACUATION_LABEL, MigrationStatus, VirtualMachineMigration
from trimtab.model.scenarios.scenario import Migration, ScenarioEvent
from trimtab.observe import wire
from trimtab.observe.eviction_answers import observed_on, own_machines
from trimtab.sim import simulate_one
from trimtab.sim.fleet import on_eviction
from trimtab.sim.migration.marks import NONE, Marks
from trimtab.sim.migration.waiting import WaitingMarks
from trimtab.sim.spec import RunSpec
from trimtab.truth.explain.outcome_texts import EVICTION_ANSWER
from trimtab.virt.eviction import EvictionEffect, EvictionStrategy
from trimtab.virt.slots import MigrationLimits, MigrationPriority, MigrationRequest
from trimtab.vm.decide import eviction
from trimtab.vm.decide.finished_migrations import backoff_left_s
from trimtab.vm.leader_state import Slots

EFFECTS = {
    eviction.Allow: EvictionEffect.RESTARTS,
    eviction.Deny: EvictionEffect.REFUSES,
    eviction.MarkForEvacuation: EvictionEffect.MIGRATES,
}
WORDS = {
    "evicted": EvictionEffect.RESTARTS,
    "refused": EvictionEffect.REFUSES,
    "": EvictionEffect.MIGRATES,
}


@pytest.mark.parametrize("migratable", [True, False])
@pytest.mark.parametrize("strategy", get_args(EvictionStrategy))
def test_an_eviction_does_the_same_to_a_vm_everywhere(
    strategy: EvictionStrategy, migratable: bool
) -> None:
    vm = a_vm(eviction_strategy=strategy, live_migratable=migratable)
    simulated = on_eviction(a_simulated_vm("web", strategy=strategy, migratable=migratable))
    answered = EFFECTS[type(eviction.decide(a_launcher(), vm))]
    launcher = a_launcher()
    pod = wire.Pod(
        metadata=launcher.metadata,
        spec=wire.PodSpec(node_name=launcher.spec.node_name),
        status=wire.PodStatus(phase="Running"),
    )
    told = observed_on(pod, own_machines([vm])).get(EVICTION_ANSWER, "")
    assert simulated is answered is WORDS[told.partition(":")[0]]


def simulated_waits() -> list[float]:
    """Between a failure and the next attempt of a VM whose copy never converges."""
    wild = a_simulated_vm("wild", node="n0", dirty_rate=4e9)
    drain = ScenarioEvent(0.0, "drain", "n0")
    scenario = a_scenario(nodes(2), [wild], duration_s=5000.0, events=[drain])
    moves = simulate_one(RunSpec(scenario, score=None), 1).moves
    ended = [move.ended_s or inf for move in moves]
    begun = [move.started_s or inf for move in moves if move.started_s is not None]
    return [start - end for end, start in zip(ended, begun[1:], strict=False)]


def controlled_wait(failures: int) -> float:
    """What the vm-controller waits for after so many failed evacuations in a row."""
    failed = VirtualMachineMigration(
        metadata=ObjectMeta(name="evac-web", labels={EVACUATION_LABEL: "true"}),
        status=MigrationStatus(phase="Failed", attempts=failures, completion_time=START),
    )
    seen = structs.replace(World().look(), migrations=(failed,))
    assert backoff_left_s(structs.replace(seen, now=START + timedelta(seconds=5))) == (
        backoff_left_s(seen) - 5
    )
    return backoff_left_s(seen)


def test_a_failed_migration_is_tried_again_after_the_same_wait_everywhere() -> None:
    waits = simulated_waits()
    assert len(waits) > 6
    assert waits == [controlled_wait(number + 1) for number in range(len(waits))]


asked = st.tuples(st.sampled_from(MigrationPriority), st.integers(0, 3))


@given(st.lists(asked, max_size=12), st.integers(1, 6), st.integers(1, 3))
def test_the_same_migrations_get_a_slot_everywhere(
    wanted: list[tuple[MigrationPriority, int]], cluster: int, node: int
) -> None:
    limits = MigrationLimits(cluster, node)
    assert simulated_starts(wanted, limits) == controlled_starts(wanted, limits)


def simulated_starts(
    wanted: list[tuple[MigrationPriority, int]], limits: MigrationLimits
) -> set[int]:
    marks = Marks(len(wanted))
    waiting, leaving = WaitingMarks(marks), dict.fromkeys(range(4), 0)
    for vm, (priority, source) in enumerate(wanted):
        marks.add(np.array([vm]), np.array([source]), 0.0, priority, NONE)
        waiting.add(np.array([vm]), 0.0)
    running: set[int] = set()
    while limits.allow_another(len(running)):
        taken = waiting.take(0.0, lambda source: limits.allow_leaving(leaving[source]))
        if taken is None:
            break
        marks.begin(taken, 0.0, 0.0)
        leaving[int(marks.source[taken])] += 1
        running.add(taken)
    return running


def controlled_starts(
    wanted: list[tuple[MigrationPriority, int]], limits: MigrationLimits
) -> set[int]:
    others = {Key("other", str(number)): "elsewhere" for number in range(limits.cluster)}
    slots = Slots(limits, lambda: others, lambda _: None)
    requests = [
        MigrationRequest(priority, float(vm), Key("default", f"{vm:02}"), f"n{source}")
        for vm, (priority, source) in enumerate(wanted)
    ]
    assert [slots.take(request) for request in requests] == [False] * len(requests)
    others.clear()
    return {int(request.key.name) for request in requests if slots.take(request)}


def test_the_default_limits_are_the_same_everywhere() -> None:
    model, limits = Migration(), World().settings.limits
    assert (model.per_cluster, model.per_node_outbound) == (limits.cluster, limits.node) == (5, 2)
