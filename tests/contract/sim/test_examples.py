"""Every scenario and every policy that ships runs, and does what it is there for."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from builders.worlds.sim import a_scenario, a_vm, nodes, one_hot_node
from trimtab.model.scenarios.io import load_scenario
from trimtab.sim import simulate_one
from trimtab.sim.outcome import Outcome
from trimtab.sim.spec import RunSpec

EXAMPLES = Path(__file__).parents[3] / "examples"
SCENARIOS = sorted((EXAMPLES / "scenarios").glob("*.yaml"))
POLICIES = sorted((EXAMPLES / "policies").glob("*.yaml"))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_an_example_scenario_runs_without_an_error(path: Path) -> None:
    scenario = replace(load_scenario(path), duration_s=900.0)
    outcome = simulate_one(RunSpec(scenario), 1)
    assert not [line for line in outcome.errors if line.startswith("cycle")]
    assert len(outcome.placement_after) > 0.9 * len(outcome.placement_before)


@pytest.mark.parametrize("path", POLICIES, ids=lambda path: path.stem)
def test_an_example_policy_decides_in_every_cycle(path: Path) -> None:
    spec = RunSpec(one_hot_node(duration_s=600.0), policy=path.read_text())
    assert simulate_one(spec, 1).errors == ()


REQUESTS = """\
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: requests
  pluginConfig:
  - name: LowNodeUtilization
    args: {thresholds: {memory: 20}, targetThresholds: {memory: 50}}
  - {name: DefaultEvictor, args: {nodeFit: true}}
  plugins: {balance: {enabled: [LowNodeUtilization]}}
"""


def under(policy: str) -> Outcome:
    """A node with 20 of 32 cores requested, one with 4, one with none."""
    vms = [a_vm(f"hot{i}", node="n0", cpu=4, memory=16, memory_load=1.0) for i in range(7)]
    vms += [a_vm("cool", node="n1", cpu=4, memory=16, memory_load=1.0)]
    text = REQUESTS if policy == REQUESTS else (EXAMPLES / "policies" / policy).read_text()
    return simulate_one(RunSpec(a_scenario(nodes(3), vms, duration_s=900.0), policy=text), 1)


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param(REQUESTS, id="requests"),
        pytest.param("metrics-server.yaml", id="metrics server"),
        pytest.param("static-thresholds.yaml", id="levels instead of distances"),
    ],
)
def test_other_sources_of_usage_relieve_the_hot_node_too(policy: str) -> None:
    outcome = under(policy)
    assert outcome.card.migrations > 0
    assert {move.source for move in outcome.moves} == {"n0"}


def test_a_vm_is_its_only_replica() -> None:
    assert under("requests.yaml").moves == ()  # the policy asks for two


def test_high_node_utilization_empties_the_least_used_node() -> None:
    outcome = under("high-node-utilization.yaml")
    assert outcome.moves[0].source == "n1"
