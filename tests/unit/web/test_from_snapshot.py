"""A snapshot becomes a picture by the rules of `explain`."""

import pytest
from msgspec.structs import replace

from builders.worlds.snapshots import NOON, a_snapshot, with_vms
from trimtab.truth.explain.explanation import explain
from trimtab.web.feed.from_snapshot import MeasuredNode, picture_of

HOT = {"hot": 80.0, "warm": 40.0, "cold": 10.0}


def test_class_and_thresholds_are_those_of_explain() -> None:
    snapshot = with_vms(a_snapshot(HOT))
    picture = picture_of(snapshot)
    explained = explain(snapshot, search=False).explanation
    (run,) = explained.runs
    for node in run.nodes:
        shown = picture.nodes[node.name]
        (distance,) = node.distances.values()
        assert (shown.kind, shown.percent) == (node.node_class, distance.percent)
        assert shown.high == pytest.approx(distance.high, abs=0.005)
    assert picture.cluster.evictions == explained.evictions > 0
    assert picture.cluster.over == 1
    assert sum(vm.evict for vm in picture.vms.values()) == explained.evictions


def test_loads_are_those_of_the_vms_unless_somebody_measures() -> None:
    snapshot = with_vms(a_snapshot(HOT))
    shown = picture_of(snapshot).nodes["hot"]
    assert (shown.cpu, shown.memory) == (round(6 / 32, 4), round(12 / 128, 4))
    measured = picture_of(snapshot, measured={"hot": MeasuredNode(0.9, 0.5, 0.2)}).nodes["hot"]
    assert (measured.cpu, measured.memory, measured.pressure) == (0.9, 0.5, 0.2)


def test_a_load_that_is_not_known_is_not_taken_for_none() -> None:
    shown = picture_of(with_vms(a_snapshot(HOT), cpu=""))
    assert shown.nodes["hot"].cpu is None
    assert shown.cluster.imbalance is None


def test_a_level_cluster_has_no_imbalance() -> None:
    assert picture_of(with_vms(a_snapshot(HOT))).cluster.imbalance == 0.0


@pytest.mark.parametrize(
    ("change", "told"),
    [
        pytest.param({"policy": ""}, "no policy", id="no policy at all"),
        pytest.param({"policy": "{"}, "policy", id="a policy that cannot be read"),
        pytest.param({"query": None}, "P", id="no answer to its query"),
    ],
)
def test_a_picture_without_classes_says_why(change: dict[str, str], told: str) -> None:
    picture = picture_of(with_vms(replace(a_snapshot(HOT), **change)))
    assert told in picture.cluster.problem
    assert set(picture.nodes) == set(HOT)
    assert picture.at == NOON.timestamp()


def test_a_snapshot_without_loads_still_shows_its_launchers_as_vms() -> None:
    shown = picture_of(a_snapshot(HOT))
    assert len(shown.vms) == 9
    assert {vm.node for vm in shown.vms.values()} == set(HOT)
    evicted = sum(vm.evict for vm in shown.vms.values())
    assert evicted > 0
    assert shown.cluster.evictions == evicted
    assert shown.nodes["hot"].cpu is None
