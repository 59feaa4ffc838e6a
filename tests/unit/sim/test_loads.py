"""What VMs use in each slice: exact means of their curves, in whole units."""

import numpy as np
import pytest

from builders.worlds.sim import a_scenario, a_vm, nodes
from trimtab.model.load.curve import Constant, Curve, Diurnal, Spikes, Steps, Trace, means
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
