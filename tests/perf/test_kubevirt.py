"""What a lab with the real KubeVirt costs: its start, one VM, one migration, a large cluster.

Nothing here fails on wall time. `TRIMTAB_BENCH_NODES=500` makes the cluster larger; it has ten
VMs for each node.
"""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from builders.labs.bench import Bench, say
from builders.labs.kubevirt import KubevirtLab, needs_kubevirt, running_kubevirt
from builders.labs.lab import RunningLab
from builders.labs.loops import running_loop
from builders.waiting import wait_until
from builders.worlds.crowded import ON_HOT, crowded
from trimtab.engines import cache_dir, chosen
from trimtab.engines.cache import find
from trimtab.policy.file.default import DEFAULT_POLICY
from trimtab.stacks.kubevirt.settings import KubevirtSettings
from trimtab.stacks.kubevirt.stack import kubevirt_stack
from trimtab.stacks.loop.projector.policy_file import with_algorithm

pytestmark = [pytest.mark.engines, needs_kubevirt]

ROUNDS, MOVES = 3, 10
NODES = int(os.environ.get("TRIMTAB_BENCH_NODES", "100"))
VMS = 10 * NODES
HOT = 4
COPY_S = 0.8
"""1 GiB of which 80 % are used, at 1 GiB a second."""
LIMIT_S = 3600.0


def show_programs(what: str, lab: RunningLab) -> None:
    """CPU seconds and resident memory of every program so far."""
    found = {name: psutil.Process(process.pid) for name, process in lab.processes().items()}
    rows = [(n, sum(p.cpu_times()[:2]), p.memory_info().rss / 2**20) for n, p in found.items()]
    print(f"\n{what}, load {os.getloadavg()[0]:.1f}:")
    for name, cpu, size in sorted(rows, key=lambda row: -row[1]):
        print(f"  {name:26}{cpu:8.1f} s CPU {size:7.0f} MiB")
    print(
        f"  {'together':26}{sum(r[1] for r in rows):8.1f} s CPU {sum(r[2] for r in rows):7.0f} MiB"
    )


def timed(do: Callable[[], object]) -> float:
    began = time.monotonic()
    do()
    return time.monotonic() - began


def test_building_the_programs() -> None:
    for each in chosen(("kubevirt",)):
        entry = find(each.name, cache_dir(os.environ))
        assert entry is not None
        print(
            f"\n{each.name}: {entry.manifest.seconds:.0f} s, {entry.manifest.size / 2**20:.0f} MiB"
        )


def test_up_from_built_programs(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    seconds = []
    for _ in range(ROUNDS):
        seconds.append(bench("up", "--with", "kubevirt"))
        show_programs("lab up --with kubevirt", bench.lab)
        bench("down")
        bench("wipe", "--yes")
    say("lab up --with kubevirt, 5 nodes", seconds, "no goal")
    assert bench.lab.left_over() == []


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubevirtLab]:
    with running_kubevirt(tmp_path_factory, nodes=5, scale=1) as kubevirt:
        yield kubevirt


def test_from_create_to_running_and_from_eviction_to_migrated(small: KubevirtLab) -> None:
    names = [f"vm-{number}" for number in range(MOVES)]
    say("VM create to Running", [timed(lambda n=n: small.create(n)) for n in names], "alone")  # type: ignore[misc]
    say(
        "eviction to migrated, the copy taken off",
        [timed(lambda n=n: moved(small, n)) - COPY_S for n in names],  # type: ignore[misc]
        "alone",
    )
    assert [len(small.running_launchers(name)) for name in names] == [1] * MOVES


def moved(kubevirt: KubevirtLab, name: str) -> None:
    (pod,) = kubevirt.running_launchers(name)
    assert "triggered evacuation" in kubevirt.evict(pod.metadata.name)

    def arrived() -> bool:
        status = kubevirt.vmi(name).status
        state = status.migration_state
        return state is not None and state.completed and status.node_name != pod.spec.node_name

    wait_until(arrived, f"{name} does not move")


@pytest.mark.timeout(2 * LIMIT_S)
def test_a_large_cluster_is_started_and_levelled(tmp_path_factory: pytest.TempPathFactory) -> None:
    began = time.monotonic()
    with running_loop(
        tmp_path_factory,
        scenario=crowded(NODES, VMS, HOT),
        policy=with_algorithm(DEFAULT_POLICY, "cpu_focused"),
        beside=(kubevirt_stack(KubevirtSettings()),),
        scale=1,
    ) as loop:
        started = time.monotonic()
        show_programs(f"{VMS} VMs on {NODES} nodes run after {started - began:.0f} s", loop.lab)
        loop.await_quiet(limit_s=LIMIT_S)
        took = time.monotonic() - started
        moves = [m for m in loop.migrations() if m.status.phase == "Succeeded"]
        show_programs(f"level after {took:.0f} s and {len(moves)} migrations", loop.lab)
        assert len(moves) >= HOT * (ON_HOT - 15)
