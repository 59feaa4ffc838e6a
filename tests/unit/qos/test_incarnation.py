"""A pod's life, read from its object: which moment counts as created, bound and ended."""

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.values.qos import a_life, a_life_pod, at, few, when
from trimtab.kube.resources import Condition
from trimtab.qos.ledger.pod_life import (
    ContainerState,
    ContainerStatus,
    Incarnation,
    LifePod,
    SchedulingGate,
    Terminated,
    Written,
)
from trimtab.qos.ledger.pod_moments import life_of


def failed(finished: float | None = None, ready: float | None = None) -> LifePod:
    pod = a_life_pod(created=0, scheduled=2, phase="Failed")
    status = pod.status
    if finished is not None:
        state = ContainerState(terminated=Terminated(finished_at=when(finished)))
        status = msgspec.structs.replace(status, container_statuses=(ContainerStatus(state=state),))
    if ready is not None:
        not_ready = Condition(type="Ready", status="False", last_transition_time=when(ready))
        status = msgspec.structs.replace(status, conditions=(*status.conditions, not_ready))
    return msgspec.structs.replace(pod, status=status)


@pytest.mark.parametrize(
    ("pod", "bound", "ended"),
    [
        pytest.param(a_life_pod(created=0), None, None, id="it waits"),
        pytest.param(a_life_pod(created=0, scheduled=3), 3, None, id="it runs once it is bound"),
        pytest.param(
            a_life_pod(created=0, scheduled=3, deleted=9, grace=30),
            3,
            9,
            id="it ends when deletion is asked for, not when the grace is over",
        ),
        pytest.param(a_life_pod(created=0, deleted=9), None, 9, id="deleted while it waited"),
        pytest.param(failed(finished=7), 2, 7, id="failed: when its containers finished"),
        pytest.param(failed(), 2, None, id="failed, and nothing tells when"),
        pytest.param(a_life_pod(created=5, node_name="n1"), 5, None, id="bound from the start"),
    ],
)
def test_an_object_tells_a_life(pod: LifePod, bound: float | None, ended: float | None) -> None:
    life = life_of(pod)
    assert life.bound == (None if bound is None else at(bound))
    assert life.ended == (None if ended is None else at(ended))
    assert life.is_over == (ended is not None or pod.status.phase == "Failed")


def written(pod: LifePod, second: float, subresource: str = "status") -> LifePod:
    entries = (*pod.metadata.managed_fields, Written(time=when(second), subresource=subresource))
    meta = msgspec.structs.replace(pod.metadata, managed_fields=entries)
    return msgspec.structs.replace(pod, metadata=meta)


def disrupted(second: float) -> LifePod:
    """What the pod garbage collector makes of a pod whose node was deleted."""
    pod = failed(ready=5)
    why = Condition(type="DisruptionTarget", status="True", last_transition_time=when(second))
    status = msgspec.structs.replace(pod.status, conditions=(*pod.status.conditions, why))
    return msgspec.structs.replace(pod, status=status)


@pytest.mark.parametrize(
    ("pod", "ended"),
    [
        pytest.param(failed(ready=8), 8, id="it was not ready any more"),
        pytest.param(disrupted(40), 40, id="its node was deleted"),
        pytest.param(written(failed(), 30), 30, id="its status was last written then"),
        pytest.param(written(failed(ready=8), 30), 30, id="not ready long before"),
        pytest.param(written(failed(), 30, ""), None, id="a label tells nothing"),
    ],
)
def test_an_end_that_nobody_tells_has_clues(pod: LifePod, ended: float | None) -> None:
    life = life_of(pod)
    assert (life.ended, life.vague) == (None if ended is None else at(ended), True)


@pytest.mark.parametrize(
    ("clue", "known_until", "ended"),
    [
        pytest.param(failed(ready=8), 50, 50, id="a clue from before it was last seen alive"),
        pytest.param(failed(ready=80), 50, 80, id="a clue from afterwards"),
        pytest.param(failed(), 50, 50, id="no clue: when it was last known to run"),
        pytest.param(failed(), 0, 2, id="nothing is known: when it began"),
        pytest.param(failed(finished=7), 50, 7, id="its containers' end is no clue but the end"),
    ],
)
def test_a_pod_did_not_end_before_it_was_known_to_run(
    clue: LifePod, known_until: float, ended: float
) -> None:
    life = a_life(uid="uid-web-1", created=0, bound=2)
    life.learn(life_of(clue), at(90), at(known_until))
    assert life.ended == at(ended)


@pytest.mark.parametrize("clue", [failed(), failed(ready=8), disrupted(12), written(failed(), 12)])
def test_a_clue_never_corrects_a_known_end(clue: LifePod) -> None:
    life = a_life(uid="uid-web-1", created=0, bound=2, ended=60)
    life.learn(life_of(clue), at(90))
    assert life.ended == at(60)


@pytest.mark.parametrize(
    ("seen", "created"),
    [
        pytest.param(0.4, 0.4, id="seen within the second: that moment"),
        pytest.param(1.2, 0.999999999, id="a little late: the end of the second"),
        pytest.param(7.0, 0.0, id="much later: nobody saw it happen"),
        pytest.param(-0.5, 0.0, id="our clock is behind: the second itself"),
        pytest.param(None, 0.0, id="read from a list"),
    ],
)
def test_who_sees_it_happen_knows_the_moment_within_the_second(
    seen: float | None, created: float
) -> None:
    life = life_of(a_life_pod(created=0), None if seen is None else at(seen))
    assert life.created == at(created)


GATED = a_life_pod(created=0, scheduling_gates=(SchedulingGate(name="quota"),))


def test_gates_hold_a_pod_back_until_the_last_is_removed() -> None:
    life = life_of(GATED)
    assert life.is_gated
    assert not life.waits, "the scheduler does not look at it"
    assert life.learn(life_of(a_life_pod(created=0)), at(7))
    assert (life.is_gated, life.waits, life.waits_since) == (False, True, at(7))
    assert not life.learn(life_of(a_life_pod(created=0)), at(9)), "only the first time counts"
    assert life.learn(life_of(a_life_pod(created=0, scheduled=8)), at(9))
    assert life.waits_since == at(7)


def test_gates_cannot_be_removed_after_the_binding() -> None:
    """The object was seen later: its last write may be one after the binding."""
    life = life_of(GATED)
    life.learn(life_of(a_life_pod(created=0, scheduled=8)), at(20))
    assert life.waits_since == life.bound == at(8)


def test_the_schedulers_word_replaces_the_apis_seconds() -> None:
    life = a_life(created=0, bound=3)
    assert life.measure(at(3.25), at(3.75))
    assert (life.bind_start, life.bound, life.exact) == (at(3.25), at(3.75), True)
    assert not life.measure(at(5), at(6)), "only the first word counts"


@pytest.mark.parametrize(
    ("told", "moments"),
    [
        pytest.param((10.5, 10.6), (10.4, 10.5, 10.6), id="after we saw the pod: as told"),
        pytest.param((10.39, 10.437), (10.39, 10.39, 10.437), id="begun before: then it was there"),
        pytest.param((10.1, 10.147), (10.1, 10.1, 10.147), id="over before: the same"),
        pytest.param((9.97, 10.017), (10, 10, 10.047), id="in the second before: clocks differ"),
        pytest.param((3, 4), (10, 10, 11), id="long before: clocks differ, the length counts"),
    ],
)
def test_a_measured_binding_keeps_its_length_however_late_the_pod_was_seen(
    told: tuple[float, float], moments: tuple[float, float, float]
) -> None:
    life = a_life(created=10.4)
    assert life.measure(at(told[0]), at(told[1]))
    assert life.exact
    assert (life.created, life.bind_start, life.bound) == tuple(at(each) for each in moments)


@few
@given(st.floats(0, 3), st.floats(-5, 5), st.floats(0, 2), st.none() | st.floats(0, 5))
def test_a_measurement_never_loses_time(
    created: float, start: float, length: float, ended: float | None
) -> None:
    life = a_life(created=created)
    if ended is not None:
        life.close(at(ended))
    told = at(start), at(start + length)
    assert life.measure(*told)
    assert life.bind_start is not None
    assert life.bound is not None
    assert life.bound - life.bind_start == told[1] - told[0]
    assert life.created <= life.bind_start
    assert life.ended is None or life.ended >= life.bound


@few
@given(st.permutations(range(4)), st.lists(st.integers(0, 3), max_size=6))
def test_order_and_repetition_do_not_matter(order: Sequence[int], again: Sequence[int]) -> None:
    told = [
        a_life_pod(created=0),
        a_life_pod(created=0, scheduled=4),
        a_life_pod(created=0, scheduled=4, deleted=9, grace=30),
        a_life_pod(created=0, scheduled=4, deleted=9, grace=30, phase="Succeeded"),
    ]
    life: Incarnation | None = None
    for index in [*order, *again]:
        facts = life_of(told[index])
        if life is None:
            life = facts
        else:
            life.learn(facts, facts.latest())
    assert life is not None
    assert (life.created, life.bound, life.ended) == (at(0), at(4), at(9))
