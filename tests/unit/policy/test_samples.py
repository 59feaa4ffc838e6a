"""From the query's answer to usage: one bad sample and the whole cycle does nothing (P2–P9)."""

import math

import pytest

from builders.worlds.policy import a_node, a_policy, a_view
from trimtab.policy.cycle import PluginRun, Reason
from trimtab.policy.decision import decide
from trimtab.policy.file.settings import METRIC_RESOURCE
from trimtab.policy.numbers import NotANumberError


def the_run(view: object, **options: object) -> PluginRun:
    (run,) = decide(view, a_policy(), **options).runs  # type: ignore[arg-type]
    return run


@pytest.mark.parametrize(
    ("samples", "rule", "message"),
    [
        pytest.param(
            [("n0", 0.5), (None, 0.5), ("n1", 0.5)],
            "P3",
            "the collected metrics sample is missing 'instance' key",
            id="a sample without instance",
        ),
        pytest.param(
            [("n0", 0.5), ("n1", 0.5), (None, 0.1)],
            "P3",
            "the collected metrics sample is missing 'instance' key",
            id="even one that belongs to no node",
        ),
        pytest.param(
            [("n0", 1.5), ("n1", 0.5)],
            "P4",
            'the collected metrics sample for "n0" has value 1.5 outside of <0; 1> interval',
            id="above one",
        ),
        pytest.param(
            [("n0", -0.0000001), ("n1", 0.5)],
            "P4",
            'the collected metrics sample for "n0" has value -0.0000001 outside of <0; 1> interval',
            id="below zero, written without exponent",
        ),
        pytest.param(
            [("n0", 0.5), ("n1", 0.5), ("elsewhere", 2.0)],
            "P4",
            'the collected metrics sample for "elsewhere" has value 2 outside of <0; 1> interval',
            id="out of range for a node that is not selected",
        ),
        pytest.param(
            [("n0", 0.5), ("n1", math.inf)],
            "P4",
            'the collected metrics sample for "n1" has value +Inf outside of <0; 1> interval',
            id="infinity",
        ),
        pytest.param(
            [(None, 0.5), ("n0", 7.0)],
            "P3",
            "the collected metrics sample is missing 'instance' key",
            id="of two faults the first in the response",
        ),
        pytest.param(
            [("n0", 7.0), (None, 0.5)],
            "P4",
            'the collected metrics sample for "n0" has value 7 outside of <0; 1> interval',
            id="and the other way round",
        ),
        pytest.param(
            [("n0", 0.5), ("n1:9100", 0.5)],
            "P7",
            "unable to find metric entry for n1",
            id="an instance with a port is another node",
        ),
        pytest.param([], "P7", "unable to find metric entry for n0", id="an empty vector"),
    ],
)
def test_one_bad_sample_stops_everything(
    samples: list[tuple[str | None, float]], rule: str, message: str
) -> None:
    run = the_run(a_view([80, 10], samples=samples))
    assert run.error == Reason(rule, f"error getting node usage: {message}")
    assert not list(run.evictions)


def test_a_missing_sample_of_an_unready_node_does_not_matter() -> None:
    nodes = [a_node("n0"), a_node("n1"), a_node("gone", ready=False)]
    run = the_run(a_view(nodes=nodes, samples=[("n0", 0.8), ("n1", 0.1)]))
    assert run.error is None


def test_the_last_sample_of_an_instance_counts() -> None:
    """P6."""
    run = the_run(a_view(samples=[("n0", 0.1), ("n1", 0.105), ("n0", 0.9)]))
    assert run.figures is not None
    assert run.figures.usage[METRIC_RESOURCE].tolist() == [90, 10]


def test_further_instances_are_ignored() -> None:
    run = the_run(a_view(samples=[("n0", 0.8), ("other", 0.5), ("n1", 0.1)]))
    assert run.figures is not None
    assert run.figures.average == {METRIC_RESOURCE: 45.0}


def test_an_answer_that_is_no_vector_is_an_error() -> None:
    """P2."""
    message = 'expected query results to be of type "vector", got "scalar" instead'
    run = the_run(a_view(failed=message))
    assert run.error == Reason("P2", f"error getting node usage: {message}")


def test_nan_is_not_simulated() -> None:
    """P8: its fate depends on the processor."""
    with pytest.raises(NotANumberError):
        the_run(a_view(samples=[("n0", math.nan), ("n1", 0.5)]))


@pytest.mark.parametrize(
    ("samples", "deviation", "evicts"),
    [
        pytest.param([("n0", 0.9), ("n1", math.nan)], True, False, id="one NaN destination"),
        pytest.param([("n0", 0.9), ("n1", math.nan)], False, False, id="one, static thresholds"),
        pytest.param(
            [("n0", 0.9), ("n1", math.nan), ("n2", math.nan)],
            False,
            True,
            id="two with static thresholds do lead to evictions",
        ),
        pytest.param(
            [("n0", 0.9), ("n1", math.nan), ("n2", math.nan)],
            True,
            False,
            id="two with deviation thresholds do not: their caps are zero",
        ),
        pytest.param(
            [("n0", 0.9), ("n1", math.nan), ("n2", math.nan), ("n3", math.nan)],
            True,
            True,
            id="three do in any mode",
        ),
    ],
)
def test_nan_on_amd64(
    samples: list[tuple[str | None, float]], deviation: bool, evicts: bool
) -> None:
    """P8: the headroom runs over, and the rest is exact arithmetic."""
    view = a_view(nodes=[a_node(f"n{at}") for at in range(len(samples))], samples=samples)
    policy = a_policy(low=0 if deviation else 20, high=10 if deviation else 50, deviation=deviation)
    (run,) = decide(view, policy, nan="amd64").runs
    assert run.figures is not None
    assert run.figures.classes.tolist() == [1, *([-1] * (len(samples) - 1))]
    assert bool(list(run.evictions)) == evicts


def test_the_headroom_of_two_nan_destinations_is_that_of_their_caps() -> None:
    view = a_view(
        nodes=[a_node(f"n{at}") for at in range(3)],
        samples=[("n0", 0.9), ("n1", math.nan), ("n2", math.nan)],
    )
    (run,) = decide(view, a_policy(20, 50, deviation=False), nan="amd64").runs
    assert run.headroom == {METRIC_RESOURCE: 100}
