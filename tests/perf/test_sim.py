"""What simulating costs, in CPU time on one core, and what choosing victims is worth."""

import resource
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray

from trimtab.model.load.curve import Constant, Trace
from trimtab.model.nodes_and_vms import Node, Vm
from trimtab.model.quantity import cores, gib
from trimtab.model.scenarios.scenario import Migration, Scenario
from trimtab.sim import simulate
from trimtab.sim.outcome import Outcome
from trimtab.sim.spec import Restraint, RunSpec, Timing

SLACK = 3.0
"""A ceiling is at most three times what was measured, in CPU time on a busy computer."""
DATA = Path(__file__).parents[3] / "shared" / "data"
RECORDED, PLANETLAB = DATA / "google-2011-vms.npz", DATA / "planetlab-20110303.npz"
FIVE_MINUTES = Timing(descheduling_s=300.0)


def synthetic(nodes: int, vms: int, duration_s: float) -> Scenario:
    """VMs with 5-minute traces, a third of them crowded on a quarter of the nodes."""
    rng = np.random.default_rng(1)
    count = min(vms, 1600)
    level = rng.beta(1.5, 5.0, size=(count, 1))
    noise = rng.normal(0.0, 0.04, size=(count, 288))
    traces = [Trace(tuple(row)) for row in np.clip(level + noise, 0.0, 1.0).tolist()]
    home = rng.integers(nodes, size=vms)
    home = np.where(rng.random(vms) < 0.33, home // 4, home)
    return Scenario(
        name="synthetic",
        nodes=tuple(Node(f"n{i:05}") for i in range(nodes)),
        vms=tuple(
            Vm(
                f"v{i}",
                cores(4),
                gib(2),
                cpu_load=traces[i % count],
                memory_load=Constant(0.5),
                node=f"n{home[i]:05}",
            )
            for i in range(vms)
        ),
        duration_s=duration_s,
        requests="overcommit",
    )


def planetlab() -> Scenario:
    """A day of 1,052 recorded VMs, 4 cores and 2 GiB each, on 800 nodes of 8 cores."""
    if not PLANETLAB.exists():
        pytest.skip(f"no recorded loads at {PLANETLAB}")
    with np.load(PLANETLAB) as data:
        cpu: NDArray[np.float64] = data["cpu_percent"] / 100
    return Scenario(
        name="planetlab",
        nodes=tuple(Node(f"n{i}", cores(8), gib(16)) for i in range(800)),
        vms=tuple(
            Vm(f"v{i}", cores(4), gib(2), cpu_load=Trace(tuple(row)), memory_load=Constant(0.5))
            for i, row in enumerate(cpu.tolist())
        ),
        duration_s=86_400.0,
        requests="overcommit",
    )


def unlimited(scenario: Scenario, **more: Any) -> RunSpec:
    """Whoever is to go goes at once: no limit on evictions, nor on migrations."""
    free = replace(scenario, migration=Migration(per_cluster=10**6, per_node_outbound=10**6))
    return RunSpec(free, limits=(10**6, 10**6), timing=FIVE_MINUTES, **more)


def timed(spec: RunSpec) -> tuple[float, Outcome]:
    """CPU seconds of one run, set-up included."""
    begin = time.process_time()
    outcome = simulate(spec, [1])[0]
    return time.process_time() - begin, outcome


def tell(what: str, seconds: float, outcome: Outcome) -> None:
    cycles = len(outcome.course.times)
    print(
        f"\n{what}: {seconds:.2f} s of CPU, {1e6 * seconds / cycles:.0f} µs a cycle, "
        f"{outcome.card.migrations} migrations"
    )


def test_a_day_of_cycles_a_minute_each() -> None:
    spec = RunSpec(synthetic(100, 1600, 86_400.0))
    seconds, outcome = timed(spec)
    tell("100 nodes x 1,600 VMs x 1,440 cycles", seconds, outcome)
    assert outcome.card.migrations > 1000
    assert seconds < 1.9 * SLACK


def test_a_day_of_five_minute_cycles() -> None:
    spec = RunSpec(synthetic(100, 1600, 86_400.0), timing=FIVE_MINUTES)
    seconds, outcome = timed(spec)
    tell("100 nodes x 1,600 VMs x 288 cycles", seconds, outcome)
    assert seconds < 0.45 * SLACK


def test_a_day_of_ten_thousand_nodes() -> None:
    spec = RunSpec(synthetic(10_000, 100_000, 86_400.0), timing=FIVE_MINUTES)
    seconds, outcome = timed(spec)
    tell("10,000 nodes x 100,000 VMs x 288 cycles", seconds, outcome)
    peak_gb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    print(f"peak memory of the process: {peak_gb:.2f} GB")
    assert seconds < 2.0 * SLACK
    assert peak_gb < 0.3 * SLACK


def test_a_recorded_day_without_limits() -> None:
    """Some 240 VMs leave their node in every cycle."""
    seconds, outcome = timed(unlimited(planetlab(), score="cpu_focused", thresholds=(0.0, 3.5)))
    tell("800 nodes x 1,052 VMs x 288 cycles without limits", seconds, outcome)
    assert outcome.card.migrations > 50_000
    assert 1e6 * seconds / outcome.card.migrations < 39.0 * SLACK


def test_a_migration_costs_no_more_where_thousands_move_at_once() -> None:
    """Eleven thousand in every cycle: each costs about what it costs among hundreds."""
    seconds, outcome = timed(unlimited(synthetic(1000, 16_000, 4 * 300.0)))
    tell("1,000 nodes x 16,000 VMs x 4 cycles without limits", seconds, outcome)
    assert outcome.card.migrations > 30_000
    assert 1e6 * seconds / outcome.card.migrations < 22.0 * SLACK


def test_a_day_without_limits_in_a_large_cluster() -> None:
    """Nearly every VM moves in every cycle. Numba, the extra `fast`, chooses their targets."""
    pytest.importorskip("numba", reason="the extra fast is not installed")
    seconds, outcome = timed(unlimited(synthetic(1000, 16_000, 86_400.0)))
    tell("1,000 nodes x 16,000 VMs x 288 cycles without limits", seconds, outcome)
    assert outcome.card.migrations == 4_477_324
    assert seconds < 25.0 * SLACK


def seconds_a_cycle(nodes: int, cycles: int = 60) -> float:
    """CPU time between the ends of the first and the last cycle, over their number."""
    spec = RunSpec(synthetic(nodes, 16 * nodes, cycles * 300.0), timing=FIVE_MINUTES)
    marks: list[float] = []
    simulate(spec, [1], lambda cycle, total: marks.append(time.process_time()))
    return (marks[-1] - marks[0]) / (cycles - 1)


def test_the_cost_of_a_cycle_grows_no_faster_than_the_number_of_vms() -> None:
    """At three sizes, sixteen VMs a node."""
    cost = {nodes: seconds_a_cycle(nodes) for nodes in (100, 1000, 4000)}
    for nodes, seconds in cost.items():
        vms = 16 * nodes
        print(f"\n{vms:>6} VMs: {1e3 * seconds:.2f} ms a cycle, {1e9 * seconds / vms:.0f} ns a VM")
    assert cost[4000] < min(4, SLACK * 1.6) * cost[1000]
    assert cost[1000] < min(10, SLACK * 1.6) * cost[100]


def recorded(start: int) -> Scenario:
    """1,600 recorded VMs on 100 nodes of 32 cores; the busy ones stand together at the start."""
    if not RECORDED.exists():
        pytest.skip(f"no recorded loads at {RECORDED}")
    with np.load(RECORDED) as data:
        cpu: NDArray[np.float64] = data["percent_x100"][:, :, 0] / 10_000
    rng = np.random.default_rng(start)
    order = np.argsort(-cpu.mean(axis=1) + rng.normal(0.0, 0.12, len(cpu)), kind="stable")
    home = np.empty(len(cpu), dtype=int)
    home[order] = np.arange(len(cpu)) * 100 // len(cpu)
    return Scenario(
        name="recorded",
        nodes=tuple(Node(f"n{i:02}") for i in range(100)),
        vms=tuple(
            Vm(
                f"v{i}",
                cores(4),
                gib(4),
                cpu_load=Trace(tuple(loads)),
                memory_load=Constant(0.5),
                node=f"n{home[i]:02}",
            )
            for i, loads in enumerate(cpu.tolist())
        ),
        duration_s=86_400.0,
        requests="overcommit",
    )


HELD = Restraint(cooldown_s=3600.0, consecutive=3)


@pytest.mark.full
def test_choosing_victims_by_their_load_needs_far_fewer_migrations() -> None:
    """A day of recorded loads, 5 points of CPU above the mean tolerated, 5 moves a cycle."""
    scenario = recorded(0)
    base = RunSpec(scenario, score="cpu_focused", thresholds=(0.0, 3.5), timing=FIVE_MINUTES)
    policies: dict[str, dict[str, Any]] = {
        "doing nothing": {"score": None},
        "stock": {},
        "stock, least-loaded targets": {"placement": "least-loaded"},
        "best-fit": {"victims": "best-fit"},
        "steepest pair": {"victims": "steepest-pair"},
        "best-fit, held": {"victims": "best-fit", "restraint": HELD},
        "steepest pair, held": {"victims": "steepest-pair", "restraint": HELD},
        "planned": {"victims": "planned", "thresholds": (0.0, 5.0)},
        "planned, held": {"victims": "planned", "thresholds": (0.0, 5.0), "restraint": HELD},
    }
    moves: dict[str, float] = {}
    for name, changes in policies.items():
        fields = {field: getattr(base, field) for field in RunSpec.__struct_fields__}
        cards = [outcome.card for outcome in simulate(RunSpec(**{**fields, **changes}), range(5))]
        moves[name] = float(np.mean([card.migrations for card in cards]))
        std = np.mean([card.load_std_mean for card in cards])
        overload = np.mean([card.overload_node_seconds for card in cards])
        print(
            f"\n{name:28} {moves[name]:7.1f} migrations, std {std:.4f}, overload {overload:7.0f}, "
            f"at least {cards[0].minimum_migrations}"
        )
    assert moves["steepest pair"] < moves["best-fit"] < moves["stock, least-loaded targets"]
    assert moves["best-fit"] < moves["stock"]
    assert moves["steepest pair, held"] < moves["steepest pair"]
    assert moves["planned"] < moves["best-fit"]
