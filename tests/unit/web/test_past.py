"""The past from Prometheus: recorded moments with the classes that their scores gave the nodes."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from builders.worlds.recordings import a_recording
from trimtab.model.examples import example_path
from trimtab.model.recorded.recording import ClusterRecording
from trimtab.model.snapshot import load
from trimtab.prom.client import Series
from trimtab.web.feed.from_snapshot import picture_of
from trimtab.web.feed.past import MOST_MOMENTS, past_pictures, step_for


@pytest.fixture
def recording() -> ClusterRecording:
    """A recording whose snapshot is one of a cluster in which a cycle evicts."""
    snapshot = load(example_path(Path("evicts"), "snapshots"))
    made = a_recording()
    names = tuple(sorted(node.name for node in snapshot.nodes))
    count = len(made.manifest.nodes)
    assert len(names) >= count
    return replace(made, snapshot=snapshot, manifest=replace(made.manifest, nodes=names[:count]))


def _series(recording: ClusterRecording, last: int) -> Iterator[Series]:
    """What the policy's query gave up to moment `last`: the same as in the snapshot."""
    query, manifest = recording.snapshot.query, recording.manifest
    assert query is not None
    times = tuple(manifest.start + n * manifest.step_s for n in range(last + 1))
    for sample in query.samples:
        yield Series(sample.labels, times, (float(sample.value),) * len(times))


def test_a_moment_with_scores_has_the_classes_of_that_moment(recording: ClusterRecording) -> None:
    now = picture_of(recording.snapshot)
    first, *_ = list(past_pictures(recording, list(_series(recording, 0))))
    for name, node in first.nodes.items():
        assert (node.kind, node.percent) == (now.nodes[name].kind, now.nodes[name].percent)
    kinds = [node.kind for node in first.nodes.values()]
    assert first.cluster.over == kinds.count("over")
    assert first.cluster.evictions is None


def test_a_moment_without_scores_has_loads_and_no_classes(recording: ClusterRecording) -> None:
    _, second, *_ = list(past_pictures(recording, list(_series(recording, 0))))
    assert {node.kind for node in second.nodes.values()} == {""}
    assert second.cluster.over is None
    assert second.cluster.imbalance is not None


@pytest.mark.parametrize(
    ("span_s", "nodes", "step_s"),
    [
        pytest.param(600.0, 5, 5.0, id="a young lab in fine steps"),
        pytest.param(86_400.0, 5, 86_400 / MOST_MOMENTS, id="a day in so many moments"),
        pytest.param(3600.0, 1000, 60.0, id="a big cluster in fewer"),
    ],
)
def test_the_step_follows_the_span_and_the_size(span_s: float, nodes: int, step_s: float) -> None:
    assert step_for(span_s, nodes) == step_s
