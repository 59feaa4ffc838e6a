"""`lab up --with balancer`: modes, and what it refuses."""

from pathlib import Path

import pytest

from trimtab.cli.lab.stacks.balancer import acts, stack_for
from trimtab.cli.lab.stacks.loop import LoopOptions, choose
from trimtab.errors import ConfigError
from trimtab.lab.files.layout import Home

WITH = ["loop", "balancer"]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_a_new_lab_only_observes_and_leaves_the_descheduler_alone(home: Home) -> None:
    assert acts(home, "default", WITH, None) is False
    chosen = choose(home, "default", WITH, LoopOptions(), dry_run=False)
    assert chosen.stacks["loop"].settings["dry_run"] is False
    assert stack_for(home, "default", chosen, None).settings["mode"] == "observe"


def test_where_the_balancer_acts_the_descheduler_runs_dry(home: Home) -> None:
    wanted = acts(home, "default", WITH, "act")
    chosen = choose(home, "default", WITH, LoopOptions(), dry_run=wanted)
    assert chosen.stacks["loop"].settings["dry_run"] is True
    assert stack_for(home, "default", chosen, "act").settings["mode"] == "act"


def test_a_lab_without_a_balancer_is_as_before(home: Home) -> None:
    assert acts(home, "default", None, None) is None
    chosen = choose(home, "default", None, LoopOptions())
    with pytest.raises(ConfigError, match="add --with balancer"):
        stack_for(home, "default", chosen, "act")


def test_a_balancer_without_a_loop_is_refused(home: Home) -> None:
    chosen = choose(home, "default", ["balancer"], LoopOptions())
    with pytest.raises(ConfigError, match="add --with loop"):
        stack_for(home, "default", chosen, "act")


def test_it_may_act_on_vms_of_kubevirt(home: Home) -> None:
    chosen = choose(home, "default", [*WITH, "kubevirt"], LoopOptions())
    assert stack_for(home, "default", chosen, "act").settings["mode"] == "act"
