"""A simulated run as pictures: the course of the nodes, the moves, the places at the end."""

from pathlib import Path

import pytest

from trimtab.errors import ConfigError
from trimtab.model.examples import folder
from trimtab.model.scenarios.io import load_scenario
from trimtab.sim.batch import simulate_one
from trimtab.sim.spec import RunSpec
from trimtab.study.pictures import pictures_of, run_pictures
from trimtab.study.run_directory import make_result, save


@pytest.fixture(scope="module")
def spec() -> RunSpec:
    return RunSpec(scenario=load_scenario(folder() / "scenarios/one-hot-node.yaml"))


def test_the_pictures_follow_the_course_and_end_where_the_run_ended(spec: RunSpec) -> None:
    outcome = simulate_one(spec, 1)
    pictures = list(pictures_of(spec.scenario, outcome))
    assert [picture.at for picture in pictures] == outcome.course.times.tolist()
    first, last = pictures[0], pictures[-1]
    assert {name: vm.node for name, vm in first.vms.items()} == outcome.placement_before
    assert {name: vm.node for name, vm in last.vms.items()} == outcome.placement_after
    assert last.cluster.moved == sum(move.outcome == "succeeded" for move in outcome.moves) > 0
    assert max(picture.cluster.over or 0 for picture in pictures) >= 1
    assert max(picture.cluster.moving for picture in pictures) >= 1
    for picture in pictures:
        for node in picture.nodes.values():
            assert node.percent is not None
            assert 0 <= node.percent <= 100
    assert max(node.percent or 0 for node in first.nodes.values()) > 1  # percent, not shares


def test_the_directory_of_a_run_is_simulated_again_to_the_same_pictures(
    spec: RunSpec, tmp_path: Path
) -> None:
    outcome = simulate_one(spec, 1)
    save(tmp_path / "run", spec, make_result(spec, 1, outcome, outcome), outcome, outcome)
    title, pictures = run_pictures(tmp_path / "run")
    assert spec.scenario.name in title
    assert pictures == list(pictures_of(spec.scenario, outcome))


def test_another_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="neither a run"):
        run_pictures(tmp_path)
