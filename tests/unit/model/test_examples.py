"""The example scenarios: each is small, explained, and shows what its comment says."""

from pathlib import Path

import numpy as np
import pytest

from trimtab.model.nodes_and_vms import requested
from trimtab.model.scenarios.io import load_scenario
from trimtab.model.scenarios.summary import NodeAtStart, doubts, summarise

SCENARIOS = Path(__file__).parents[3] / "examples" / "scenarios"
FILES = sorted(path for path in SCENARIOS.iterdir() if path.is_file())


def start(name: str) -> list[NodeAtStart]:
    return list(summarise(load_scenario(SCENARIOS / f"{name}.yaml")).nodes)


def default_score(nodes: list[NodeAtStart]) -> list[int]:
    """linear_amplified_ippd_k3 in whole percent, as the descheduler sees it."""
    inputs = [(n.cpu_use, n.cpu_pressure, n.memory_use, n.memory_pressure) for n in nodes]
    excess = np.maximum(np.array(inputs) - np.mean(inputs, axis=0), 0.0)
    return [int(100 * min(1.0, 3 * float(np.linalg.norm(row)))) for row in excess]


def over_utilised(nodes: list[NodeAtStart]) -> list[str]:
    """The nodes more than 10 points above the mean of the default score."""
    score = default_score(nodes)
    limit = min(sum(score) / len(score) + 10, 100)
    return [node.name for node, percent in zip(nodes, score, strict=True) if percent > limit]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_example_loads_and_is_small(path: Path) -> None:
    scenario = load_scenario(path)
    assert 1 <= len(scenario.nodes) <= 20
    assert 1 <= len(scenario.vms) <= 300
    assert list(doubts(scenario)) == []


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_example_is_named_like_its_file_and_says_what_it_shows(path: Path) -> None:
    scenario = load_scenario(path)
    assert scenario.name == path.stem
    assert scenario.description
    assert path.read_text().startswith("# ")


def test_one_hot_node_has_one_node_to_relieve_and_room_for_its_vms() -> None:
    nodes = start("one-hot-node")
    assert over_utilised(nodes) == ["kwok-node-1"]
    assert 12 <= nodes[0].vms <= 20
    assert 0.35 <= np.mean([node.cpu_use for node in nodes]) <= 0.45


def test_one_hot_node_can_become_level() -> None:
    """Moving the hottest node's largest VM that fits to the coolest, a dozen times, is enough."""
    scenario = load_scenario(SCENARIOS / "one-hot-node.yaml")
    load = {node.name: 0.0 for node in scenario.nodes}
    for vm in scenario.vms:
        load[str(vm.node)] += float(requested(vm, "consumption")[0]) / 32
    hot = [float(requested(vm, "consumption")[0]) / 32 for vm in scenario.vms[:18]]
    for share in sorted(hot, reverse=True):
        coolest = min(load, key=lambda name: load[name])
        if load["kwok-node-1"] - share >= load[coolest]:
            load["kwok-node-1"] -= share
            load[coolest] += share
    assert max(load.values()) - min(load.values()) < 0.1


def test_balanced_has_nothing_to_do() -> None:
    assert over_utilised(start("balanced")) == []
    assert default_score(start("balanced")) == [0] * 5


def test_memory_bound_is_bound_by_memory_alone() -> None:
    nodes = start("memory-bound")
    assert over_utilised(nodes) == ["node-1", "node-2"]
    assert len({node.cpu_use for node in nodes}) == 1


def test_opposed_loads_hide_from_sums_and_from_the_excess_over_the_mean() -> None:
    nodes = start("cpu-and-memory-opposed")
    assert over_utilised(nodes) == []
    sums = [node.cpu_use + node.memory_use for node in nodes]
    assert max(sums) - min(sums) < 0.06
    assert max(node.cpu_use for node in nodes) - min(node.cpu_use for node in nodes) > 0.6


def test_small_nodes_are_the_hot_ones_where_sizes_differ() -> None:
    assert over_utilised(start("heterogeneous-nodes")) == [
        "small-1",
        "small-2",
        "small-3",
        "small-4",
    ]


def test_the_huge_vm_fits_nowhere_else() -> None:
    scenario = load_scenario(SCENARIOS / "huge-vm.yaml")
    wanted = float(requested(scenario.vms[0], scenario.requests)[0])
    nodes = start("huge-vm")
    assert over_utilised(nodes) == ["node-1"]
    assert all(32 * (1 - node.cpu_use) < wanted for node in nodes[1:])


def test_a_day_moves_the_load_from_one_half_of_the_nodes_to_the_other() -> None:
    offices, *_, batch = summarise(load_scenario(SCENARIOS / "diurnal.yaml")).vms
    assert np.argmax(offices.cpu_use) == 14
    assert np.argmax(batch.cpu_use) in (2, 3)
    assert np.ptp(summarise(load_scenario(SCENARIOS / "diurnal.yaml")).cpu_use) < 0.01


def test_spikes_are_level_on_average() -> None:
    scenario = load_scenario(SCENARIOS / "spiky.yaml")
    means = {requested(vm, "consumption")[0] for vm in scenario.vms if vm.node is not None}
    assert len(means) == 1
