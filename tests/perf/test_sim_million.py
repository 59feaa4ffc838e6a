"""A million VMs: CPU time on one core and memory, each run in a process of its own."""

import resource
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

from trimtab.model.load.columns import traces_in
from trimtab.model.load.curve import Constant, Trace
from trimtab.model.nodes_and_vms import Node, Vm
from trimtab.model.quantity import cores, gib
from trimtab.model.scenarios.scenario import Scenario
from trimtab.sim import simulate
from trimtab.sim.spec import RunSpec, Timing

NODES, VMS, CYCLES = 100_000, 1_000_000, 96
SLACK = 3.0
"""A ceiling is at most three times what was measured, in CPU time on a busy computer."""


def a_million(kinds: int) -> Scenario:
    """VMs with traces of so many kinds, a third of them crowded on a quarter of the nodes."""
    rng = np.random.default_rng(1)
    level = rng.beta(1.5, 5.0, size=kinds).astype(np.float32)
    table = np.empty((CYCLES, kinds), dtype=np.float32)
    for row in table:
        np.clip(level + rng.normal(0.0, 0.04, kinds), 0.0, 1.0, out=row, casting="same_kind")
    traces: list[Trace] = traces_in(table)
    home = rng.integers(NODES, size=VMS)
    home = np.where(rng.random(VMS) < 0.33, home // 4, home)
    names = [f"n{i:05}" for i in range(NODES)]
    cpu, memory, half = cores(4), gib(2), Constant(0.5)
    return Scenario(
        name="a million",
        nodes=tuple(map(Node, names)),
        vms=tuple(
            Vm(f"v{i}", cpu, memory, cpu_load=traces[i % kinds], memory_load=half, node=names[at])
            for i, at in enumerate(home.tolist())
        ),
        duration_s=300.0 * CYCLES,
        requests="overcommit",
    )


def measured(kinds: int) -> tuple[float, float, int]:
    """CPU seconds of a run, gigabytes at most, migrations."""
    spec = RunSpec(a_million(kinds), timing=Timing(descheduling_s=300.0))
    begin = time.process_time()
    outcome = simulate(spec, [1])[0]
    seconds = time.process_time() - begin
    peak_gb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    return seconds, peak_gb, outcome.card.migrations


@pytest.mark.parametrize(
    ("kinds", "ceiling_s"),
    [
        pytest.param(1600, 9.3 * SLACK, id="1,600 traces"),
        pytest.param(VMS, 11.4 * SLACK, id="a trace for every VM"),
    ],
)
def test_a_million_vms_on_a_hundred_thousand_nodes(kinds: int, ceiling_s: float) -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        seconds, peak_gb, migrations = process.submit(measured, kinds).result()
    print(
        f"\n100,000 nodes x 1,000,000 VMs x 96 cycles, {kinds} traces: {seconds:.1f} s of CPU, "
        f"{peak_gb:.2f} GB, {migrations} migrations"
    )
    assert migrations > 400
    assert seconds < ceiling_s
    assert peak_gb < 1.5
