"""What a person sees of a run."""

from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from builders.worlds.sim import a_scenario, a_vm, nodes, one_hot_node
from trimtab.model.scenarios.scenario import Scenario
from trimtab.sim import simulate_one
from trimtab.sim.spec import RunSpec
from trimtab.view import sim as view
from trimtab.view import terminal
from trimtab.view.tables import pictures


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        pytest.param(0.0, "     ", id="empty"),
        pytest.param(0.5, "██   ", id="half"),
        pytest.param(0.53125, "██▏  ", id="an eighth more"),
        pytest.param(1.0, "████ ", id="full"),
        pytest.param(1.5, "████▶", id="more than full"),
    ],
)
def test_a_bar_is_as_long_as_its_share(share: float, expected: str) -> None:
    assert pictures.Bar(share).draw(5).plain == expected


def test_a_sparkline_has_a_dot_for_nothing_and_is_highest_at_the_top() -> None:
    assert pictures.sparkline(np.array([0.0, 0.1, 4.0, 8.0])) == "·▁▄█"
    assert pictures.sparkline(np.array([4.0, 4.0]), top=8.0) == "▄▄"
    assert pictures.sparkline(np.zeros(3)) == "···"


def test_a_long_run_is_drawn_in_as_many_columns_as_fit() -> None:
    found = pictures.buckets(np.arange(100.0), 10)
    assert found.tolist() == [9.0, 19.0, 29.0, 39.0, 49.0, 59.0, 69.0, 79.0, 89.0, 99.0]
    assert pictures.buckets(np.arange(3.0), 10).tolist() == [0.0, 1.0, 2.0]


def shown(scenario: Scenario, monkeypatch: pytest.MonkeyPatch) -> str:
    console = Console(record=True, width=200, file=StringIO())
    monkeypatch.setattr(view, "out", console)
    monkeypatch.setattr(terminal, "out", console)
    run = simulate_one(RunSpec(scenario), 1)
    nothing = simulate_one(RunSpec(scenario, score=None), 1)
    names = [node.name for node in scenario.nodes]
    view.show_run(view.RunComparison("the title", names, scenario.duration_s, run, nothing))
    return console.export_text()


def test_every_node_of_a_small_cluster_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(one_hot_node(4), monkeypatch)
    assert text.startswith("the title\n")
    lines = [line for line in text.splitlines() if line.startswith("n") and "→" in line]
    assert [line.split()[0] for line in lines] == ["n0", "n1", "n2", "n3"]
    assert "12 → " in lines[0]
    assert "75%" in lines[0]


def test_of_a_large_cluster_the_hottest_and_the_coolest_are_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    vms = [a_vm(f"v{i}", node=f"n{i}", cpu=i + 1) for i in range(30)]
    text = shown(a_scenario(nodes(30), vms, duration_s=120.0), monkeypatch)
    lines = [line.split()[0] for line in text.splitlines() if "→" in line]
    assert lines[:2] == ["n29", "n28"]
    assert lines[-1] == "n0"
    assert len(lines) == 20
    assert "… and 10 nodes in between" in text
