"""Scenarios: read from a request, acted out in memory, shown."""

from pathlib import Path

import msgspec
import pytest

from builders.values.exporter import samples
from trimtab.errors import ConfigError
from trimtab.exporter.http.api import Feedback, MigrationWish, NodeVms
from trimtab.exporter.http.body import decode, read_scenario
from trimtab.exporter.http.openapi import generate
from trimtab.exporter.http.problems import Refused, field_in, problem_of
from trimtab.exporter.nodes.page import MetricsPage
from trimtab.exporter.nodes.pareto_sampler import compute
from trimtab.exporter.scenario.in_memory import InMemoryCluster
from trimtab.exporter.scenario.loading import warnings
from trimtab.exporter.scenario.scenario_view import nodes_with_vms
from trimtab.kube.scenario.objects import first_vms
from trimtab.model.load.pressure_curve import DEFAULT_PRESSURE
from trimtab.model.scenarios.io import load_scenario

EXAMPLES = Path(__file__).parents[3] / "examples" / "scenarios"
CLASSIC = """{"nodes": [
  {"name": "n1", "vms": [
    {"id": "vm-1", "cpu_consumption": 0.05, "memory_consumption": 0.08},
    {"id": "vm-2", "cpu_consumption": 0.5, "memory_consumption": 0.25}]},
  {"name": "n2", "vms": []},
  {"name": "n3", "vms": []}]}"""
OURS = """
name: small
nodes: [{name: n, count: 2, cpu: 16, memory: 64Gi}]
vms:
  - {name: fixed, cpu: 8, memory: 16Gi, node: n-1, utilization: {cpu: 1, memory: 0.5}}
  - name: curved
    cpu: 4
    memory: 8Gi
    load: {cpu: {type: diurnal, low: 0.2, high: 0.8}}
"""


async def in_memory(text: str) -> InMemoryCluster:
    memory = InMemoryCluster(now=lambda: 1000.0)
    await memory.load(read_scenario(text.encode()).scenario)
    return memory


def shown(memory: InMemoryCluster) -> list[NodeVms]:
    return nodes_with_vms(memory.ledger, 0.0, memory.namespace, memory.is_of_scenario)


async def test_a_seed_scenario_is_shown_as_it_was_posted() -> None:
    memory = await in_memory(CLASSIC)
    assert msgspec.to_builtins(shown(memory)) == msgspec.json.decode(CLASSIC)["nodes"]


async def test_what_is_shown_can_be_posted_again() -> None:
    once = shown(await in_memory(CLASSIC))
    again = await in_memory(msgspec.json.encode({"nodes": once, "unplaced": []}).decode())
    assert shown(again) == once


async def test_a_vm_without_a_node_goes_where_it_is_least_full() -> None:
    memory = await in_memory(OURS)
    assert {node.name: [vm.id for vm in node.vms] for node in shown(memory)} == {
        "n-1": ["fixed"],
        "n-2": ["curved"],
    }
    assert memory.unplaced() == []


async def test_another_scenario_replaces_the_first() -> None:
    memory = await in_memory(CLASSIC)
    await memory.load(read_scenario(OURS.encode()).scenario)
    assert [node.name for node in shown(memory)] == ["n-1", "n-2"]


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.yaml")), ids=lambda file: file.stem)
async def test_every_example_acts_in_memory(file: Path) -> None:
    scenario, memory = load_scenario(file), InMemoryCluster()
    await memory.load(scenario)
    assert sum(len(node.vms) for node in shown(memory)) == len(first_vms(scenario))


@pytest.mark.parametrize(
    ("wish", "node", "error"),
    [
        pytest.param(MigrationWish("vm-1", "n1", "n3"), "n3", "", id="to a node"),
        pytest.param(MigrationWish("vm-1", "n1"), "n2", "", id="to wherever there is room"),
        pytest.param(MigrationWish("default/vm-1", "n1"), "n2", "", id="by its full name"),
        pytest.param(MigrationWish("vm-9", "n1"), None, "no VM", id="a VM that is not"),
        pytest.param(MigrationWish("vm-1", "n2"), "n1", 'on node "n1"', id="a VM from elsewhere"),
        pytest.param(MigrationWish("vm-1", "n1", "n9"), "n1", "no node", id="to no node"),
        pytest.param(MigrationWish("vm-1", "n1", "n1"), "n1", "no other", id="to where it is"),
    ],
)
async def test_a_move_is_answered_with_where_the_vm_is(
    wish: MigrationWish, node: str | None, error: str
) -> None:
    memory = await in_memory(CLASSIC)
    (moved,) = await memory.migrate([wish])
    assert (moved.actual_node, bool(moved.error)) == (node, bool(error))
    assert error in moved.error
    places = {vm.id: each.name for each in shown(memory) for vm in each.vms}
    assert places["vm-1"] == (node or "n1")


@pytest.mark.parametrize(
    ("body", "field", "said"),
    [
        pytest.param("name: x", "nodes", "is missing", id="a field that is missing"),
        pytest.param(OURS.replace("16Gi", "lots"), "vms[0].memory", "lots", id="no quantity"),
        pytest.param(OURS.replace("node: n-1", "node: n-9"), "", "n-9", id="no such node"),
        pytest.param(
            OURS.replace("name: fixed", "name: fixed, count: 30000"),
            "vms[0].count",
            "20000",
            id="more VMs than anybody can hold",
        ),
        pytest.param(
            OURS.replace("count: 2", "count: 9999999999"), "nodes[0].count", "20000", id="and nodes"
        ),
        pytest.param(
            CLASSIC.replace("0.05", '"much"'),
            "scenario[0].vms[0].cpu_consumption",
            "number",
            id="node-classifier-sim's JSON",
        ),
        pytest.param(
            OURS.replace("name: fixed", "name: fixed, trace: {file: /etc/passwd}"),
            "",
            "trace",
            id="a file of this computer",
        ),
    ],
)
def test_a_wrong_scenario_is_refused_by_field(body: str, field: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_scenario(body.encode())
    problem = problem_of(caught.value)
    assert (problem.status, said in problem.detail) == (422, True)
    if field:
        assert problem.field == field


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(Refused, match="UTF-8"):
        read_scenario(b"\xff\xfe")


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        pytest.param(b"{", 400, "", id="not JSON"),
        pytest.param(b"[]", 422, "", id="not an object"),
        pytest.param(b"{}", 422, "", id="without migrations"),
        pytest.param(b'{"migrations": [{"vm_id": 5}]}', 422, "migrations[0].vm_id", id="a number"),
        pytest.param(
            b'{"migrations": [{"vm_id": "", "from_node": "n"}]}',
            422,
            "migrations[0].vm_id",
            id="empty",
        ),
        pytest.param(
            b'{"migrations": [{"vm_id": "a", "from_node": "n", "to": "m"}]}',
            422,
            "migrations[0]",
            id="a word that is not known",
        ),
        pytest.param(
            b'{"migrations": [%s]}' % b",".join([b'{"vm_id": "a", "from_node": "n"}'] * 1001),
            422,
            "migrations",
            id="too many",
        ),
    ],
)
def test_wrong_feedback_is_refused_by_field(body: bytes, status: int, field: str) -> None:
    with pytest.raises(Refused) as caught:
        decode(body, Feedback)
    assert (caught.value.problem.status, caught.value.problem.field) == (status, field)


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("vms[2].cpu: 'x' is not a quantity", "vms[2].cpu"),
        ("apiVersion: not known", "apiVersion"),
        ('vm "web": no node', ""),
        ("no colon at all", ""),
    ],
)
def test_the_field_is_what_an_error_begins_with(text: str, field: str) -> None:
    assert field_in(text) == field


def test_a_node_that_the_cluster_does_not_have_is_left_to_the_scheduler() -> None:
    scenario = read_scenario(OURS.encode()).scenario
    (line,) = warnings(scenario, ["other"], DEFAULT_PRESSURE)
    assert '"n-1"' in line


def test_what_a_cluster_cannot_take_from_a_scenario_is_said() -> None:
    scenario = load_scenario(EXAMPLES / "arrivals-and-failures.yaml")
    nodes = [node.name for node in scenario.nodes]
    assert any(line.startswith("events:") for line in warnings(scenario, nodes, DEFAULT_PRESSURE))


def test_with_kubevirt_the_options_that_copy_memory_are_the_players() -> None:
    text = OURS.replace("small", "asks\nrequests: overcommit").replace(
        "cpu: 8,", "cpu: 8, dirtyRate: 1Mi,"
    )
    scenario = read_scenario(text.encode()).scenario
    (line,) = warnings(scenario, ["n-1"], DEFAULT_PRESSURE, "kubevirt")
    assert line == "vms.dirtyRate: it is an option of the virt-handler-player (--dirty-rate)"


@pytest.mark.parametrize("nodes", [2, 60], ids=["a small cluster", "a large one"])
async def test_every_metric_is_in_the_reference(nodes: int) -> None:
    memory = InMemoryCluster(now=lambda: 1000.0)
    await memory.load(read_scenario(OURS.replace("count: 2", f"count: {nodes}").encode()).scenario)
    page = MetricsPage(memory, production=True)
    if page.fronts.sample():
        page.fronts.latest = compute(list(page.fronts._samples))
    names = {each.name for each in samples(page.nodes())}
    reference = (EXAMPLES.parents[1] / "docs" / "reference" / "exporter.md").read_text()
    assert [name for name in sorted(names) if f"`{name}`" not in reference] == []
    assert ("trimtab_node_pareto_front" in names) == (nodes > 50)


def test_the_description_is_up_to_date() -> None:
    for path, text in generate().items():
        assert (EXAMPLES.parents[1] / path).read_text() == text, "run: make generate"
