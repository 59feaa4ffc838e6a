"""Usage that is counted pod by pod: requests, the metrics server, HighNodeUtilization."""

from collections.abc import Mapping
from typing import Any

import pytest

from builders.worlds.policy import (
    AView,
    a_high,
    a_low,
    a_node,
    a_pod,
    a_policy,
    a_view,
    nano,
    some_pods,
)
from trimtab.policy.cycle import Class, PluginRun, PodOutcome, VisitEnd
from trimtab.policy.decision import decide
from trimtab.policy.file.settings import METRIC_RESOURCE, UsageSource


def a_cluster(pods: Mapping[str, list[Any]], **view: Any) -> AView:
    nodes = view.pop("nodes", None) or [a_node(name) for name in pods]
    return a_view([0] * len(nodes), nodes=nodes, pods=pods, **view)


def the_run(view: AView, plugin: Any, **policy: Any) -> PluginRun:
    (run,) = decide(view, a_policy(plugin=plugin, policy=policy)).runs
    return run


def names(run: PluginRun) -> list[str]:
    return [eviction.pod.name for eviction in run.evictions]


MEASURED: dict[str, Any] = {"source": UsageSource.METRICS_SERVER, "deviation": False}


def test_requests_are_summed_in_milli_cores_and_whole_units() -> None:
    pods = {"a": some_pods("a", 3, requests={**nano(cpu="333m"), "memory": 1}), "b": []}
    run = the_run(a_cluster(pods), a_low({"cpu": 5, "memory": 5}, {"cpu": 8, "memory": 50}))
    assert run.figures is not None
    usage = {name: values.tolist() for name, values in run.figures.usage.items()}
    # Three nano-bytes are a byte when rounded up; three pods are three.
    assert usage == {"cpu": [999, 0], "memory": [1, 0], "pods": [3, 0]}
    assert run.figures.percent["cpu"].tolist() == [999 / 10000 * 100, 0.0]


def test_under_asks_for_all_resources_and_over_for_any() -> None:
    """C2, C3."""
    pods = {
        "cpu-hot": some_pods("h", 1, requests=nano(cpu=9)),
        "mixed": some_pods("m", 1, requests=nano(cpu=1, memory=50)),
        "idle": [],
    }
    run = the_run(a_cluster(pods), a_low({"cpu": 20, "memory": 20}, {"cpu": 70, "memory": 70}))
    assert run.figures is not None
    assert run.figures.classes.tolist() == [Class.OVER, Class.APPROPRIATE, Class.UNDER]


def test_a_node_above_a_hundred_percent_is_over_even_with_high_at_a_hundred() -> None:
    """Only a query's percents end at 100."""
    pods = {"full": some_pods("f", 11, requests=nano(cpu=1)), "idle": []}
    run = the_run(a_cluster(pods), a_low({"cpu": 50}, {"cpu": 100}))
    assert run.figures is not None
    assert run.figures.classes.tolist() == [Class.OVER, Class.UNDER]


def test_a_resource_that_a_node_lacks_reads_as_zero_and_leaves_the_mean_alone() -> None:
    """T1, T4, C6."""
    gpu = "example.com/gpu"
    nodes = [
        a_node("one", allocatable={**nano(cpu=10, memory=100, pods=10), gpu: 10 * 10**9}),
        a_node("two", allocatable={**nano(cpu=10, memory=100, pods=10), gpu: 10 * 10**9}),
        a_node("none"),
    ]
    pods = {"one": some_pods("g", 4, requests={gpu: 10**9})}
    plugin = a_low({gpu: 10}, {gpu: 10}, deviation=True)
    run = the_run(a_cluster(pods, nodes=nodes), plugin)
    assert run.figures is not None
    assert run.figures.average == {gpu: 20.0}
    assert run.figures.classes.tolist() == [Class.OVER, Class.UNDER, Class.UNDER]
    # The node without the resource has no room for it.
    assert run.headroom[gpu] == 3


def test_a_resource_that_no_node_has_leaves_every_node_under() -> None:
    """No mean, so no threshold, so nothing is above it."""
    plugin = a_low({"example.com/gpu": 10}, {"example.com/gpu": 10}, deviation=True)
    run = the_run(a_cluster({"a": some_pods("a"), "b": []}), plugin)
    assert run.exit is not None
    assert run.exit.rule == "1.5.3"


def test_metric_resource_without_a_query_is_zero_everywhere() -> None:
    run = the_run(
        a_cluster({"a": some_pods("a"), "b": []}),
        a_low({METRIC_RESOURCE: 10}, {METRIC_RESOURCE: 50}),
    )
    assert run.exit is not None
    assert run.exit.rule == "1.5.3"


def test_a_source_is_levelled_pod_by_pod() -> None:
    """E7h: 80 % down to 50 % takes three of eight, and the fourth stays."""
    run = the_run(
        a_cluster({"a": some_pods("a", 8, requests=nano(cpu=1)), "b": []}),
        a_low({"cpu": 20}, {"cpu": 50}),
    )
    assert names(run) == ["a-0", "a-1", "a-2"]
    assert run.visits[0].stop is VisitEnd.LEVELLED


def test_headroom_is_shared_and_shrinks() -> None:
    """E9: room for five pods in all, although both sources have more to give."""
    nodes = [a_node("a"), a_node("b"), a_node("idle", capacity={"cpu": 10})]
    pods = {n: some_pods(n, 9, requests=nano(cpu=1)) for n in ("a", "b")}
    run = the_run(a_cluster(pods, nodes=nodes), a_low({"cpu": 20}, {"cpu": 50}))
    assert run.headroom == {"cpu": 5000, "memory": 200 - 100, "pods": 10}
    assert [len(visit.steps) for visit in run.visits] == [4, 1]


def test_headroom_below_zero_is_shown_as_kubernetes_rounds_it() -> None:
    """Away from zero: -1000.5 milli-cores are -1001."""
    metrics = {"hot": nano(cpu=9, memory=90), "idle": nano(cpu="10000500u", memory=0)}
    nodes = [a_node("hot"), a_node("idle", capacity={"cpu": 9})]
    view = a_cluster({"hot": some_pods("hot"), "idle": []}, nodes=nodes, node_metrics=metrics)
    run = the_run(view, a_low({"memory": 20}, {"memory": 50}, **MEASURED))
    assert run.headroom["cpu"] == -1001
    assert [visit.stop for visit in run.visits] == [VisitEnd.NO_HEADROOM]


def test_resources_without_threshold_stop_evictions_as_well() -> None:
    """E1, E6: the destination has no room for another pod."""
    nodes = [a_node("hot"), a_node("idle", capacity={"pods": 2})]
    pods = {"hot": some_pods("hot", 8, requests=nano(cpu=1)), "idle": some_pods("idle", 2)}
    run = the_run(a_cluster(pods, nodes=nodes), a_low({"cpu": 20}, {"cpu": 50}))
    assert run.headroom == {"cpu": 5000, "memory": 100, "pods": 0}
    assert [visit.stop for visit in run.visits] == [VisitEnd.NO_HEADROOM]


def test_a_resource_without_threshold_can_be_above_its_cap() -> None:
    """E6: cpu is over by a bit of rounding only, but memory exceeds its whole capacity."""
    nodes = [a_node("hot", capacity={"cpu": "100m", "memory": 10}), a_node("idle")]
    pods = {
        "hot": some_pods("hot", 4, requests={**nano(cpu="7m"), "memory": 3 * 10**9}),
        "idle": [],
    }
    run = the_run(a_cluster(pods, nodes=nodes), a_low({"cpu": 20}, {"cpu": 28}))
    assert run.figures is not None
    assert run.figures.percent["cpu"][0] == 28.000000000000004
    assert len(names(run)) == 1


def test_sources_are_ordered_by_the_sum_of_all_their_numbers() -> None:
    """E2: bytes outweigh milli-cores by far."""
    nodes = [
        a_node(name, capacity={"memory": 10_000, "cpu": 10}) for name in ("cpu", "memory", "idle")
    ]
    pods = {
        "cpu": some_pods("cpu", 1, requests=nano(cpu=9)),
        "memory": some_pods("memory", 1, requests=nano(memory=9500)),
        "idle": [],
    }
    plugin = a_low({"cpu": 20, "memory": 20}, {"cpu": 70, "memory": 70})
    run = the_run(a_cluster(pods, nodes=nodes), plugin)
    assert [visit.node for visit in run.visits] == ["memory", "cpu"]


def test_an_eviction_in_flight_is_subtracted_like_any_other() -> None:
    """E8 in a mode that counts."""
    from trimtab.policy.inflight import InFlight, KnownEviction

    pods = {"a": some_pods("a", 6, request_evict_only=True, requests=nano(cpu=1)), "b": []}
    inflight = InFlight([KnownEviction("uid-default-a-0", "a", "default", 0.0)])
    plugin = a_low({"cpu": 20}, {"cpu": 50})
    (run,) = decide(a_cluster(pods), a_policy(plugin=plugin), inflight).runs
    assert [step.outcome for step in run.visits[0].steps] == [PodOutcome.IN_FLIGHT]
    assert run.visits[0].stop is VisitEnd.LEVELLED


def test_the_plugins_limit_holds_in_counting_modes_too() -> None:
    pods = {"a": some_pods("a", 8, requests=nano(cpu=1)), "b": []}
    run = the_run(a_cluster(pods), a_low({"cpu": 20}, {"cpu": 50}, node_limit=2))
    assert len(names(run)) == 2
    assert run.visits[0].stop is VisitEnd.PLUGIN_LIMIT


def measured(**facts: Any) -> AView:
    metrics = {"a": nano(cpu=8, memory=10), "b": nano(cpu="1000000001n", memory=1)}
    pods = {"a": some_pods("a", 3), "b": []}
    return a_cluster(pods, **{"node_metrics": metrics, **facts})


def test_the_metrics_server_tells_of_cpu_and_memory_and_pods_are_counted() -> None:
    run = the_run(measured(), a_low({"cpu": 20}, {"cpu": 50}, **MEASURED))
    assert run.figures is not None
    usage = {name: values.tolist() for name, values in run.figures.usage.items()}
    assert usage == {"cpu": [8000, 1001], "memory": [10, 1], "pods": [3, 0]}


@pytest.mark.parametrize(
    ("low", "facts", "message"),
    [
        pytest.param(
            "cpu",
            {"node_metrics": {"a": nano(cpu=1)}},
            'unable to find node "b" in the collected metrics',
            id="a node without metrics",
        ),
        pytest.param(
            "example.com/gpu",
            {},
            'unable to find "example.com/gpu" resource for collected "a" node metric',
            id="a resource it does not measure",
        ),
    ],
)
def test_what_the_metrics_server_lacks_is_an_error(low: str, facts: Any, message: str) -> None:
    run = the_run(measured(**facts), a_low({low: 20}, {low: 50}, **MEASURED))
    assert run.error is not None
    assert run.error.text == f"error getting node usage: {message}"


def test_pods_without_metrics_are_skipped_and_the_others_subtracted_exactly() -> None:
    """E7d, E7h: to the nano-core."""
    view = measured(
        pod_metrics={
            "a-0": [nano(cpu=1)],  # memory is missing
            "a-1": [nano(cpu="2999999999n", memory=1), nano(cpu=0, memory=1)],
            "a-2": [nano(cpu="2n", memory=1)],
        }
    )
    run = the_run(view, a_low({"cpu": 20}, {"cpu": 50}, **MEASURED))
    assert [step.outcome for step in run.visits[0].steps] == [
        PodOutcome.NO_USAGE,
        PodOutcome.EVICTED,
        PodOutcome.EVICTED,
    ]
    assert run.visits[0].stop is VisitEnd.LEVELLED


def consolidating(**args: Any) -> Any:
    return a_high({"cpu": 20}, **args)


def test_high_node_utilization_empties_the_lowest_first() -> None:
    """1.7, E2 ascending: sources below the threshold, everything else takes."""
    pods = {
        "low": some_pods("low", 1, requests=nano(cpu=2)),
        "lowest": some_pods("lowest", 1, requests=nano(cpu=1)),
        "busy": some_pods("busy", 5, requests=nano(cpu=1)),
    }
    run = the_run(a_cluster(pods), consolidating())
    assert run.figures is not None
    assert run.figures.classes.tolist() == [Class.UNDER, Class.UNDER, Class.OVER]
    assert [visit.node for visit in run.visits] == ["lowest", "low"]
    assert names(run) == ["lowest-0", "low-0"]
    assert run.headroom == {"cpu": 5000, "memory": 100, "pods": 5}


def test_a_cordoned_node_may_be_emptied_but_takes_nothing() -> None:
    nodes = [
        a_node("empty-me", unschedulable=True),
        a_node("busy", unschedulable=True),
        a_node("t"),
    ]
    pods = {
        "empty-me": some_pods("e", 1, requests=nano(cpu=1)),
        "busy": some_pods("b", 5, requests=nano(cpu=1)),
        "t": some_pods("t", 5, requests=nano(cpu=1)),
    }
    run = the_run(a_cluster(pods, nodes=nodes), consolidating())
    assert run.figures is not None
    assert run.figures.classes.tolist() == [Class.UNDER, Class.APPROPRIATE, Class.OVER]
    assert run.destinations == (2,)
    assert names(run) == ["e-0"]


@pytest.mark.parametrize(
    ("cores", "cordoned", "number_of_nodes", "rule"),
    [
        pytest.param([5, 5], (), 0, "1.5.1", id="none is under"),
        pytest.param([1, 5], (), 1, "1.5.2", id="not more than numberOfNodes"),
        pytest.param([1, 1], (), 0, "1.5.3", id="all are under"),
        pytest.param([1, 5], (1,), 0, "1.7.4", id="nobody takes"),
        pytest.param([2, 5], (), 0, None, id="the threshold itself is under"),
    ],
)
def test_exits_of_high_node_utilization(
    cores: list[int], cordoned: tuple[int, ...], number_of_nodes: int, rule: str | None
) -> None:
    nodes = [a_node(f"n{at}", unschedulable=at in cordoned) for at in range(len(cores))]
    pods = {
        f"n{at}": some_pods(f"n{at}", 1, requests=nano(cpu=count)) for at, count in enumerate(cores)
    }
    run = the_run(a_cluster(pods, nodes=nodes), consolidating(number_of_nodes=number_of_nodes))
    assert (run.exit.rule if run.exit else None) == rule


def test_only_pods_that_request_a_threshold_resource() -> None:
    """1.7: the key must be there in a container; the evict annotation does not help."""
    pods = {
        "low": [
            a_pod("plain"),
            a_pod("annotated", evict=True),
            a_pod("requesting", requested=frozenset({"cpu"})),
        ],
        "busy": some_pods("busy", 5, requests=nano(cpu=1)),
    }
    run = the_run(a_cluster(pods), consolidating(only_thresholding_resources=True))
    assert names(run) == ["requesting"]


def test_high_node_utilization_goes_on_until_the_room_is_gone() -> None:
    """E6 without the first half: no cap of the source plays a part."""
    nodes = [a_node("low"), a_node("busy", capacity={"pods": 6})]
    pods = {"low": some_pods("low", 3), "busy": some_pods("busy", 5, requests=nano(cpu=1))}
    run = the_run(a_cluster(pods, nodes=nodes), consolidating())
    assert names(run) == ["low-0"]
    assert run.visits[0].stop is VisitEnd.LEVELLED
