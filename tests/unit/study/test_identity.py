"""Equal ids mean equal results: whatever decides an outcome changes the id."""

from typing import Any

import numpy as np
import pytest
from msgspec import structs

from builders.values.outcomes import a_course, a_scenario, an_outcome
from trimtab.model.load.curve import Constant
from trimtab.sim.spec import Restraint, RunSpec, Timing
from trimtab.study.inputs.identity import cell_id, digest, run_id, versions

SPEC = RunSpec(a_scenario())
VM, *OTHERS = SPEC.scenario.vms


def id_of(spec: RunSpec, own_score: str | None = None) -> str:
    return cell_id(spec, digest(spec.scenario), own_score)


@pytest.mark.parametrize(
    "changes",
    [
        {"score": "max_metric"},
        {"score": None},
        {"policy": "apiVersion: descheduler/v1alpha2"},
        {"thresholds": (0.0, 20.0)},
        {"limits": (5, 3)},
        {"placement": "binpack"},
        {"victims": "best-fit"},
        {"restraint": Restraint(cooldown_s=1)},
        {"timing": Timing(descheduling_s=61)},
        {"scenario": a_scenario(nodes=5)},
        {
            "scenario": structs.replace(
                SPEC.scenario, vms=(structs.replace(VM, cpu_load=Constant(0.51)), *OTHERS)
            )
        },
    ],
    ids=lambda changes: ", ".join(changes),
)
def test_each_input_changes_the_id(changes: dict[str, Any]) -> None:
    assert id_of(structs.replace(SPEC, **changes)) != id_of(SPEC)


def test_the_same_inputs_have_the_same_id() -> None:
    assert id_of(RunSpec(a_scenario())) == id_of(SPEC)


def test_the_text_of_a_score_of_ones_own_changes_the_id() -> None:
    assert len({id_of(SPEC), id_of(SPEC, "SCORE = a"), id_of(SPEC, "SCORE = b")}) == 3


def test_seeds_have_ids_of_their_own() -> None:
    cell = id_of(SPEC)
    assert len({run_id(cell, seed) for seed in range(100)}) == 100


def test_a_digest_sees_the_last_bit_of_a_course() -> None:
    course = a_course()
    nudged = course.cpu.copy()
    nudged[3, 2] = np.nextafter(nudged[3, 2], np.float32(2))
    same, other = (
        an_outcome(course=a_course()),
        an_outcome(course=structs.replace(course, cpu=nudged)),
    )
    assert digest(an_outcome(course=course)) == digest(same)
    assert digest(an_outcome(course=course)) != digest(other)


def test_the_code_that_decides_is_part_of_the_versions() -> None:
    assert len(versions().code) == 16
