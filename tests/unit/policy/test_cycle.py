"""Which nodes a cycle looks at, and when it ends before it starts (R, 1.5, T2–T4, C)."""

import pytest

from builders.worlds.policy import a_low, a_node, a_policy, a_view, nano, some_pods
from trimtab.policy.cycle import Class
from trimtab.policy.decision import decide
from trimtab.policy.file.selector_text import parse_selector
from trimtab.policy.file.settings import LowNodeUtilization, Policy, Profile, UsageSource
from trimtab.policy.view import PlainNode, View

SELECTOR = {"node_selector": parse_selector("role=worker", "nodeSelector")}
WORKER = {"role": "worker"}


def test_only_matching_nodes_that_are_not_known_to_be_unready_count() -> None:
    """R3: no Ready condition is as good as True, and a cordoned node stays."""
    nodes = [
        a_node("ready", labels=WORKER),
        a_node("silent", labels=WORKER, ready=None),
        a_node("cordoned", labels=WORKER, unschedulable=True),
        a_node("unready", labels=WORKER, ready=False),
        a_node("other", labels={"role": "infra"}),
    ]
    cycle = decide(a_view([1, 2, 3, 4, 5], nodes=nodes), a_policy(policy=SELECTOR))
    assert cycle.nodes == ("ready", "silent", "cordoned")


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_nodes_skip_the_cycle(count: int) -> None:
    """R4."""
    cycle = decide(a_view([80] * count), a_policy())
    assert cycle.skipped is not None
    assert cycle.skipped.rule == "R4"
    assert cycle.runs == ()


def test_an_unready_node_may_leave_too_few() -> None:
    nodes = [a_node("n0"), a_node("n1", ready=False)]
    assert decide(a_view([80, 10], nodes=nodes), a_policy()).skipped is not None


@pytest.mark.parametrize(
    ("percents", "number_of_nodes", "rule"),
    [
        pytest.param([50, 50, 90], 0, "1.5.1", id="no node is under"),
        pytest.param([10, 50, 90], 1, "1.5.2", id="as many under as numberOfNodes"),
        pytest.param([10, 10, 90], 1, None, id="one more than numberOfNodes"),
        pytest.param([10, 10, 10], 0, "1.5.3", id="all nodes are under"),
        pytest.param([10, 10, 10], 3, "1.5.2", id="numberOfNodes is tested before all"),
        pytest.param([10, 50, 50], 0, "1.5.4", id="no node is over"),
        pytest.param([10, 50, 90], -1, None, id="a negative numberOfNodes is accepted and moot"),
    ],
)
def test_early_exits_come_in_their_order(
    percents: list[float], number_of_nodes: int, rule: str | None
) -> None:
    """1.5."""
    policy = a_policy(20, 70, deviation=False, number_of_nodes=number_of_nodes)
    (run,) = decide(a_view(percents), policy).runs
    assert (run.exit.rule if run.exit else None) == rule
    assert bool(list(run.evictions)) == (rule is None)


def test_a_cordoned_node_is_a_source_but_no_destination() -> None:
    """C4."""
    nodes = [a_node("hot", unschedulable=True), a_node("idle", unschedulable=True), a_node("cool")]
    (run,) = decide(a_view([90, 5, 10], nodes=nodes), a_policy(20, 70, deviation=False)).runs
    assert run.figures is not None
    assert run.figures.classes.tolist() == [Class.OVER, Class.APPROPRIATE, Class.UNDER]
    assert run.destinations == (2,)
    assert [e.node for e in run.evictions] == ["hot"]


def test_cordoned_nodes_are_part_of_the_mean() -> None:
    """T4."""
    nodes = [a_node("n0"), a_node("n1"), a_node("n2", unschedulable=True)]
    (run,) = decide(a_view([10, 20, 90], nodes=nodes), a_policy()).runs
    assert run.figures is not None
    assert run.figures.average == {"MetricResource": 40.0}


def test_static_thresholds_are_levels_and_there_is_no_average() -> None:
    """T3."""
    (run,) = decide(a_view([80, 10]), a_policy(20, 70, deviation=False)).runs
    assert run.figures is not None
    assert run.figures.average is None
    assert (run.figures.low, run.figures.high) == ({"MetricResource": 20}, {"MetricResource": 70})


@pytest.mark.parametrize("broken", ["prometheus client not initialized", "metrics source is empty"])
def test_a_source_that_cannot_work_fails_every_cycle(broken: str) -> None:
    """P11: the process goes on (R5)."""
    (run,) = decide(a_view(), a_policy(broken=broken)).runs
    assert run.error is not None
    assert run.error.rule == "P11"
    assert run.error.text == f"error initializing usage client: {broken}"


def test_an_error_of_one_profile_does_not_stop_the_next() -> None:
    """R5, and the limits are shared: the total holds for both."""
    good = LowNodeUtilization(
        low={"MetricResource": 0},
        high={"MetricResource": 10},
        deviation=True,
        source=UsageSource.PROMETHEUS,
        thresholds_only=True,
        node_limit=9,
    )
    profiles = tuple(
        Profile(name=name, plugins=(("LowNodeUtilization", plugin),))
        for name, plugin in (
            ("broken", a_low({"cpu": 1}, {"cpu": 2}, broken="metrics source is empty")),
            ("good", good),
            ("again", good),
        )
    )
    cycle = decide(a_view([80, 10]), Policy(profiles=profiles, max_total=4))
    broken, first, second = cycle.runs
    assert broken.error is not None
    assert len(list(first.evictions)) == 3
    # What the first run evicted is terminating for the second, so nobody is left there.
    assert list(second.evictions) == []


def test_pods_are_asked_for_only_on_nodes_that_are_visited() -> None:
    """The simulator counts on it: a hundred thousand pods need not be built."""
    view = a_view([90, 80, 10, 10, 10])
    decide(view, a_policy(policy={"max_total": 1}))
    assert view.visited == ["n0", "n1"]


def test_capacity_stands_in_where_a_node_has_no_allocatable() -> None:
    """T2; an API server never shows such a node."""
    nodes = [
        PlainNode(name="n0", capacity=nano(cpu=4, memory=100, pods=10)),
        a_node("n1"),
    ]
    pods = {"n0": some_pods("n0", 2, requests=nano(cpu=1))}
    plugin = a_low({"cpu": 20}, {"cpu": 40})
    (run,) = decide(a_view([0, 0], nodes=nodes, pods=pods), a_policy(plugin=plugin)).runs
    assert run.figures is not None
    assert run.figures.percent["cpu"].tolist() == [50.0, 0.0]


def test_a_view_without_samples_says_so() -> None:
    (run,) = decide(View([a_node("n0"), a_node("n1")]), a_policy()).runs
    assert run.error is not None
    assert run.error.rule == "P2"
