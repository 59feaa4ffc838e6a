"""What `lab up` means for labs that exist, run, or do not."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from builders.labs.lab import a_spec
from trimtab.errors import ConfigError
from trimtab.lab.spec import LabClock, LabSpec, NodeSize
from trimtab.lab.starting.resolve_request import LabRequest, resolve_request

NOW = 1_800_000_000.0


def settled(old: LabSpec | None, running: bool = False, **wishes: Any) -> LabSpec:
    return resolve_request(
        LabRequest(name="test", **wishes), old, running=running, now=NOW, created="today"
    )


def test_a_new_lab_has_the_defaults() -> None:
    assert settled(None) == LabSpec(
        name="test",
        created="today",
        clock=LabClock(NOW, 1),
        stacks=("none",),
        nodes=5,
        node_size=NodeSize(cpu="32", memory="128Gi", pods=110),
        placement="spread",
        listen="127.0.0.1",
    )


@pytest.mark.parametrize("running", [True, False])
def test_nothing_wished_changes_nothing(running: bool) -> None:
    old = a_spec(nodes=9, placement="binpack", clock=LabClock(7.0, 10), own_scheduler_config=True)
    assert settled(old, running) == old


@pytest.mark.parametrize("running", [True, False])
def test_a_lab_grows_whether_it_runs_or_not(running: bool) -> None:
    assert settled(a_spec(nodes=5), running, nodes=7) == a_spec(nodes=7)


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        pytest.param({"nodes": 4}, "has 5 and only grows", id="shrinking"),
        pytest.param({"node_cpu": "16"}, "size of nodes is fixed", id="other cores"),
        pytest.param({"node_memory": "1Gi"}, "size of nodes is fixed", id="other memory"),
        pytest.param({"node_pods": 3}, "size of nodes is fixed", id="other pods"),
    ],
)
def test_some_changes_are_never_made(wishes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        settled(a_spec(), **wishes)


@pytest.mark.parametrize(
    ("wishes", "told"),
    [
        pytest.param({"placement": "binpack"}, "placement spread, not binpack", id="placement"),
        pytest.param({"scale": 10}, "scale 1, not 10", id="scale"),
        pytest.param({"listen": "0.0.0.0"}, "address 127.0.0.1, not 0.0.0.0", id="address"),
        pytest.param({"stacks": ("loop",)}, "stacks none, not loop", id="stacks"),
        pytest.param({"own_scheduler_config": True}, "own scheduler configuration", id="config"),
    ],
)
def test_other_changes_wait_until_it_is_stopped(wishes: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=f"running with {told}.*trimtab lab down --name test"):
        settled(a_spec(), running=True, **wishes)
    assert settled(a_spec(), running=False, **wishes) != a_spec()


def test_asking_for_a_placement_drops_an_own_configuration() -> None:
    old = a_spec(own_scheduler_config=True)
    assert not settled(old, placement="spread").own_scheduler_config


@pytest.mark.parametrize("old", [None, a_spec()], ids=["a new lab", "one that exists"])
@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        pytest.param({"scale": 0}, "--scale 0: use 1 to 15", id="standing time"),
        pytest.param({"scale": 16}, "--scale 16: use 1 to 15", id="too fast"),
        pytest.param({"nodes": 0}, "--nodes 0", id="no nodes"),
        pytest.param({"node_pods": 0}, "--node-pods 0", id="no pods"),
        pytest.param({"node_cpu": "many"}, '--node-cpu "many": not a quantity', id="cores"),
        pytest.param({"node_memory": "1GB"}, '--node-memory "1GB": not a quantity', id="memory"),
    ],
)
def test_impossible_wishes_are_refused_in_one_line(
    wishes: dict[str, Any], message: str, old: LabSpec | None
) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        settled(old, **wishes)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["", "A", "a b", "../x", "-a", "a-", "x" * 41])
def test_names_that_cannot_be_hosts_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="lab name"):
        resolve_request(LabRequest(name=name), None, running=False, now=NOW, created="")


@given(
    epoch=st.floats(0, 2e9),
    elapsed=st.floats(0, 1e7),
    before=st.integers(1, 15),
    after=st.integers(1, 15),
)
def test_lab_time_does_not_jump_when_its_pace_changes(
    epoch: float, elapsed: float, before: int, after: int
) -> None:
    now = epoch + elapsed
    old = LabClock(epoch, before)
    new = old.rescaled(after, now)
    assert (now - new.epoch) * new.scale == pytest.approx((now - epoch) * before, abs=1e-3)


def test_a_changed_pace_keeps_the_lab_time() -> None:
    old = structs.replace(a_spec(), clock=LabClock(NOW - 600, 1))
    assert settled(old, scale=10).clock == LabClock(NOW - 60, 10)
