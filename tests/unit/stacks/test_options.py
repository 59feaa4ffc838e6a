"""The options of `lab up` that concern the loop."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from builders.labs.lab import a_lab_on_disk, a_spec
from trimtab.cli.lab.stacks.loop import Chosen, LoopOptions, choose, default_scenario, nodes_for
from trimtab.errors import ConfigError
from trimtab.lab import inspection
from trimtab.lab.components.control_plane import PORTS as CONTROL_PLANE
from trimtab.lab.components.stack import Lab
from trimtab.lab.files.layout import Home
from trimtab.policy.file.default import DEFAULT_POLICY
from trimtab.stacks.loop.settings import LoopSettings
from trimtab.stacks.loop.stack import OPTIONAL_PORTS, PORTS

EXAMPLES = Path(__file__).parents[3] / "examples"


def files_of(chosen: Chosen, path: Path) -> dict[str, str]:
    spec = a_spec(ports=CONTROL_PLANE | PORTS | OPTIONAL_PORTS)
    lab = Lab(path, spec, lambda program: Path("/engines") / program)
    return dict(chosen.stacks["loop"].contribute(lab).files)


def a_stopped_loop(home: Home, **settings: Any) -> Path:
    kept = msgspec.to_builtins(LoopSettings(scenario="one-hot-node", **settings))
    lab = a_lab_on_disk(home.lab("default").path, stacks=("loop",), settings={"loop": kept})
    (lab.path / "config").mkdir()
    (lab.path / "config/wished.policy.yaml").write_text(DEFAULT_POLICY)
    return lab.path


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "state")


def test_a_new_lab_is_a_loop_with_one_hot_node(home: Home, tmp_path: Path) -> None:
    chosen = choose(home, "default", None, LoopOptions())
    assert chosen.names == ("loop",)
    assert chosen.scenario is not None
    assert chosen.scenario.name == "one-hot-node"
    assert nodes_for(chosen, None, None) == (5, "32", "128Gi", 110)
    files = files_of(chosen, tmp_path / "lab")
    assert files["config/wished.policy.yaml"] == DEFAULT_POLICY
    assert '"name":"one-hot-node"' in files["config/scenario.json"]


def test_none_is_a_bare_lab_and_the_loops_options_are_refused_for_it(home: Home) -> None:
    assert choose(home, "default", ["none"], LoopOptions()).names == ("none",)
    with pytest.raises(ConfigError, match="--algorithm belongs to the loop; add --with loop"):
        choose(home, "default", ["none"], LoopOptions(algorithm="cpu_focused"))


def test_a_resumed_loop_keeps_what_it_had(home: Home, tmp_path: Path) -> None:
    path = a_stopped_loop(home, interval_s=30.0, soft_taints=True)
    chosen = choose(home, "default", None, LoopOptions())
    assert chosen.names == ("loop",)
    assert chosen.scenario is None
    assert chosen.stacks["loop"].settings["interval_s"] == 30.0
    assert chosen.stacks["loop"].settings["soft_taints"] is True
    assert nodes_for(chosen, home.lab("default").read_spec(), None)[0] is None
    assert {"config/scenario.json", "config/wished.policy.yaml"}.isdisjoint(files_of(chosen, path))


def test_a_resumed_loop_takes_new_options(home: Home) -> None:
    path = a_stopped_loop(home)
    given = LoopOptions(algorithm="cpu_focused", interval="90s", migration="recreate")
    chosen = choose(home, "default", None, given)
    kept = chosen.stacks["loop"].settings
    assert (kept["interval_s"], kept["migration"]) == (90.0, "recreate")
    policy = files_of(chosen, path)["config/wished.policy.yaml"]
    assert "descheduler:node:cpu_focused:avg1m" in policy


def test_a_policy_file_and_a_score_go_together(home: Home, tmp_path: Path) -> None:
    file = EXAMPLES / "policies" / "deviation-10-10.yaml"
    chosen = choose(home, "default", None, LoopOptions(policy=file, algorithm="robust"))
    policy = files_of(chosen, tmp_path / "lab")["config/wished.policy.yaml"]
    assert "descheduler:node:robust:avg1m" in policy
    assert policy.count("MetricResource: 10") == 2


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        pytest.param(LoopOptions(algorithm="cpu"), "there is no such score", id="unknown score"),
        pytest.param(
            LoopOptions(policy=Path("/no/such.yaml")), "--policy /no/such.yaml", id="no policy"
        ),
        pytest.param(
            LoopOptions(scenario="/no/such.yaml"), "cannot read the scenario", id="no scenario"
        ),
        pytest.param(
            LoopOptions(interval="soon"), "--interval: 'soon' is not a duration", id="interval"
        ),
    ],
)
def test_a_mistake_is_told_before_anything_is_touched(
    home: Home, given: LoopOptions, problem: str
) -> None:
    with pytest.raises(ConfigError, match=problem):
        choose(home, "default", None, given)
    assert not home.path.exists()


def test_fewer_nodes_than_the_scenario_has_are_refused(home: Home) -> None:
    chosen = choose(home, "default", None, LoopOptions())
    with pytest.raises(ConfigError, match="--nodes 3: scenario one-hot-node has 5 nodes"):
        nodes_for(chosen, None, 3)


def test_a_running_loop_names_the_command_that_changes_it(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_stopped_loop(home)
    monkeypatch.setattr(inspection, "is_running", lambda _lab: True)
    with pytest.raises(ConfigError, match="while it runs, use: trimtab lab algorithm"):
        choose(home, "default", None, LoopOptions(algorithm="cpu_focused"))
    with pytest.raises(ConfigError, match="--interval cannot be taken; stop it first"):
        choose(home, "default", None, LoopOptions(interval="30s"))
    assert choose(home, "default", None, LoopOptions()).names == ("loop",)


def test_the_default_scenario_is_the_one_in_the_examples() -> None:
    assert default_scenario() == EXAMPLES / "scenarios" / "one-hot-node.yaml"
