"""Scenarios as a lab plays them."""

from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from trimtab.errors import ConfigError
from trimtab.kube.virtual_machines import INITIAL_NODE
from trimtab.model.load.curve import Trace
from trimtab.model.nodes_and_vms import Node, Taint
from trimtab.model.scenarios.io import load_scenario
from trimtab.stacks.loop.scenario.objects import Script, left_out, script_of, shape
from trimtab.stacks.loop.scenario.player import AHEAD, STALLED_S, Pace, read_script
from trimtab.stacks.loop.settings import LoopSettings, following, from_lab

EXAMPLES = Path(__file__).parents[3] / "examples" / "scenarios"


def script(name: str) -> Script:
    return script_of(load_scenario(EXAMPLES / name))


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_example_becomes_a_script_that_survives_its_file(path: Path) -> None:
    made = script_of(load_scenario(path))
    assert made.vms or made.events
    kept = read_script(msgspec.json.encode(made), "scenario.json")
    assert kept.digest == made.digest


def test_vms_start_where_the_scenario_puts_them_by_the_labs_names() -> None:
    made = script("memory-bound.yaml")
    starts = {vm["metadata"]["annotations"][INITIAL_NODE] for vm in made.vms}
    assert starts <= {node.name for node in made.nodes}
    assert [node.name for node in made.nodes[:2]] == ["kwok-node-1", "kwok-node-2"]
    assert made.nodes[0].open["metadata"]["labels"]["trimtab.dev/scenario-node"] == "node-1"


def test_nodes_keep_their_sizes() -> None:
    scenario = load_scenario(EXAMPLES / "heterogeneous-nodes.yaml")
    sizes = [node.status["status"]["allocatable"]["cpu"] for node in script_of(scenario).nodes]
    assert sizes == [str(node.cpu) for node in scenario.nodes]
    assert len(set(sizes)) > 1


def test_a_node_is_cordoned_and_tainted_only_when_its_vms_run() -> None:
    taint = Taint("dedicated", "db")
    node = shape(Node("n", unschedulable=True, taints=(taint,)), "kwok-node-1")
    assert node.open["spec"] == {"unschedulable": None, "taints": None}
    tainted = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}
    assert node.closed == {"spec": {"unschedulable": True, "taints": [tainted]}}
    assert shape(Node("n"), "kwok-node-1").closed == {}


def test_vms_that_arrive_later_wait_and_events_are_in_order() -> None:
    made = script("arrivals-and-failures.yaml")
    arriving = [event for event in made.events if event.what == "arrive"]
    assert arriving
    assert all(event.vm is not None and event.vm not in made.vms for event in arriving)
    assert [event.at for event in made.events] == sorted(event.at for event in made.events)


def test_a_vm_that_arrives_at_the_very_start_is_there_and_does_not_arrive_again() -> None:
    scenario = load_scenario(EXAMPLES / "arrivals-and-failures.yaml")
    at_once = tuple(
        structs.replace(event, at=0.0) if event.what == "arrive" else event
        for event in scenario.events
    )
    made = script_of(structs.replace(scenario, events=at_once))
    assert len(made.vms) == len(scenario.vms)
    assert "arrive" not in {event.what for event in made.events}


def test_another_run_of_the_same_script_is_another_script() -> None:
    made = script("one-hot-node.yaml")
    assert structs.replace(made, run=2).digest != made.digest


def test_a_trace_that_no_object_can_hold_is_refused() -> None:
    scenario = load_scenario(EXAMPLES / "one-hot-node.yaml")
    long = structs.replace(scenario.vms[0], cpu_load=Trace((0.5,) * 2001))
    with pytest.raises(ConfigError, match="its trace has 2001 values"):
        script_of(structs.replace(scenario, vms=(long,)))


def test_what_a_lab_leaves_out_is_said() -> None:
    scenario = load_scenario(EXAMPLES / "one-hot-node.yaml")
    assert left_out(scenario) == []
    urgent = structs.replace(scenario.vms[0], priority=5)
    failing = structs.replace(scenario.migration, failure_rate=0.1)
    changed = structs.replace(scenario, vms=(urgent,), migration=failing)
    assert [text.partition(":")[0] for text in left_out(changed)] == [
        "vms.priority",
        "migration.failureRate",
    ]


def test_settings_follow_the_scenario_and_survive_the_labs_file() -> None:
    scenario = load_scenario(EXAMPLES / "overcommitted.yaml")
    settings = following(LoopSettings(interval_s=30.0, soft_taints=True), scenario)
    assert settings.requests == scenario.requests == "overcommit"
    assert (settings.interval_s, settings.soft_taints) == (30.0, True)
    kept = msgspec.json.decode(msgspec.json.encode(settings))
    assert from_lab(kept) == settings


def test_more_vms_are_created_while_few_are_on_their_way_or_once_nothing_moves() -> None:
    pace = Pace()
    assert pace.may_go_on(0, 0.0)
    assert not pace.may_go_on(AHEAD + 50, 1.0)
    assert not pace.may_go_on(AHEAD + 1, 100.0), "it moves: 49 arrived"
    assert pace.may_go_on(AHEAD, 200.0)
    assert not pace.may_go_on(AHEAD + 90, 300.0)
    assert not pace.may_go_on(AHEAD + 90, 300.0 + STALLED_S)
    assert pace.may_go_on(AHEAD + 90, 301.0 + STALLED_S), "they fit nowhere"
    assert pace.may_go_on(AHEAD + 190, 302.0 + STALLED_S), "which is waited for once"
    assert not pace.may_go_on(2 * AHEAD + 91, 400.0), "but no more than before are on their way"
