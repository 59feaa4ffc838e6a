"""Outcomes as a simulator would return them, cheap and under full control of the test."""

from typing import Any

import numpy as np
from msgspec import structs

from trimtab.model.load.curve import Constant
from trimtab.model.nodes_and_vms import Node, Vm
from trimtab.model.quantity import cores, gib
from trimtab.model.scenarios.scenario import Scenario
from trimtab.sim.outcome import Course, MigrationRecord, Outcome, ReportCard

CALM = ReportCard(
    load_std_mean=0.05,
    load_std_final=0.04,
    memory_std_mean=0.03,
    max_over_mean=1.2,
    gini=0.1,
    spread=0.15,
    overload_node_seconds=0.0,
    degraded_vm_share=0.0,
    degraded_vm_share_p99=0.0,
    psi_node_seconds=12.0,
    slatah=0.0,
    pdm=0.0,
    slav=0.0,
    migrations=4,
    failed_migrations=0,
    gb_moved=16.0,
    precopy_seconds=30.0,
    peak_concurrent=2,
    vms_moved_again=0,
    first_converged_s=600.0,
    last_converged_s=600.0,
    oscillations=0,
    ping_pongs=0,
    minimum_migrations=3,
    minimum_gb=12.0,
    minimum_cycles=2,
)


def a_card(**changes: Any) -> ReportCard:
    return structs.replace(CALM, **changes)


def a_scenario(name: str = "shop", nodes: int = 4, vms: int = 12, **changes: Any) -> Scenario:
    """Equal nodes; the VMs start on the first ones, so that there is something to level."""
    return structs.replace(
        Scenario(
            name=name,
            nodes=tuple(Node(f"node-{i}") for i in range(nodes)),
            vms=tuple(
                Vm(f"vm-{i}", cores(4), gib(8), Constant(0.5), node=f"node-{i * i % nodes}")
                for i in range(vms)
            ),
        ),
        **changes,
    )


def a_course(
    nodes: int = 4, cycles: int = 10, *, hot: float = 0.9, decay: float = 0.8, every_s: float = 60
) -> Course:
    """The first node starts at `hot` and approaches the others' 0.4, cycle by cycle."""
    cpu = np.full((cycles, nodes), 0.4, dtype=np.float32)
    cpu[:, 0] = 0.4 + (hot - 0.4) * decay ** np.arange(cycles)
    classes = np.where(cpu > 0.5, 1, np.where(cpu < cpu.mean(axis=1, keepdims=True), -1, 0))
    return Course(
        times=np.arange(1, cycles + 1, dtype=np.float64) * np.float64(every_s),
        cpu=cpu,
        memory=cpu * np.float32(0.5),
        score=cpu,
        classes=classes.astype(np.int8),
        thresholds=np.tile(np.array([40, 50], dtype=np.float32), (cycles, 1)),
    )


def an_outcome(
    scenario: Scenario | None = None,
    card: ReportCard = CALM,
    course: Course | None = None,
    moved: int = 2,
) -> Outcome:
    """The first `moved` VMs move to the last node, one per minute."""
    scenario = scenario or a_scenario()
    before = {vm.name: vm.node or scenario.nodes[0].name for vm in scenario.vms}
    target = scenario.nodes[-1].name
    moves = tuple(
        MigrationRecord(
            vm.name, before[vm.name], target, 60.0 * i, 60.0 * i, 60.0 * i + 9, 4.0, "succeeded"
        )
        for i, vm in enumerate(scenario.vms[:moved])
    )
    return Outcome(
        card=card,
        course=course or a_course(len(scenario.nodes)),
        moves=moves,
        placement_before=before,
        placement_after=before | {move.vm: target for move in moves},
    )
