"""Inputs from files: by hand, over time, or out of a snapshot."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from trimtab.errors import ConfigError
from trimtab.model.snapshot import QueryResult, Sample, Snapshot, dump
from trimtab.scores.arrays.samples import load_samples


def written(directory: Path, text: str) -> Path:
    path = directory / "nodes.yaml"
    path.write_text(text)
    return path


def test_one_instant_is_a_mapping_of_nodes(tmp_path: Path) -> None:
    samples = load_samples(written(tmp_path, "b: {cpu: 0.5}\na: {cpu: 1, memoryPressure: 0.25}"))
    assert samples.nodes == ("a", "b")  # name order, whatever the file's order
    assert samples.window.values.tolist() == [[[[1, 0, 0, 0.25, 0, 0], [0.5, 0, 0, 0, 0, 0]]]]


def test_several_instants_are_a_list_with_times(tmp_path: Path) -> None:
    text = """
- {time: 0, nodes: {a: {cpu: 0.5}}}
- {time: 15, nodes: {a: {cpu: 0.7, cpuInFlight: -0.1}}}
"""
    samples = load_samples(written(tmp_path, text))
    assert samples.window.times.tolist() == [0, 15]
    assert samples.window.values[0, 1, 0].tolist() == [0.7, 0, 0, 0, -0.1, 0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("a: {cpu: high}", "Expected float", id="not a number"),
        pytest.param("a: {cpus: 1}", "cpus", id="an unknown input"),
        pytest.param("a: {memory: 1}", "cpu", id="no CPU usage"),
        pytest.param("{}", "no nodes", id="an empty file"),
        pytest.param("a: {cpu: 0.1", "nodes.yaml:", id="not YAML"),
        pytest.param(
            "- {time: 0, nodes: {a: {cpu: 0}}}\n- {time: 9, nodes: {b: {cpu: 0}}}",
            'node "a" is not in every sample',
            id="a node comes and goes",
        ),
        pytest.param(
            "- {time: 9, nodes: {a: {cpu: 0}}}\n- {time: 0, nodes: {a: {cpu: 0}}}",
            "times do not increase",
            id="times in disorder",
        ),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_samples(written(tmp_path, text))


def test_a_missing_file_is_named() -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.yaml: cannot be read: No such file"):
        load_samples(Path("nowhere.yaml"))


def snapshot_of(directory: Path, names: list[str]) -> Path:
    samples = tuple(
        Sample({"__name__": f"descheduler:node:{name}", "instance": node, "node": node}, value)
        for name, value in zip(names, ("0.5", "0.1", "0.4", "0"), strict=True)
        for node in ("n2", "n1")
    )
    now = datetime(2026, 1, 1, tzinfo=UTC)
    path = directory / "snapshot.json"
    dump(Snapshot(taken_at=now, query=QueryResult(now, samples=samples)), path)
    return path


AVERAGES = ["cpu_usage:avg1m", "cpu_pressure:avg1m", "memory_usage:avg1m", "memory_pressure:avg1m"]
INSTANTS = ["cpu_usage:ratio", "cpu_pressure:psi", "memory_usage:ratio", "memory_pressure:psi"]


@pytest.mark.parametrize(
    ("names", "averaged"),
    [
        pytest.param(AVERAGES, True, id="1-minute means are not averaged again"),
        pytest.param(INSTANTS, False, id="instant values"),
    ],
)
def test_a_snapshot_of_base_records_has_inputs(
    tmp_path: Path, names: list[str], averaged: bool
) -> None:
    samples = load_samples(snapshot_of(tmp_path, names))
    assert samples.nodes == ("n1", "n2")
    assert samples.window.averaged is averaged
    assert samples.window.values[0, 0].tolist() == [[0.5, 0.1, 0.4, 0], [0.5, 0.1, 0.4, 0]]


def test_a_snapshot_of_scores_says_which_query_would_have_helped(tmp_path: Path) -> None:
    names = ["robust:avg1m", "risk:avg1m", "volume:avg1m", "sustained:avg1m"]
    with pytest.raises(ConfigError, match=r"the snapshot has no inputs.*__name__=~"):
        load_samples(snapshot_of(tmp_path, names))
