"""Counters that a production rule can take the rate of, whoever scrapes and whenever."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.examples import examples
from builders.values.exporter import GIB, REFERENCE_NODE, a_share, samples
from trimtab.exporter.nodes.consumption import PodContribution, PodRole
from trimtab.exporter.nodes.counters import OWN_SHARE, Counters
from trimtab.exporter.nodes.ledger import NodeFacts, NodeLedger
from trimtab.exporter.nodes.production import render_production
from trimtab.exporter.nodes.reading import NodeReader
from trimtab.kube.clock import Clock
from trimtab.kube.virtual_machines import Load
from trimtab.model.load.curve import Constant, Diurnal, Spikes
from trimtab.model.load.curve_means import mean
from trimtab.model.load.pressure_curve import DEFAULT_PRESSURE

START_MS = 1_800_000_000_123
WAVE = Load(32.0, 64 * GIB, cpu=Diurnal(0.0, 2.0, period=7.0), memory=Diurnal(0.1, 0.9, period=5.0))
SPIKY = Load(16.0, 8 * GIB, cpu=Spikes(0.1, 3.0, every=3.0, lasts=0.4), memory=Constant(0.5))


class World:
    """A ledger with counters on a clock that the test moves."""

    def __init__(self, *shares: PodContribution, at_ms: int = START_MS) -> None:
        self.now_ms = at_ms
        self.clock = Clock(epoch=START_MS / 1000, scale=10.0)
        self.ledger = NodeLedger()
        self.reader = NodeReader(self.ledger)
        self.counters = Counters(
            self.ledger, lambda: self.clock, lambda: DEFAULT_PRESSURE, lambda: self.now_ms
        )
        self.ledger.set_node("n1", REFERENCE_NODE)
        for number, share in enumerate(shares):
            self.ledger.put(str(number), share)

    def read(self) -> tuple[int, ...]:
        """Idle, busy, waiting for CPU and for memory of node n1; () if it has none."""
        reading = self.reader.read(self.clock.lab_s(self.now_ms / 1000))
        rows: list[list[int]] = self.counters.read(reading, self.now_ms).tolist()
        return tuple(rows[0]) if rows else ()

    def page(self) -> str:
        reading = self.reader.read(self.clock.lab_s(self.now_ms / 1000))
        table = self.counters.read(reading, self.now_ms)
        return render_production(reading, self.ledger, table, self.now_ms)


def test_a_steady_load_adds_its_share_of_real_time() -> None:
    world = World(a_share(cpu=0.25, memory=0.8))
    world.now_ms += 8_000
    idle, busy, cpu_waiting, memory_waiting = world.read()
    assert (idle, busy) == (6_000_000_000, 2_000_000_000)
    psi = world.reader.read(0.0).psi[0]
    assert cpu_waiting == pytest.approx(psi[0] * 8e9, abs=1)
    assert memory_waiting == pytest.approx(psi[1] * 8e9, abs=1)


def test_a_change_counts_from_its_moment() -> None:
    world = World(a_share(cpu=0.25))
    world.now_ms += 2_000
    world.ledger.put("0", a_share(cpu=0.75))
    world.now_ms += 2_000
    assert world.read()[1] == 2_000_000_000


def test_more_demand_than_cpu_is_no_more_than_busy() -> None:
    world = World(a_share(cpu=1.5))
    world.now_ms += 1_000
    assert world.read()[:2] == (0, 1_000_000_000)


def test_an_idle_node_is_busy_with_itself() -> None:
    world = World()
    world.now_ms += 1_000_000
    assert world.read()[1] == OWN_SHARE * 1_000_000 * 10**6


def test_a_curve_adds_its_exact_mean_over_full_seconds() -> None:
    half = Load(16.0, GIB, cpu=Diurnal(0.2, 0.8, period=77.0), memory=Constant(0.5))
    world = World(a_share(load=half), at_ms=START_MS + 877)
    world.now_ms += 60_000
    expected = mean(half.cpu, 8.77, 608.77)  # at tenfold speed
    assert world.read()[1] == pytest.approx(expected * 0.5 * 60e9, abs=60)


def test_a_curve_before_its_beginning_is_as_at_its_beginning() -> None:
    world = World(a_share(load=WAVE), at_ms=START_MS - 60_123)
    world.now_ms += 60_000
    assert world.read()[:2] == (0, 60_000_000_000)  # it begins at its peak, twice the node


def test_a_target_of_a_migration_has_the_memory_but_not_the_cpu() -> None:
    world = World(a_share(load=WAVE, role=PodRole.ARRIVING))
    world.now_ms += 10_000
    _, busy, _, memory_waiting = world.read()
    assert busy == OWN_SHARE * 10_000 * 10**6
    assert memory_waiting > 0


def test_another_pace_counts_from_its_moment() -> None:
    slow, changed = World(a_share(load=WAVE)), World(a_share(load=WAVE))
    for world in (slow, changed):
        world.now_ms += 5_000
    before = changed.read()
    changed.counters.settle_all()
    changed.clock = Clock(epoch=0.0, scale=1.0)
    assert changed.read() == before == slow.read()


@pytest.mark.parametrize("gone", ["deleted", "not ready"])
def test_a_node_that_returns_begins_anew_like_after_a_boot(gone: str) -> None:
    world = World(a_share(cpu=0.5))
    world.now_ms += 5_000
    if gone == "deleted":
        world.ledger.remove_node("n1")
    else:
        world.ledger.set_node("n1", NodeFacts(32.0, 128 * GIB, ready=False))
    world.now_ms += 5_000
    assert world.read() == ()
    world.ledger.set_node("n1", REFERENCE_NODE)
    world.now_ms += 2_000
    assert world.read()[:2] == (1_000_000_000, 1_000_000_000)


steps = st.lists(
    st.tuples(
        st.integers(0, 4_000),
        st.sampled_from(["read", "wave", "spikes", "steady", "none", "small", "large"]),
    ),
    max_size=25,
)
DOINGS = {
    "wave": a_share(load=WAVE),
    "spikes": a_share(load=SPIKY),
    "steady": a_share(cpu=0.3, memory=0.9),
}


def played(steps: list[tuple[int, str]], *, reading: bool) -> list[tuple[int, tuple[int, ...]]]:
    """The moments and values that were read; the last one always is."""
    world, seen = World(), []
    for wait_ms, doing in steps:
        world.now_ms += wait_ms
        if doing == "read":
            if reading:
                seen.append((world.now_ms, world.read()))
        elif doing == "none":
            world.ledger.remove("pod")
        elif doing in ("small", "large"):
            size = 16.0 if doing == "small" else 64.0
            world.ledger.set_node("n1", NodeFacts(size, size * 4 * GIB))
        else:
            world.ledger.put("pod", DOINGS[doing])
    return [*seen, (world.now_ms, world.read())]


@settings(max_examples=examples(50))
@given(steps)
def test_values_do_not_depend_on_who_read_before(steps: list[tuple[int, str]]) -> None:
    assert played(steps, reading=True)[-1] == played(steps, reading=False)[-1]


@settings(max_examples=examples(50))
@given(steps)
def test_nothing_runs_backwards_or_faster_than_time(steps: list[tuple[int, str]]) -> None:
    for (then, before), (now, after) in pairwise(played(steps, reading=True)):
        passed = (now - then) * 10**6
        grown = np.subtract(after, before)
        assert (grown >= 0).all()
        assert grown[0] + grown[1] == passed
        assert (grown <= passed).all()


@pytest.mark.parametrize("uptime_days", [0, 1, 365, 3650])
def test_an_idle_node_is_never_idle_for_more_than_all_of_the_time(uptime_days: int) -> None:
    """Neither a late answer nor the rounding of large numbers makes its rate exceed 1."""
    world = World(at_ms=START_MS)
    world.now_ms += uptime_days * 86_400_000
    points = []
    for wait_ms in (0, 4_001, 3_999, 4_503, 3_498, 400, 15_007):
        world.now_ms += wait_ms  # answers are late by as much as they like
        idle = next(s for s in samples(world.page()) if s.labels.get("mode") == "idle")
        assert idle.timestamp is not None
        points.append((round(float(idle.timestamp) * 1000), idle.value))
    for (t1, v1), (t2, v2) in pairwise(points):
        assert 0 <= (v2 - v1) / ((t2 - t1) / 1000) <= 1


def test_the_page_has_what_production_rules_read() -> None:
    world = World(a_share(cpu=0.25, memory=0.5))
    world.now_ms += 4_000
    page = {
        (s.name, *sorted(s.labels.items())): (s.value, s.timestamp) for s in samples(world.page())
    }
    instance, at = ("instance", "n1"), world.now_ms / 1000
    assert page == {
        ("node_cpu_seconds_total", ("cpu", "0"), instance, ("mode", "idle")): (3.0, at),
        ("node_cpu_seconds_total", ("cpu", "0"), instance, ("mode", "user")): (1.0, at),
        ("node_pressure_cpu_waiting_seconds_total", instance): (0.071428571, at),
        ("node_pressure_memory_waiting_seconds_total", instance): (0.142857142, at),
        ("node_memory_MemAvailable_bytes", instance): (64 * GIB, None),
        ("kube_node_role", instance, ("node", "n1"), ("role", "worker")): (1.0, None),
        (
            "kube_node_status_allocatable",
            instance,
            ("node", "n1"),
            ("resource", "cpu"),
            ("unit", "core"),
        ): (32.0, None),
        (
            "kube_node_status_allocatable",
            instance,
            ("node", "n1"),
            ("resource", "memory"),
            ("unit", "byte"),
        ): (128 * GIB, None),
    }
