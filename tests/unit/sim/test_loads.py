"""What VMs use in each slice: exact means of their curves, in whole units."""

import pickle

import numpy as np
import pytest

from builders.worlds.sim import a_scenario, a_vm, nodes
from trimtab.model.load.columns import traces_in
from trimtab.model.load.curve import (
    Constant,
    Curve,
    Diurnal,
    Spikes,
    Steps,
    Trace,
    overall_mean,
    value_at,
)
from trimtab.model.load.curve_means import means
from trimtab.sim.fleet import Fleet
from trimtab.sim.loads import Loads

EDGES = np.array([0.0, 60.0, 120.0, 300.0, 450.0, 900.0, 1000.0, 1003.0])
CURVES: list[Curve] = [
    Constant(0.3),
    Diurnal(0.1, 0.9, peak_at=500.0, period=1200.0),
    Trace((0.2, 0.7, 0.4), interval=100.0),
    Trace((0.2, 0.7, 0.4), interval=100.0, repeat=False),
    Trace((0.9, 0.1), interval=45.0),
    Steps(((0.0, 0.1), (130.0, 0.8), (400.0, 0.2)), repeat=500.0),
    Spikes(0.1, 0.9, every=200.0, lasts=30.0, seed=3),
]


def loads_of(curves: list[Curve]) -> Loads:
    vms = [a_vm(f"v{i}", cpu=8, load=curve) for i, curve in enumerate(curves)]
    return Loads(Fleet(a_scenario(nodes(1), vms)), EDGES)


@pytest.mark.parametrize("slice_", range(len(EDGES) - 1))
def test_every_curve_gives_its_exact_mean_over_the_slice(slice_: int) -> None:
    loads = loads_of(CURVES)
    loads.enter(slice_)
    expected = [means(curve, EDGES)[slice_] * 8 / 32 * 1e9 for curve in CURVES]
    np.testing.assert_allclose(loads.cpu, expected, atol=0.51, rtol=0)


def test_loads_are_whole_units_so_that_sums_are_exact() -> None:
    loads = loads_of(CURVES)
    loads.enter(4)
    assert np.array_equal(loads.cpu, np.rint(loads.cpu))
    assert loads.cpu.sum() == loads.cpu[::-1].sum()


def test_vms_that_share_a_curve_share_its_evaluation_but_not_its_size() -> None:
    curve = Trace((0.5, 0.25), interval=60.0)
    vms = [a_vm("small", cpu=1, load=curve), a_vm("big", cpu=16, load=curve)]
    loads = Loads(Fleet(a_scenario(nodes(1), vms)), EDGES)
    loads.enter(1)
    assert loads.cpu.tolist() == [0.25 / 32 * 1e9, 0.25 * 16 / 32 * 1e9]


def test_the_array_is_a_new_one_only_when_a_load_may_have_changed() -> None:
    loads = loads_of([Constant(0.5), Trace((0.2, 0.7), interval=120.0)])
    cpu, memory = [], []
    for slice_ in range(3):
        loads.enter(slice_)
        cpu.append(loads.cpu)
        memory.append(loads.memory)
    assert cpu[0] is cpu[1]
    assert cpu[1] is not cpu[2]
    assert memory[0] is memory[1] is memory[2]


def test_a_vm_that_is_not_there_uses_nothing() -> None:
    loads = loads_of([Constant(0.5), Constant(0.5)])
    loads.set_present(1, False)
    assert loads.cpu.tolist() == [125e6, 0.0]
    loads.set_present(1, True)
    assert loads.cpu.tolist() == [125e6, 125e6]


def test_what_was_measured_is_the_slice_before() -> None:
    loads = loads_of([Trace((0.2, 0.8), interval=60.0)])
    loads.enter(0)
    loads.enter(1)
    assert loads.measured[0].tolist() == [0.2 * 8 / 32 * 1e9]
    assert loads.cpu.tolist() == [0.8 * 8 / 32 * 1e9]


def test_a_cluster_without_vms_has_no_loads() -> None:
    loads = Loads(Fleet(a_scenario(nodes(2), [])), EDGES)
    loads.enter(0)
    assert loads.cpu.shape == (0,)


@pytest.mark.parametrize("picked", [[0, 1, 2], [2, 0], [1]])
def test_traces_that_share_a_table_give_the_loads_of_traces_of_their_own(picked: list[int]) -> None:
    table = np.random.default_rng(3).random((7, 3)).astype(np.float32)
    own = [Trace(tuple(column), 130.0) for column in table.T.astype(float).tolist()]
    shared: list[Curve] = [traces_in(table, 130.0)[at] for at in picked]
    expected, found = loads_of([own[at] for at in picked]), loads_of(shared)
    for slice_ in range(len(EDGES) - 1):
        expected.enter(slice_)
        found.enter(slice_)
        assert np.array_equal(found.cpu, expected.cpu)


def test_a_trace_in_a_table_is_as_good_as_one_of_its_own() -> None:
    table = np.array([[0.25, 0.5], [0.75, 1.0]], dtype=np.float32)
    first, second = traces_in(table, 60.0)
    own = Trace((0.25, 0.75), 60.0)
    assert first == own
    assert hash(first) == hash(own)
    assert first != second
    assert pickle.loads(pickle.dumps(second)) == second
    assert (value_at(second, 70.0), overall_mean(first)) == (1.0, 0.5)
    assert means(second, EDGES).tolist() == means(Trace((0.5, 1.0), 60.0), EDGES).tolist()
    mixed = loads_of([first, own])
    mixed.enter(1)
    assert mixed.cpu[0] == mixed.cpu[1]


def test_loads_are_the_same_whether_vms_share_curves_or_have_equal_ones() -> None:
    """Of many VMs with few curves, a load is computed for each curve and size only."""
    values = ((0.31, 0.77, 0.123), (0.9, 0.4, 0.05))
    curves = [Trace(each, interval=100.0) for each in values]
    cpu = [(1, 3)[at % 2] for at in range(40)]
    shared = [a_vm(f"v{at}", cpu=cpu[at], load=curves[at // 2 % 2]) for at in range(40)]
    alone = [
        a_vm(f"v{at}", cpu=cpu[at], load=Trace(values[at // 2 % 2], interval=100.0))
        for at in range(40)
    ]
    both = [Loads(Fleet(a_scenario(nodes(1), vms)), EDGES) for vms in (shared, alone)]
    for slice_ in range(len(EDGES) - 1):
        for loads in both:
            loads.enter(slice_)
        assert np.array_equal(both[0].cpu, both[1].cpu)
        assert len(set(both[0].cpu.tolist())) == 4
