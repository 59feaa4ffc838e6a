"""Lower bounds of a run, computed by hand."""

import numpy as np
import pytest

from builders.worlds.sim import a_scenario, a_vm, nodes
from trimtab.sim.fleet import Fleet
from trimtab.sim.measures.card import Bounds, lower_bounds

NO_LIMITS = (None, None)


def bounds_of(
    placement: dict[str, list[float]], limits: tuple[int | None, int | None] = NO_LIMITS
) -> Bounds:
    """Nodes with VMs of so many cores in use; each VM uses 4 GiB."""
    vms = [
        a_vm(f"{node}-{i}", node=node, cpu=cores, memory=8, load=1.0, memory_load=0.5)
        for node, sizes in placement.items()
        for i, cores in enumerate(sizes)
    ]
    fleet = Fleet(a_scenario(nodes(len(placement), cpu=10, memory=1000), vms))
    cpu, memory = fleet.cpu_size, np.rint(fleet.memory_size * 0.5)
    return lower_bounds(fleet, fleet.first_node, cpu, memory, limits)


def test_a_level_cluster_needs_nothing() -> None:
    assert bounds_of({"n0": [2, 2], "n1": [4]}) == Bounds(0, 0.0, 0)


def test_a_node_within_the_band_needs_nothing() -> None:
    # 0.6 and 0.4 around a mean of 0.5: exactly at the band.
    assert bounds_of({"n0": [2, 2, 2], "n1": [4]}) == Bounds(0, 0.0, 0)


def test_the_fewest_moves_are_the_largest_vms() -> None:
    # Loads 0.9 and 0.1, mean 0.5, band 0.6: 3 cores have to go, 4 of 1 core or one of 5.
    assert bounds_of({"n0": [5, 1, 1, 1, 1], "n1": [1]}).migrations == 1
    assert bounds_of({"n0": [1] * 9, "n1": [1]}).migrations == 3


def test_the_least_memory_takes_the_last_vm_in_part() -> None:
    # 3 of 5 cores would do: 3/5 of 4 GiB.
    found = bounds_of({"n0": [5, 1, 1, 1, 1], "n1": [1]})
    assert found.gb == pytest.approx(0.6 * 4 * 1024**3 / 1e9)


def test_memory_alone_can_force_moves() -> None:
    vms = [a_vm(f"v{i}", node="n0", memory=20, memory_load=1.0, load=0.0) for i in range(4)]
    fleet = Fleet(a_scenario(nodes(2, memory=100), vms))
    memory = np.rint(fleet.memory_size)
    # 0.8 and 0: mean 0.4, band 0.5: 30 GiB have to go, two VMs.
    found = lower_bounds(fleet, fleet.first_node, np.zeros(4), memory, NO_LIMITS)
    assert found.migrations == 2
    assert found.gb == pytest.approx(30 * 1024**3 / 1e9, rel=1e-6)


def test_a_node_that_both_resources_overload_counts_once() -> None:
    vms = [a_vm(f"v{i}", node="n0", cpu=2, memory=20, memory_load=1.0, load=1.0) for i in range(4)]
    fleet = Fleet(a_scenario(nodes(2, cpu=10, memory=100), vms))
    cpu, memory = np.rint(fleet.cpu_size), np.rint(fleet.memory_size)
    assert lower_bounds(fleet, fleet.first_node, cpu, memory, NO_LIMITS).migrations == 2
