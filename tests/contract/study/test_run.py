"""A study from file to report with the real simulator: small, on one core."""

import shutil
from pathlib import Path

import msgspec
import polars
import pytest

from trimtab.cli.main import app
from trimtab.errors import ConfigError, NotReady
from trimtab.study.execution.run import load_result, write_results
from trimtab.study.results.result import StudyResult
from trimtab.study.results.store import StudyStore

SCENARIO = """
name: {name}
duration: 10m
nodes: [{{name: n, count: 3}}]
vms:
  - {{name: hot, count: 6, cpu: 4, memory: 8Gi, node: n-1, utilization: {{cpu: 0.9}}}}
  - {{name: calm, count: 2, cpu: 4, memory: 8Gi, node: n-2}}
"""
STUDY = """
name: tiny
scenarios: [a.yaml, b.yaml]
scores: [linear_amplified_ippd_k3, max_metric]
seeds: {seeds}
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text(SCENARIO.format(name=name))
    file = tmp_path / "tiny.yaml"
    file.write_text(STUDY.format(seeds=3))
    return file


def trimtab(*arguments: object) -> object:
    return app([str(a) for a in arguments], result_action="return_value", exit_on_error=False)


def run(study: Path, *more: object) -> StudyStore:
    out = study.parent / "out"
    assert trimtab("study", study, "--out", out, "--jobs", 1, *more) in (None, 0)
    return StudyStore(out)


def test_a_study_leaves_results_that_programs_and_people_can_read(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = run(study)
    printed = capsys.readouterr()
    assert "linear_amplified_ippd_k3" in printed.out
    assert str(store.path / "report.html") in printed.out
    assert "use 20 or more" in printed.err
    result = load_result(store)
    assert result.runs == 2 * 3 * 3
    assert result.labels == ("do-nothing", "linear_amplified_ippd_k3", "max_metric")
    runs = polars.read_parquet(store.path / "runs.parquet")
    assert runs.height == result.runs
    events = polars.read_parquet(store.path / "events.parquet")
    done = events.filter(polars.col("outcome") == "succeeded").height
    assert done == runs["migrations"].sum() > 0
    assert (store.path / "report.html").stat().st_size < 2_000_000


def test_examples_are_meant_by_their_names_and_own_files_come_first(study: Path) -> None:
    (study.parent / "balanced").write_text(SCENARIO.format(name="mine"))
    named = "[balanced, one-hot-node, examples/scenarios/spiky.yaml]"
    text = STUDY.format(seeds=1).replace("[a.yaml, b.yaml]", named)
    study.write_text(f"{text}duration: 5m\npolicies: [static-thresholds]\n")
    result = load_result(run(study))
    assert [each.name for each in result.scenarios] == ["mine", "one-hot-node", "spiky"]


def test_what_was_run_is_not_run_again(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = run(study)
    before = {path: path.stat().st_mtime_ns for path in store.runs.iterdir()}
    first = (store.path / "result.json").read_bytes()
    capsys.readouterr()
    run(study)
    assert "18 of 18 runs are there from before" in capsys.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in store.runs.iterdir()} == before
    assert (store.path / "result.json").read_bytes() == first


def test_more_seeds_add_runs_and_change_none(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(study)
    study.write_text(STUDY.format(seeds=5))
    capsys.readouterr()
    store = run(study)
    assert "18 of 30 runs are there from before" in capsys.readouterr().err
    assert load_result(store).runs == 30


def test_a_changed_scenario_is_run_anew(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(study)
    text = (study.parent / "a.yaml").read_text()
    (study.parent / "a.yaml").write_text(text.replace("0.9", "0.8"))
    capsys.readouterr()
    run(study)
    assert "9 of 18 runs are there from before" in capsys.readouterr().err


def test_shards_together_give_the_same_result(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = (run(study).path / "result.json").read_bytes()
    for part in ("1/2", "2/2"):
        out = study.parent / part.replace("/", "of")
        trimtab("study", study, "--out", out, "--jobs", 1, "--shard", part)
    assert "run the other shards" in capsys.readouterr().err
    first, second = study.parent / "1of2", study.parent / "2of2"
    shutil.copytree(second / "runs", first / "runs", dirs_exist_ok=True)
    trimtab("study", "report", first)
    shared = msgspec.json.decode((first / "result.json").read_bytes(), type=StudyResult)
    complete = msgspec.json.decode(whole, type=StudyResult)
    assert shared.tables == complete.tables
    assert shared.id == complete.id


def test_a_part_alone_has_no_result(study: Path) -> None:
    store = run(study, "--shard", "1/2")
    with pytest.raises(NotReady, match="9 of 18 runs are not done yet"):
        write_results(store)
    with pytest.raises(NotReady, match="has no result yet"):
        load_result(store)


def test_a_repetition_comes_out_the_same(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = run(study)
    capsys.readouterr()
    assert trimtab("study", "rerun", store.path, "--jobs", 1) == 0
    assert "all 18 runs came out the same, bit for bit" in capsys.readouterr().out


def test_a_repetition_that_differs_says_where_and_fails(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = run(study)
    scenario = store.inputs / "scenarios" / "000.json"
    scenario.write_text(scenario.read_text().replace("0.9", "0.8"))
    capsys.readouterr()
    assert trimtab("study", "rerun", store.path, "--jobs", 1) == 1
    printed = capsys.readouterr().out
    assert "load_std_mean was" in printed
    assert "9 of 18 runs came out differently" in printed


def test_a_finished_study_can_be_shown_again(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = run(study)
    capsys.readouterr()
    trimtab("study", "show", store.path, "--scenario", "b")
    assert "b (imbalance in points" in capsys.readouterr().out
    trimtab("study", "show", store.path, "--json")
    assert msgspec.json.decode(capsys.readouterr().out)["name"] == "tiny"
    with pytest.raises(ConfigError, match="there is no 'z' in this study"):
        trimtab("study", "show", store.path, "--scenario", "z")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--shard", "3/2"), "--shard: '3/2' is not a part"),
        (("--shard", "half"), "--shard: 'half' is not a part"),
        (("--jobs", "0"), "--jobs: must be at least 1"),
        (("--engine", "dask"), "--engine dask and --scheduler ADDRESS belong together"),
        (("--scheduler", "tcp://x:1"), "--engine dask and --scheduler ADDRESS belong together"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_options_that_make_no_sense_are_refused(
    study: Path, options: tuple[str, ...], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        trimtab("study", study, *options)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("scores: [max_metrik]", 'did you mean "max_metric"'),
        ("scenarios: [a.yaml, a.yaml]", "two are called 'a'"),
        ("policies: [gone.yaml]", "policies: gone.yaml: cannot be read"),
    ],
)
def test_what_a_study_names_must_be_there(study: Path, line: str, message: str) -> None:
    key = line.partition(":")[0]
    kept = [old for old in study.read_text().splitlines() if not old.startswith(f"{key}:")]
    study.write_text("\n".join([*kept, line]))
    with pytest.raises(ConfigError, match=message):
        run(study)
