"""What keeps VMs where they are: cooldown and hysteresis."""

from itertools import pairwise

import pytest

from builders.worlds.sim import a_scenario, a_vm, nodes, one_hot_node
from trimtab.model.load.curve import Steps
from trimtab.sim import simulate_one
from trimtab.sim.outcome import Outcome
from trimtab.sim.spec import Restraint, RunSpec

HOUR = 3600.0
QUARTER = 900.0


def begins(outcome: Outcome) -> list[float]:
    return [move.requested_s for move in outcome.moves]


@pytest.mark.parametrize("victims", ["stock", "best-fit", "steepest-pair"])
def test_a_node_must_be_over_utilised_several_cycles_in_a_row(victims: str) -> None:
    spec = RunSpec(one_hot_node(), victims=victims, restraint=Restraint(consecutive=4))  # type: ignore[arg-type]
    assert begins(simulate_one(spec, 1))[0] == 180.0


def test_a_short_spike_moves_nothing_with_hysteresis() -> None:
    spike = Steps(((0.0, 0.2), (600.0, 1.0), (720.0, 0.2)))
    vms = [a_vm(f"s{i}", node="n0", load=spike) for i in range(6)]
    vms += [a_vm(f"v{n}{i}", node=f"n{n}", load=0.2) for n in (1, 2) for i in range(6)]
    scenario = a_scenario(nodes(3), vms, requests="overcommit")
    eager = simulate_one(RunSpec(scenario), 1)
    patient = simulate_one(RunSpec(scenario, restraint=Restraint(consecutive=5)), 1)
    assert eager.card.migrations > 0
    assert patient.card.migrations == 0


@pytest.mark.parametrize("victims", ["stock", "best-fit", "steepest-pair"])
def test_a_vm_in_its_cooldown_is_left_alone(victims: str) -> None:
    # One VM makes any node it is on the hottest: it is chased round the cluster for ever.
    vms = [a_vm("huge", node="n0", cpu=24, load=1.0)]
    vms += [a_vm(f"v{n}", node=f"n{n}", cpu=1) for n in range(4)]
    scenario = a_scenario(nodes(4), vms)

    def chased(restraint: Restraint) -> list[float]:
        spec = RunSpec(scenario, victims=victims, restraint=restraint)  # type: ignore[arg-type]
        outcome = simulate_one(spec, 1)
        return [move.requested_s for move in outcome.moves if move.vm == "huge"]

    free, held = chased(Restraint()), chased(Restraint(cooldown_s=QUARTER))
    assert len(free) > 10 if victims == "stock" else len(free) == 0
    gaps = [later - sooner for sooner, later in pairwise(held)]
    assert len(held) == (3 if victims == "stock" else 0)
    assert all(gap >= wait for gap, wait in zip(gaps, [QUARTER, 2 * QUARTER], strict=False))
