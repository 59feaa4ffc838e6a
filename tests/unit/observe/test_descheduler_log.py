"""The descheduler's text log becomes records."""

import pytest

from trimtab.observe.descheduler_log import LoggedCycle, LoggedPod, parse_cycles
from trimtab.policy.cycle import PodOutcome

BALANCE = 'plugin="LowNodeUtilization" ExtensionPoint="Balance"'


def logged(*messages: str, evicted: int = 0, in_flight: int = 0) -> LoggedCycle:
    """The one cycle of a log with these messages in between."""
    told = [
        "Resetting pod evictor counters",
        *messages,
        '"Total number of evictions/requests" extension point="Balance" evictedPods=0 '
        "evictionRequests=0",
        f'"Number of evictions/requests" totalEvicted={evicted} evictionRequests={in_flight}',
    ]
    lines = [f"I0102 03:04:05.{at:06}    77 some_file.go:{at}] {m}" for at, m in enumerate(told)]
    (cycle,) = parse_cycles(lines)
    return cycle


def noted(*messages: str) -> tuple[LoggedPod, ...]:
    """What became of the pods of one source."""
    cycle = logged('"Evicting pods from node" node="n1" usage={"cpu":"1500m"}', *messages)
    return tuple(cycle.notes)


def test_a_cycle_has_its_times_and_counts() -> None:
    cycle = logged(evicted=2, in_flight=3)
    assert (cycle.pid, cycle.evicted, cycle.in_flight) == (77, 2, 3)
    assert cycle.began < cycle.ended


def test_nodes_are_read_with_class_usage_and_percent() -> None:
    run = logged(
        f'"Node has been classified" {BALANCE} category="underutilized" node="n1" '
        'usage={"cpu":"1500m","pods":"3"} usagePercentage={"cpu":37.5,"pods":30}',
        f'"Node is appropriately utilized" {BALANCE} node="n2" usage={{}} usagePercentage={{}}',
    ).runs[0]
    assert run.plugin == "LowNodeUtilization"
    assert run.readings["n1"].usage == {"cpu": "1500m", "pods": "3"}
    assert run.readings["n1"].percent == {"cpu": 37.5, "pods": 30}
    assert [r.category for r in run.readings.values()] == ["underutilized", "appropriate"]


def test_thresholds_around_the_mean_are_read() -> None:
    run = logged(
        '"Assessed average usage" MetricResource="20.51%"',
        '"Assessed thresholds for underutilized nodes" MetricResource="10.51%"',
        '"Assessed thresholds for overutilized nodes" MetricResource="30.51%"',
    ).runs[0]
    assert (run.average, run.low, run.high) == (
        {"MetricResource": 20.51},
        {"MetricResource": 10.51},
        {"MetricResource": 30.51},
    )


def test_an_early_exit_is_told_with_its_numbers() -> None:
    text = "Number of nodes underutilized is less or equal than NumberOfNodes, nothing to do here"
    run = logged(f'"{text}" {BALANCE} underutilizedNodes=1 numberOfNodes=2').runs[0]
    assert run.exit == f"{text} (1, 2)"
    assert run.headroom is None


def test_a_failed_plugin_and_a_skipped_cycle_are_told() -> None:
    failed = logged(
        '"running balance extension point failed with error" '
        'err="plugin \\"LowNodeUtilization\\" finished with error: no" profile="p"'
    )
    assert failed.errors == ('plugin "LowNodeUtilization" finished with error: no',)
    skipped = logged('"Skipping descheduling cycle: requires >=2 nodes" found=1')
    assert skipped.skipped == "Skipping descheduling cycle: requires >=2 nodes, found 1"


@pytest.mark.parametrize(
    ("message", "verdict", "pod"),
    [
        ('"Evicted pod" pod="a/x" reason="" node="n1"', PodOutcome.EVICTED, "a/x"),
        ('"Eviction in background assumed" pod="a/x"', PodOutcome.BACKGROUND, "a/x"),
        (
            '"Eviction in background already requested (ignoring)" pod="a/x"',
            PodOutcome.IN_FLIGHT,
            "a/x",
        ),
        ('"Error evicting pod" err="no" pod="a/x" reason=""', PodOutcome.REFUSED, "a/x"),
        ('"Error evicting pod" err="max" limit=5', PodOutcome.TOTAL_LIMIT, ""),
        ('"Error evicting pod" err="max" limit=5 node="n1"', PodOutcome.NODE_LIMIT, ""),
        (
            '"Error evicting pod" err="max" limit=5 namespace="a" pod="a/x"',
            PodOutcome.NAMESPACE_LIMIT,
            "a/x",
        ),
        (
            '"Skipping eviction for pod, doesn\'t tolerate node taint" pod="a/x"',
            PodOutcome.NOT_TOLERATED,
            "a/x",
        ),
        (
            '"pod does not fit on any other node because of nodeSelector(s), Taint(s), or nodes '
            'marked as unschedulable" plugin="DefaultEvictor" pod="a/x"',
            PodOutcome.PRE_EVICTION_FILTER,
            "a/x",
        ),
        ('"unable to get pod usage" err="no" pod="a/x"', PodOutcome.NO_USAGE, "a/x"),
    ],
    ids=lambda value: value.value if isinstance(value, PodOutcome) else "",
)
def test_what_became_of_a_pod_is_told(message: str, verdict: PodOutcome, pod: str) -> None:
    (note,) = noted(message)
    assert (note.outcome, note.pod) == (verdict, pod)


def test_what_informers_say_in_between_is_no_decision() -> None:
    assert noted('"Eviction in background detected. Updating the cache." pod="a/x"') == ()


def test_sources_come_in_order_with_their_pods_and_ends() -> None:
    run = logged(
        '"Total capacity to be moved" CPU=1500 Mem=10 Pods=-3 example.com/gpu=1',
        '"Evicting pods from node" node="n1" usage={"cpu":"2"}',
        '"Pod fails the following checks" plugin="DefaultEvictor" pod="a/x" '
        'checks="[pod is a mirror pod, pod is terminating]"',
        '"Pods on node" node="n1" allPods=3 nonRemovablePods=1 removablePods=2',
        '"Evicted pod" pod="a/y"',
        '"Updated node usage" node="n1" CPU=1900 Mem=7 Pods=2',
        '"Evicting pods from node" node="n2" usage={"cpu":"1"}',
        '"No removable pods on node, try next node" node="n2"',
    ).runs[0]
    assert run.headroom == {"cpu": 1500, "memory": 10, "pods": -3, "example.com/gpu": 1}
    first, second = run.sources
    assert (first.node, first.all_pods, first.removable) == ("n1", 3, 2)
    assert first.kept == {"a/x": "[pod is a mirror pod, pod is terminating]"}
    assert first.left == ({"cpu": 1900, "memory": 7, "pods": 2},)
    assert (second.node, second.ended) == ("n2", "no removable pods")


def test_a_cycle_that_was_cut_off_is_left_out() -> None:
    begun = "I0102 03:04:05.000000    77 descheduler.go:235] Resetting pod evictor counters"
    ended = (
        'I0102 03:04:05.000001    77 descheduler.go:252] "Number of evictions/requests" '
        "totalEvicted=0 evictionRequests=0"
    )
    assert len(list(parse_cycles([begun, begun, "no line of klog's", ended, ended, begun]))) == 1
